"""Growing on the node: while mounting, and in use."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mooring.errors import ApiError, Conflict, HostError, NotFound, ServerError
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.storage_terms import VolumeMode
from mooring.plugins.contract import Infeasible, NotSupported, StillInUse, Uncertain
from tests.fakes.plugins import Ending, FakePlugin
from tests.unit.node.effects.stories import HAS, MAYBE, MOUNTED, later
from tests.unit.node.effects.world import NodeWorld, Picture, Told, a_use

GI = 1 << 30
CLAIM = Key("default", "data")
NAME = "example.com/disk/pv"
SHARED = ["ReadWriteMany"]
NOT_REQUIRED = {"volume.kubernetes.io/node-expansion-not-required": "true"}

PENDING: dict[str, Any] = {
    "allocatedResources": {"storage": "2Gi"},
    "allocatedResourceStatuses": {"storage": "NodeResizePending"},
}
GROW = f"grow pv {GI} {2 * GI}"


def failed_in_use(error: str) -> Told:
    text = f'NodeExpandVolume.NodeExpandVolume failed for volume "pv" : {error}'
    return Told("Pod p1", "Warning", "VolumeResizeFailed", text)


def told_both(type_: str, reason: str, text: str) -> list[Told]:
    subjects = ("Pod p1", "PersistentVolumeClaim data")
    return [Told(about, type_, reason, text) for about in subjects]


GROWN = told_both(
    "Normal",
    "FileSystemResizeSuccessful",
    'MountVolume.NodeExpandVolume succeeded for volume "pv" n1',
)


def at(resize: str) -> dict[str, Any]:
    return PENDING | {"allocatedResourceStatuses": {"storage": resize}}


class Row(msgspec.Struct, frozen=True):
    """A volume of 2Gi, mounted when its claim had 1Gi, that has grown meanwhile."""

    claim: Mapping[str, Any] = msgspec.field(default_factory=dict)  # when it has grown
    ending: Ending | None = None  # of the plugin
    calls: tuple[str, ...] = ()
    size: int = 1  # Gi that the node believes afterwards
    capacity: str = "1Gi"  # of the claim
    resize: str | None = None  # its status
    condition: str = ""
    told: tuple[Told, ...] = ()
    waits: bool = False  # it is tried again, after a pause


IN_USE = {
    "a volume in use grows, and the claim says so": Row(
        claim=PENDING, calls=(GROW,), size=2, capacity="2Gi", told=tuple(GROWN)
    ),
    "a volume whose earlier growth was cut short grows": Row(
        claim=at("NodeResizeInProgress"), calls=(GROW,), size=2, capacity="2Gi", told=tuple(GROWN)
    ),
    "a volume of an old resizer that records nothing grows": Row(
        claim={}, calls=(GROW,), size=2, capacity="2Gi", told=tuple(GROWN)
    ),
    "growth that can never work is recorded as infeasible": Row(
        claim=PENDING,
        ending=Infeasible("too large"),
        calls=(GROW,),
        resize="NodeResizeInfeasible",
        condition="failed to expand pvc with too large",
        told=(failed_in_use("too large"),),
        waits=True,
    ),
    "another failure gets an event, and is tried again": Row(
        claim=PENDING,
        ending=HostError("resize2fs failed"),
        calls=(GROW,),
        resize="NodeResizeInProgress",
        condition="failed to expand pvc with resize2fs failed",
        told=(failed_in_use("resize2fs failed"),),
        waits=True,
    ),
    "a growth that timed out is not recorded in the claim": Row(
        claim=PENDING,
        ending=Uncertain("timed out"),
        calls=(GROW,),
        resize="NodeResizeInProgress",
        told=(failed_in_use("timed out"),),
        waits=True,
    ),
    "a failure is not recorded for a resizer that keeps no record": Row(
        claim={},
        ending=Infeasible("too large"),
        calls=(GROW,),
        told=(failed_in_use("too large"),),
        waits=True,
    ),
    "growth on the node was asked for, and the plugin cannot do it": Row(
        claim=PENDING,
        ending=NotSupported("no"),
        calls=(GROW,),
        resize="NodeResizeInProgress",
        condition="failed to expand pvc with no",
        told=(failed_in_use("no"),),
        waits=True,
    ),
    "nothing is tried while growth counts as infeasible, and no event is recorded": Row(
        claim=at("NodeResizeInfeasible"), resize="NodeResizeInfeasible", waits=True
    ),
    "nothing is tried while the controller is at work": Row(
        claim=at("ControllerResizeInProgress"), resize="ControllerResizeInProgress", waits=True
    ),
    "growth that the controller did alone is noted": Row(
        claim={"capacity": "2Gi", "allocatedResources": {"storage": "2Gi"}},
        size=2,
        capacity="2Gi",
    ),
    "a shared volume that another node has finished grows here too": Row(
        claim={
            "capacity": "2Gi",
            "access_modes": SHARED,
            "allocatedResources": {"storage": "2Gi"},
        },
        calls=(f"grow pv {2 * GI} {2 * GI}",),
        size=2,
        capacity="2Gi",
        told=tuple(GROWN),
    ),
    "a shared volume that another node has finished, where no growth on nodes is required": Row(
        claim={"capacity": "2Gi", "access_modes": SHARED, "annotations": NOT_REQUIRED},
        size=2,
        capacity="2Gi",
    ),
    "a shared volume that another node has finished fails here: the claim is left as it is": Row(
        claim={"capacity": "2Gi", "access_modes": SHARED},
        ending=Infeasible("no"),
        calls=(f"grow pv {2 * GI} {2 * GI}",),
        capacity="2Gi",
        told=(failed_in_use("no"),),
        waits=True,
    ),
    "a shared volume of a plugin that does not grow volumes on nodes": Row(
        claim={"capacity": "2Gi", "access_modes": SHARED},
        ending=NotSupported("no"),
        calls=(f"grow pv {2 * GI} {2 * GI}",),
        size=2,
        capacity="2Gi",
    ),
    "a volume of an old resizer, of a plugin that does not grow volumes on nodes": Row(
        claim={}, ending=NotSupported("no"), calls=(GROW,), size=2
    ),
    "a volume that cannot grow in use is left alone": Row(
        claim=PENDING,
        ending=StillInUse("in use"),
        calls=(GROW,),
        resize="NodeResizeInProgress",
        condition="failed to expand pvc with in use",
    ),
    "a smaller size is recorded than the volume has: both are respected": Row(
        claim={"capacity": "1536Mi", "allocatedResources": {"storage": "1536Mi"}},
        size=0,
        capacity="1536Mi",
        waits=True,
    ),
}


async def in_use(world: NodeWorld, claim: Mapping[str, Any]) -> Claim:
    """The volume is mounted with 1Gi; then it becomes 2Gi, and the claim what `claim` says."""
    seen = world.claim()
    world.want("p1", a_use(size="1Gi"))
    await world.once()
    world.server.delete(seen)
    world.backend.calls.clear()
    grown = world.claim(**claim)
    world.want("p1", a_use(size="2Gi"))
    return grown


@pytest.mark.parametrize("row", IN_USE.values(), ids=IN_USE)
async def test_in_use(row: Row, tmp_path: Path) -> None:
    async with NodeWorld(tmp_path) as world:
        await in_use(world, row.claim)
        if row.ending is not None:
            world.backend.script("grow", row.ending)
        await world.once()
        assert tuple(world.backend.calls) == row.calls
        claim = world.server.get(Claim, CLAIM)
        assert claim.status.capacity == {"storage": row.capacity}
        assert claim.status.allocated_resource_statuses.get("storage") == row.resize
        assert [condition.message for condition in claim.status.conditions] == (
            [row.condition] if row.condition else []
        )
        assert tuple(world.recorder.told) == row.told
        assert world.here().size == (row.size * GI or 1536 << 20)
        assert world.picture() == Picture(MOUNTED, {"p1": HAS})
        assert bool(world.start()[1]) is row.waits


async def test_a_size_that_failed_before_is_given_up_when_another_is_asked_for(
    tmp_path: Path,
) -> None:
    async with NodeWorld(tmp_path) as world:
        claim = await in_use(world, PENDING)
        world.backend.script("grow", HostError("no"), HostError("no"))
        await world.once()
        claim = world.server.get(Claim, CLAIM)
        less = {"spec": {"resources": {"requests": {"storage": "1536Mi"}}}}
        world.server.patch(claim, less, {})
        await later(world)
        status = world.server.get(Claim, CLAIM).status
        assert status.allocated_resource_statuses == {"storage": "NodeResizeInfeasible"}
        assert world.here().growth_failed


@pytest.mark.parametrize(
    ("error", "warnings"), [(Conflict("somebody wrote"), 0), (ServerError("disk full"), 1)]
)
async def test_a_failure_that_cannot_be_written_down_is_told_all_the_same(
    error: ApiError, warnings: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The log warns of it, unless somebody just wrote before: the next try records its own."""
    caplog.set_level(logging.WARNING)
    async with NodeWorld(tmp_path) as world:
        await in_use(world, at("NodeResizeInProgress"))
        world.backend.script("grow", Infeasible("too large"))
        world.client.fail("patch", error)
        await world.once()
        assert world.recorder.told == [failed_in_use("too large")]
    assert caplog.text.count("failed growth not recorded") == warnings


async def test_one_that_cannot_grow_in_use_is_not_tried_again(tmp_path: Path) -> None:
    async with NodeWorld(tmp_path) as world:
        await in_use(world, PENDING)
        world.backend.script("grow", StillInUse("in use"))
        await world.settle()
        assert world.backend.calls == [GROW]
        assert world.here().refuses_growth


async def test_nothing_grows_that_was_not_written_down(tmp_path: Path) -> None:
    async with NodeWorld(tmp_path) as world:
        await in_use(world, PENDING)
        world.client.fail("patch", Conflict("somebody wrote"))
        await world.once()
        assert world.backend.calls == []
        assert world.recorder.told == [failed_in_use("somebody wrote")]
        await later(world)
        assert world.backend.calls == [GROW]
        assert world.here().size == 2 * GI


async def test_growth_that_cannot_be_written_down_is_repeated(tmp_path: Path) -> None:
    async with NodeWorld(tmp_path) as world:
        await in_use(world, at("NodeResizeInProgress"))
        world.client.fail("patch", Conflict("somebody wrote"))
        await world.once()
        text = "mountVolume.NodeExpandVolume update pvc status failed: somebody wrote"
        assert world.recorder.told == [failed_in_use(text)]
        await later(world)
        assert world.backend.calls == [GROW, GROW]
        assert world.server.get(Claim, CLAIM).status.capacity == {"storage": "2Gi"}


async def test_growth_is_told_where_the_volume_is(tmp_path: Path) -> None:
    async with NodeWorld(tmp_path) as world:
        await in_use(world, PENDING)
        await world.once()
        (request,) = world.backend.growths
        layout = world.context.host.layout
        assert request.mount_path == layout.volume("p1", "example.com/disk", "pv")
        assert request.device_mount_path == layout.global_mount("example.com/disk", "pv")


# while mounting

SETUP_FAILED = 'MountVolume.Setup failed while expanding volume for volume "pv" : '


async def test_a_volume_grows_before_the_pod_starts(tmp_path: Path) -> None:
    async with NodeWorld(tmp_path) as world:
        world.claim(**PENDING)
        world.want("p1", a_use(size="2Gi"))
        await world.once()
        assert world.backend.calls == ["mount_device pv", "set_up pv p1", GROW]
        assert world.recorder.told == GROWN
        assert world.picture() == Picture(MOUNTED, {"p1": HAS})


async def test_a_pod_does_not_start_on_a_volume_that_failed_to_grow(tmp_path: Path) -> None:
    async with NodeWorld(tmp_path) as world:
        world.claim(**PENDING)
        world.backend.script("grow", HostError("no"))
        world.want("p1", a_use(size="2Gi"))
        await world.once()
        assert world.picture() == Picture(MOUNTED, {"p1": MAYBE})
        assert world.events() == (("FailedMount", f"{SETUP_FAILED}no"),)
        world.drop("p1")
        await world.once()
        assert world.backend.calls[-2:] == ["tear_down pv p1", "unmount_device pv"]
        assert world.picture() is None


async def test_a_mount_that_failed_to_grow_is_not_gone_because_the_next_try_is_refused(
    tmp_path: Path,
) -> None:
    async with NodeWorld(tmp_path) as world:
        world.claim(**PENDING)
        world.backend.script("grow", HostError("no"))
        world.want("p1", a_use(size="2Gi"))
        await world.once()
        world.backend.script("set_up", HostError("no"))
        await later(world)
        assert world.picture() == Picture(MOUNTED, {"p1": MAYBE})


NOT_BLOCKING: dict[str, tuple[Mapping[str, Any], Ending | None]] = {
    "growth that the claim does not allow": (at("NodeResizeInfeasible"), None),
    "growth that cannot be done in use": (PENDING, StillInUse("in use")),
}


@pytest.mark.parametrize(("claim", "ending"), NOT_BLOCKING.values(), ids=NOT_BLOCKING)
async def test_what_does_not_keep_a_pod_from_starting(
    claim: Mapping[str, Any], ending: Ending | None, tmp_path: Path
) -> None:
    async with NodeWorld(tmp_path) as world:
        world.claim(**claim)
        if ending is not None:
            world.backend.script("grow", ending)
        world.want("p1", a_use(size="2Gi"))
        await world.once()
        assert world.picture() == Picture(MOUNTED, {"p1": HAS})
        assert world.events() == ()


async def test_who_only_reads_gets_the_volume_as_it_is(tmp_path: Path) -> None:
    async with NodeWorld(tmp_path) as world:
        world.claim(**PENDING)
        world.want("p1", a_use(size="2Gi", read_only=True))
        await world.settle()
        assert world.backend.calls == ["mount_device pv", "set_up pv p1"]
        text = 'MountVolume.NodeExpandVolume failed for volume "pv" requested read-only file system'
        assert world.recorder.told == told_both("Warning", "FileSystemResizeFailed", text)
        assert world.picture() == Picture(MOUNTED, {"p1": HAS})


async def test_a_volume_that_one_pod_reads_grows_for_one_who_writes(tmp_path: Path) -> None:
    async with NodeWorld(tmp_path) as world:
        seen = world.claim()
        world.want("p1", a_use(size="1Gi", read_only=True))
        world.want("p2", a_use(size="1Gi"))
        await world.once()
        world.server.delete(seen)
        world.claim(**PENDING)
        world.want("p2", a_use(size="2Gi"))
        await world.once()
        told = [one.about for one in world.recorder.told]
        assert told == ["Pod p2", "PersistentVolumeClaim data"]


async def test_a_claim_that_cannot_be_read_keeps_the_pod_from_starting(tmp_path: Path) -> None:
    async with NodeWorld(tmp_path) as world:
        seen = world.claim(**PENDING)
        world.want("p1", a_use(size="2Gi"))
        world.start()
        await world.idle()
        world.server.delete(seen)
        await world.once()
        (event,) = world.events()
        assert event == (
            "FailedMount",
            f"{SETUP_FAILED}mountVolume.NodeExpandVolume get PVC failed : "
            'persistentvolumeclaims "data" not found',
        )
        with pytest.raises(NotFound):
            world.server.get(Claim, CLAIM)


async def test_a_device_grows_as_well(tmp_path: Path) -> None:
    async with NodeWorld(tmp_path) as world:
        world.claim(**PENDING)
        world.backend.script("grow", HostError("no"))
        world.want("p1", a_use("block", size="2Gi", mode=VolumeMode.BLOCK))
        await world.once()
        reason, message = world.events()[-1]
        assert (reason, message) == (
            "FailedMapVolume",
            'MapVolume.MarkVolumeAsMounted failed while expanding volume for volume "block" : no',
        )
        assert world.picture() == Picture(MOUNTED, {"p1": MAYBE})
        (request,) = world.backend.growths
        layout = world.context.host.layout
        assert request.device == str(layout.root / "device")
        assert request.mount_path == layout.device_link("p1", "example.com/disk", "block")


async def test_nothing_grows_where_the_node_has_no_part_in_it(tmp_path: Path) -> None:
    async with NodeWorld(tmp_path, FakePlugin) as world:
        world.claim(**PENDING)
        world.want("p1", a_use(size="2Gi"))
        await world.once()
        assert world.picture() is not None
        assert world.backend.calls == ["set_up pv p1"]
