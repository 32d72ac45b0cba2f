"""Publishing volumes to pods: what drivers are told, and what becomes of their answers."""

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from mooring.csi.capability import NodeCapability
from mooring.csi.outcome import Code
from mooring.csi.proto import csi_pb2 as pb
from mooring.errors import HostError
from mooring.host import ownership
from mooring.host.ownership import FsGroup
from mooring.model.attachment import Attachment
from mooring.model.reference import LocalObjectReference, SecretReference
from mooring.model.storage_terms import AccessMode
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import MountRequest, NotStarted, NotUpYet, Uncertain, VolumeError
from mooring.plugins.csi.services import STARTING_SECONDS
from tests.fakes.clock import VirtualClock
from tests.fakes.csi_played import Fault, MountingState
from tests.unit.plugins.csi.world import (
    CONTEXT,
    DRIVER,
    HANDLE,
    NODE,
    POD,
    CsiWorld,
    a_persistent_use,
    an_inline_use,
)
from tests.unit.plugins.world import a_request

MODES = pb.VolumeCapability.AccessMode
TOKENS = "csi.storage.k8s.io/serviceAccount.tokens"
N = NodeCapability


async def publish(
    world: CsiWorld, use: VolumeUse, fs_group: int | None = None
) -> pb.NodePublishVolumeRequest:
    await world.plugin.mounter(use, POD).set_up(a_request(fs_group=fs_group))
    return world.connection.of(pb.NodePublishVolumeRequest)[-1]


def target(world: CsiWorld, name: str = "pv1") -> Path:
    return world.host.layout.volume(POD.uid, "kubernetes.io/csi", name) / "mount"


def data_file(world: CsiWorld, name: str = "pv1") -> Path:
    return target(world, name).with_name("vol_data.json")


# what the driver is told


async def test_all_that_the_volume_says(world: CsiWorld) -> None:
    world.attach()
    use = a_persistent_use(volume_attributes={"pool": "fast"})
    request = await publish(world, use)
    assert request.volume_id == HANDLE
    assert request.target_path == str(target(world))
    assert request.staging_target_path.endswith("/globalmount")
    assert dict(request.publish_context) == CONTEXT
    assert dict(request.volume_context) == {"pool": "fast"}
    assert request.volume_capability.mount.fs_type == "ext4"
    assert list(request.volume_capability.mount.mount_flags) == ["noatime"]
    assert not request.readonly
    assert json.loads(data_file(world).read_text()) == {
        "driverName": DRIVER,
        "volumeHandle": HANDLE,
        "specVolID": "pv1",
        "nodeName": NODE,
        "attachmentID": world.server.list(Attachment).items[0].name,
        "volumeLifecycleMode": "Persistent",
    }


async def test_the_parent_of_the_target_is_ours_the_target_the_drivers(world: CsiWorld) -> None:
    world.attach()
    world.connection.fail("NodePublishVolume", Fault(Code.UNAVAILABLE))
    with pytest.raises(Uncertain):
        await publish(world, a_persistent_use())
    assert target(world).parent.is_dir()
    assert target(world).parent.stat().st_mode & 0o777 == 0o750
    assert not target(world).exists()


ACCESS: dict[str, tuple[tuple[AccessMode, ...], set[NodeCapability], int]] = {
    "once": ((AccessMode.ONCE,), set(), MODES.SINGLE_NODE_WRITER),
    "once, writers told apart": (
        (AccessMode.ONCE,),
        {N.SINGLE_NODE_MULTI_WRITER},
        MODES.SINGLE_NODE_MULTI_WRITER,
    ),
    "once per pod, writers told apart": (
        (AccessMode.ONCE_POD,),
        {N.SINGLE_NODE_MULTI_WRITER},
        MODES.SINGLE_NODE_SINGLE_WRITER,
    ),
    "only the first access mode counts": (
        (AccessMode.READ_ONLY_MANY, AccessMode.ONCE),
        set(),
        MODES.MULTI_NODE_READER_ONLY,
    ),
}


@pytest.mark.parametrize(("modes", "capabilities", "expected"), ACCESS.values(), ids=ACCESS)
async def test_access_modes(
    world: CsiWorld,
    modes: tuple[AccessMode, ...],
    capabilities: set[NodeCapability],
    expected: int,
) -> None:
    world.attach()
    world.state.node = capabilities
    request = await publish(world, a_persistent_use(*modes))
    assert request.volume_capability.access_mode.mode == expected
    assert request.staging_target_path == ""  # a driver that does not stage is told no such path


async def test_a_driver_that_needs_no_attachment_gets_no_context(world: CsiWorld) -> None:
    world.objects.define(attachRequired=False)
    assert not dict((await publish(world, a_persistent_use())).publish_context)


async def test_an_inline_volume(world: CsiWorld) -> None:
    world.objects.define(volumeLifecycleModes=["Ephemeral"], podInfoOnMount=True)
    world.api.secrets["login"] = {"user": b"me"}
    use = an_inline_use(
        read_only=True,
        volume_attributes={"size": "1"},
        node_publish_secret_ref=LocalObjectReference("login"),
    )
    request = await publish(world, use)
    assert request.readonly
    assert request.staging_target_path == ""
    assert request.volume_capability.mount.fs_type == ""
    assert request.volume_context["size"] == "1"
    assert request.volume_context["csi.storage.k8s.io/ephemeral"] == "true"
    assert dict(request.secrets) == {"user": "me"}
    assert world.connection.rpcs() == ["NodePublishVolume"]
    assert json.loads(data_file(world, "scratch").read_text())["volumeLifecycleMode"] == "Ephemeral"


async def test_the_maps_of_objects_are_not_written_to(world: CsiWorld) -> None:
    world.attach()
    world.objects.define(podInfoOnMount=True)
    use = a_persistent_use(volume_attributes={"pool": "fast"})
    await publish(world, use)
    assert use == a_persistent_use(volume_attributes={"pool": "fast"})


@pytest.mark.parametrize("in_secrets", [False, True], ids=["in the context", "among the secrets"])
async def test_fresh_tokens_at_every_publish(world: CsiWorld, *, in_secrets: bool) -> None:
    world.attach()
    world.objects.define(
        tokenRequests=[{"audience": "vault"}],
        requiresRepublish=True,
        serviceAccountTokenInSecrets=in_secrets,
    )
    use = a_persistent_use()
    assert world.plugin.wants_remount(use)
    for text in ("token-1", "token-2"):
        world.api.token_text = text
        request = await publish(world, use)
        place, other = request.secrets, request.volume_context
        if not in_secrets:
            place, other = other, place
        assert json.loads(place[TOKENS])["vault"]["token"] == text
        assert TOKENS not in other


async def test_a_secret_that_changed_is_in_the_next_publish(world: CsiWorld) -> None:
    world.attach()
    use = a_persistent_use(node_publish_secret_ref=SecretReference("login", "default"))
    for password in ("old", "new"):
        world.api.secrets["login"] = {"password": password.encode()}
        assert dict((await publish(world, use)).secrets) == {"password": password}


# before anything is begun


async def fails(world: CsiWorld, use: VolumeUse, how: type[VolumeError], text: str) -> None:
    with pytest.raises(how) as raised:
        await publish(world, use)
    assert type(raised.value) is how
    assert str(raised.value) == text


async def test_a_driver_that_is_not_there(world: CsiWorld) -> None:
    world.drivers.drop(DRIVER)
    text = (
        "kubernetes.io/csi: mounter.SetUpAt failed to get CSI client: "
        f"driver name {DRIVER} not found in the list of registered CSI drivers"
    )
    await fails(world, a_persistent_use(), NotUpYet, text)
    assert not data_file(world).exists()
    clock = world.host.clock
    assert isinstance(clock, VirtualClock)
    await clock.advance(STARTING_SECONDS)
    await fails(world, a_persistent_use(), NotStarted, text)


LIFECYCLES: dict[str, tuple[dict[str, Any] | None, VolumeUse, str]] = {
    "an inline volume needs an object that allows it": (
        None,
        an_inline_use(),
        '"Ephemeral" not supported by driver fake.csi.mooring.dev (no CSIDriver object)',
    ),
    "an object that does not": (
        {"volumeLifecycleModes": ["Persistent"]},
        an_inline_use(),
        '"Ephemeral" not supported by driver fake.csi.mooring.dev (only supports ["Persistent"])',
    ),
    "a driver of inline volumes only": (
        {"volumeLifecycleModes": ["Ephemeral"]},
        a_persistent_use(),
        '"Persistent" not supported by driver fake.csi.mooring.dev (only supports ["Ephemeral"])',
    ),
}


@pytest.mark.parametrize(("spec", "use", "text"), LIFECYCLES.values(), ids=LIFECYCLES)
async def test_lifecycles(
    world: CsiWorld, spec: dict[str, Any] | None, use: VolumeUse, text: str
) -> None:
    if spec is not None:
        world.objects.define(**spec)
    before = (
        "kubernetes.io/csi: mounter.SetupAt failed to check volume lifecycle mode: volume mode "
    )
    await fails(world, use, NotStarted, before + text)
    assert world.connection.rpcs() == []


async def test_nothing_is_decided_on_half_a_picture(world: CsiWorld) -> None:
    world.objects.synced = asyncio.Event()
    with pytest.raises(NotStarted, match="are not known yet"):
        await publish(world, a_persistent_use())


async def test_a_missing_attachment(world: CsiWorld) -> None:
    with pytest.raises(NotStarted, match="SetUpAt failed to fetch publishContext: volumeattach"):
        await publish(world, a_persistent_use())
    assert not data_file(world).exists()


async def test_a_missing_secret(world: CsiWorld) -> None:
    world.attach()
    use = a_persistent_use(node_publish_secret_ref=SecretReference("login", "default"))
    text = (
        "fetching NodePublishSecretRef default/login failed: kubernetes.io/csi: failed to find "
        'the secret login in the namespace default with error: secrets "login" not found'
    )
    await fails(world, use, NotStarted, text)


async def test_capabilities_that_are_not_told(world: CsiWorld) -> None:
    world.connection.fail("NodeGetCapabilities", Fault(Code.INTERNAL))
    with pytest.raises(NotStarted, match="STAGE_UNSTAGE_VOLUME capability: rpc error: code = Int"):
        await publish(world, a_persistent_use())


# what became of it

LOST = (
    Code.CANCELLED,
    Code.DEADLINE_EXCEEDED,
    Code.UNAVAILABLE,
    Code.RESOURCE_EXHAUSTED,
    Code.ABORTED,
)
FINAL = tuple(code for code in Code if code not in (*LOST, Code.OK))


@pytest.mark.parametrize("code", LOST, ids=lambda code: code.label)
async def test_a_lost_answer_leaves_all_as_it_is(world: CsiWorld, code: Code) -> None:
    world.attach()
    world.connection.fail("NodePublishVolume", Fault(code))
    text = f"rpc error: code = {code.label} desc = scripted"
    await fails(world, a_persistent_use(), Uncertain, text)
    assert data_file(world).exists()


@pytest.mark.parametrize("code", FINAL, ids=lambda code: code.label)
async def test_a_refusal_leaves_nothing(world: CsiWorld, code: Code) -> None:
    world.attach()
    world.connection.fail("NodePublishVolume", Fault(code))
    text = f"rpc error: code = {code.label} desc = scripted"
    await fails(world, a_persistent_use(), VolumeError, text)
    assert not target(world).parent.exists()


async def test_a_refusal_after_a_lost_answer_leaves_nothing(world: CsiWorld) -> None:
    world.attach()
    world.connection.fail("NodePublishVolume", Fault(Code.ABORTED), Fault(Code.INTERNAL))
    for how in (Uncertain, VolumeError):
        with pytest.raises(how):
            await publish(world, a_persistent_use())
    assert not target(world).parent.exists()


REFUSALS = {
    "of what is mounted": (Fault(Code.INTERNAL, is_done=True), True),
    "that left a file": (Fault(Code.INTERNAL), False),
}


@pytest.mark.parametrize(("fault", "is_mounted"), REFUSALS.values(), ids=REFUSALS)
async def test_a_refusal_of_a_publish_deletes_nothing(
    world: CsiWorld, fault: Fault, *, is_mounted: bool
) -> None:
    world.attach()
    world.connection.fail("NodePublishVolume", fault)
    if not is_mounted:
        target(world).mkdir(parents=True)
        (target(world) / "file").touch()
    with pytest.raises(Uncertain):
        await publish(world, a_persistent_use())
    assert target(world).exists()
    assert data_file(world).exists()


@pytest.mark.parametrize("is_restarted", [False, True], ids=["as it is", "after a restart"])
async def test_a_refused_republish_leaves_what_is_there(
    world: CsiWorld, *, is_restarted: bool
) -> None:
    world.attach()
    await publish(world, a_persistent_use())
    world.mounts.unmount(target(world))  # some drivers show a plain directory
    if is_restarted:
        world.restart()
    world.connection.fail("NodePublishVolume", Fault(Code.INTERNAL))
    with pytest.raises(VolumeError):
        await publish(world, a_persistent_use())
    assert target(world).is_dir()
    assert data_file(world).exists()


async def test_no_secret_is_told(world: CsiWorld) -> None:
    world.attach()
    world.api.secrets["login"] = {"password": b"hunter2"}
    use = a_persistent_use(node_publish_secret_ref=SecretReference("login", "default"))
    world.connection.fail(
        "NodePublishVolume", Fault(Code.UNAUTHENTICATED, message="hunter2 is not accepted")
    )
    with pytest.raises(VolumeError) as raised:
        await publish(world, use)
    assert "hunter2" not in str(raised.value)


# the pod's group


@pytest.fixture
def walks(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Path, FsGroup]]:
    walked: list[tuple[Path, FsGroup]] = []
    monkeypatch.setattr(ownership, "apply", lambda path, group, _: walked.append((path, group)))
    return walked


async def test_a_driver_that_can_gets_the_group_and_nobody_walks(
    world: CsiWorld, walks: list[tuple[Path, FsGroup]]
) -> None:
    world.attach()
    request = await publish(world, a_persistent_use(), fs_group=2000)
    assert request.volume_capability.mount.volume_mount_group == "2000"
    assert walks == []


async def test_for_a_driver_that_cannot_the_node_walks(
    world: CsiWorld, walks: list[tuple[Path, FsGroup]]
) -> None:
    world.attach()
    world.state.node.discard(N.VOLUME_MOUNT_GROUP)
    request = await publish(world, a_persistent_use(), fs_group=2000)
    assert request.volume_capability.mount.volume_mount_group == ""
    assert walks == [(target(world), FsGroup(2000))]
    await publish(world, a_persistent_use(fs_type=""), fs_group=2000)
    await publish(world, a_persistent_use())
    assert len(walks) == 1


async def test_a_failed_walk_leaves_a_volume_that_must_be_taken_back(
    world: CsiWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.state.node.discard(N.VOLUME_MOUNT_GROUP)
    world.objects.define(attachRequired=False)
    monkeypatch.setattr(ownership, "apply", refuse)
    with pytest.raises(Uncertain, match=f"applyFSGroup failed for vol {HANDLE}: no such group"):
        await publish(world, a_persistent_use(), fs_group=2000)
    assert data_file(world).exists()


def refuse(*_: object) -> None:
    raise HostError("no such group")


# taking it back


async def tear_down(world: CsiWorld, name: str = "pv1") -> None:
    await world.plugin.unmounter(name, POD.uid).tear_down()


@pytest.mark.parametrize("code", [Code.INTERNAL, Code.NOT_FOUND, Code.UNAVAILABLE])
async def test_a_failed_unpublish_keeps_the_record(world: CsiWorld, code: Code) -> None:
    world.attach()
    await publish(world, a_persistent_use())
    world.connection.fail("NodeUnpublishVolume", Fault(code))
    with pytest.raises(Uncertain, match=r"Unmounter\.TearDownAt failed: rpc error: code = "):
        await tear_down(world)
    assert data_file(world).exists()
    await tear_down(world)
    assert not target(world).parent.exists()


async def test_a_driver_that_says_it_unmounted_and_did_not(world: CsiWorld) -> None:
    world.attach()
    await publish(world, a_persistent_use())
    world.state.lies = True
    with pytest.raises(VolumeError, match=r"is done, but .*/mount is still mounted"):
        await tear_down(world)
    assert data_file(world).exists()


async def test_files_below_a_target_that_is_not_mounted_are_not_deleted(world: CsiWorld) -> None:
    world.attach()
    await publish(world, a_persistent_use())
    world.state.lies = True
    world.mounts.unmount(target(world))
    (target(world) / "file").touch()
    with pytest.raises(HostError, match="directory not empty"):
        await tear_down(world)
    assert (target(world) / "file").exists()
    assert data_file(world).exists()


async def test_a_mount_of_which_nobody_knows_the_driver_stays(world: CsiWorld) -> None:
    world.attach()
    await publish(world, a_persistent_use())
    data_file(world).unlink()
    with pytest.raises(VolumeError, match="failed to open volume data file"):
        await tear_down(world)
    assert world.mounts.is_mount_point(target(world))


async def test_usage_of_what_is_published(world: CsiWorld) -> None:
    world.attach()
    await publish(world, a_persistent_use())
    usage = await world.plugin.mounter(a_persistent_use(), POD).usage()
    assert usage is not None
    assert (usage.capacity, usage.used, usage.available) == (1000, 400, 600)
    assert (usage.inodes, usage.inodes_used, usage.inodes_free) == (10, 4, 6)


async def test_usage_of_what_is_gone(world: CsiWorld) -> None:
    with pytest.raises(VolumeError, match="rpc error: code = NotFound"):
        await world.plugin.mounter(a_persistent_use(), POD).usage()


async def test_a_driver_that_does_not_measure(world: CsiWorld) -> None:
    world.state.node.discard(N.GET_VOLUME_STATS)
    assert await world.plugin.mounter(a_persistent_use(), POD).usage() is None


def test_what_containers_are_told(world: CsiWorld) -> None:
    attributes = world.plugin.mounter(a_persistent_use(read_only=True), POD).attributes
    assert (attributes.read_only, attributes.is_managed) == (True, False)
    use = replace(a_persistent_use(), read_only=False)
    attributes = world.plugin.mounter(use, POD).attributes
    assert (attributes.read_only, attributes.is_managed) == (False, True)


@dataclass
class Careless(MountingState):
    """A driver whose mounts nobody else sees, or that does nothing at all."""

    leaves_directory: bool = True

    def NodePublishVolume(
        self, request: pb.NodePublishVolumeRequest
    ) -> pb.NodePublishVolumeResponse:
        if self.leaves_directory:
            Path(request.target_path).mkdir(parents=True, exist_ok=True)
        return pb.NodePublishVolumeResponse()


def careless(world: CsiWorld, *, leaves_directory: bool) -> None:
    world.attach()
    world.connection.state = Careless(
        mounts=world.mounts, backing=world.state.backing, leaves_directory=leaves_directory
    )


async def test_a_driver_that_mounts_nothing_is_named_in_an_event_once(world: CsiWorld) -> None:
    careless(world, leaves_directory=True)
    told: list[tuple[str, str, str]] = []
    request = MountRequest(lambda *said: told.append(said))
    for _ in range(2):
        await world.plugin.mounter(a_persistent_use(), POD).set_up(request)
    assert told == [
        (
            "Warning",
            "VolumeNotMounted",
            f'CSI driver "{DRIVER}" says that it has published volume "pv1", but nothing is '
            f"mounted at {target(world)}: the pod sees a directory of this node; look at the log "
            "of its node plugin, and whether its container has the kubelet's directory with "
            "mountPropagation: Bidirectional",
        )
    ]


async def test_a_driver_that_does_nothing_is_blamed_and_the_pod_waits(world: CsiWorld) -> None:
    careless(world, leaves_directory=False)
    with pytest.raises(Uncertain) as refused:
        await publish(world, a_persistent_use())
    assert str(refused.value).startswith(
        f'CSI driver "{DRIVER}" says that it has published volume {HANDLE}, but there is nothing '
        f"at {target(world)}; look at the log of its node plugin"
    )
    assert data_file(world).exists()


async def test_a_mount_of_a_driver_is_not_doubted(world: CsiWorld) -> None:
    world.attach()
    told: list[tuple[str, str, str]] = []
    await world.plugin.mounter(a_persistent_use(), POD).set_up(
        MountRequest(lambda *said: told.append(said))
    )
    assert told == []
