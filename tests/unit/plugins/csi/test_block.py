"""Block volumes: what drivers are told, and what is left on disk at each point."""

import json
from pathlib import Path

import pytest

from mooring.csi.capability import NodeCapability
from mooring.csi.outcome import Code
from mooring.csi.proto import csi_pb2 as pb
from mooring.errors import HostError
from mooring.model.reference import SecretReference
from mooring.model.storage_terms import VolumeMode
from mooring.plugins.contract import NotStarted, Uncertain, VolumeError
from mooring.plugins.csi.reconstruct import CsiTrace, scan
from tests.fakes.csi_played import Fault
from tests.unit.plugins.csi.world import (
    CONTEXT,
    DRIVER,
    HANDLE,
    NODE,
    POD,
    CsiWorld,
    a_persistent_use,
)

USE = a_persistent_use(mode=VolumeMode.BLOCK)
OF_POD = CsiTrace("pv1", is_block=True, pod_uid=POD.uid)
OF_VOLUME = CsiTrace("pv1", is_block=True)


@pytest.fixture
def world(world: CsiWorld) -> CsiWorld:
    world.attach()
    return world


def devices(world: CsiWorld) -> Path:
    return world.host.layout.plugins / "kubernetes.io/csi/volumeDevices"


def left(world: CsiWorld) -> list[str]:
    """Files and the directories that are of this volume."""
    root = devices(world)
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if "pv1" in str(path))


async def mapped(world: CsiWorld) -> str:
    mapper = world.plugin.block_mapper(USE, POD)
    await mapper.set_up_device()
    return await mapper.map_pod_device()


async def unmapped(world: CsiWorld) -> None:
    unmapper = world.plugin.block_unmapper("pv1", POD.uid)
    await unmapper.unmap_pod_device()
    (devices(world) / "pv1/dev" / POD.uid).unlink(missing_ok=True)  # as the node does
    await unmapper.tear_down_device(unmapper.global_map_path(USE), "")


async def test_a_device_is_staged_and_published(world: CsiWorld) -> None:
    world.objects.define(podInfoOnMount=True, tokenRequests=[{"audience": "a"}])
    world.api.secrets["login"] = {"user": b"me"}
    use = a_persistent_use(
        mode=VolumeMode.BLOCK,
        read_only=True,
        node_stage_secret_ref=SecretReference("login", "default"),
        node_publish_secret_ref=SecretReference("login", "default"),
    )
    mapper = world.plugin.block_mapper(use, POD)
    staging, device = await mapper.set_up_device(), await mapper.map_pod_device()
    root = devices(world)
    assert staging == str(root / "staging/pv1")
    assert device == str(root / "publish/pv1" / POD.uid)
    stage = world.connection.of(pb.NodeStageVolumeRequest)[0]
    publish = world.connection.of(pb.NodePublishVolumeRequest)[0]
    for request in (stage, publish):
        assert request.volume_capability.HasField("block")
        assert dict(request.publish_context) == CONTEXT
        assert dict(request.secrets) == {"user": "me"}
        assert request.staging_target_path == staging
    assert publish.target_path == device
    assert publish.readonly
    assert publish.volume_context["csi.storage.k8s.io/pod.name"] == "web"
    assert "csi.storage.k8s.io/serviceAccount.tokens" not in publish.volume_context
    written = json.loads((root / "pv1/data/vol_data.json").read_text())
    assert {key: written[key] for key in ("specVolID", "volumeHandle", "driverName")} == {
        "specVolID": "pv1",
        "volumeHandle": HANDLE,
        "driverName": DRIVER,
    }
    assert written["nodeName"] == NODE
    assert "volumeLifecycleMode" not in written


async def test_nothing_is_left_of_it(world: CsiWorld) -> None:
    await mapped(world)
    world.restart()
    await unmapped(world)
    assert left(world) == []
    await unmapped(world)
    assert world.connection.rpcs() == [
        "NodeStageVolume",
        "NodePublishVolume",
        "NodeUnpublishVolume",
        "NodeUnstageVolume",
    ]


async def test_a_driver_that_does_not_stage_is_told_a_staging_path_all_the_same(
    world: CsiWorld,
) -> None:
    world.state.node.discard(NodeCapability.STAGE_UNSTAGE_VOLUME)
    mapper = world.plugin.block_mapper(USE, POD)
    assert await mapper.set_up_device() == ""
    await mapper.map_pod_device()
    publish = world.connection.of(pb.NodePublishVolumeRequest)[0]
    assert publish.staging_target_path == str(devices(world) / "staging/pv1")
    await unmapped(world)
    assert world.connection.rpcs() == ["NodePublishVolume", "NodeUnpublishVolume"]
    assert left(world) == []


async def test_a_refused_stage_leaves_nothing(world: CsiWorld) -> None:
    world.connection.fail("NodeStageVolume", Fault(Code.INTERNAL))
    with pytest.raises(VolumeError):
        await mapped(world)
    assert left(world) == []


async def test_a_refused_stage_of_what_was_staged_before_leaves_it(world: CsiWorld) -> None:
    await mapped(world)
    world.restart()
    before = left(world)
    world.connection.fail("NodeStageVolume", Fault(Code.INTERNAL))
    with pytest.raises(VolumeError):
        await mapped(world)
    assert left(world) == before


async def test_a_refused_publish_leaves_the_staged_device(world: CsiWorld) -> None:
    world.connection.fail("NodePublishVolume", Fault(Code.INTERNAL))
    with pytest.raises(VolumeError):
        await mapped(world)
    assert list(scan(world.host.layout)) == [OF_VOLUME]
    await mapped(world)


async def test_a_refused_repetition_leaves_what_is_published(world: CsiWorld) -> None:
    await mapped(world)
    world.connection.fail("NodePublishVolume", Fault(Code.INTERNAL))
    with pytest.raises(VolumeError):
        await world.plugin.block_mapper(USE, POD).map_pod_device()
    assert OF_POD in list(scan(world.host.layout))


async def test_a_lost_answer_is_found_after_a_restart(world: CsiWorld) -> None:
    """Even if nothing is to be seen yet: the driver may still be at it."""
    world.connection.fail("NodePublishVolume", Fault(Code.UNAVAILABLE))
    with pytest.raises(Uncertain):
        await mapped(world)
    world.restart()
    assert list(scan(world.host.layout)) == [OF_POD, OF_VOLUME]
    rebuilt = world.plugin.rebuild_block("pv1", POD.uid)
    assert rebuilt.mode is VolumeMode.BLOCK
    assert world.plugin.volume_name(rebuilt) == f"{DRIVER}^{HANDLE}"
    await unmapped(world)
    assert world.state.publishes == {}
    assert left(world) == []


async def test_a_device_that_is_still_bound_is_left(world: CsiWorld) -> None:
    await mapped(world)
    bound = devices(world) / "pv1/dev" / POD.uid
    world.mounts.bind(devices(world) / "publish/pv1" / POD.uid, bound)
    world.connection.fail("NodeUnstageVolume", Fault(Code.INTERNAL))
    unmapper = world.plugin.block_unmapper("pv1", POD.uid)
    await unmapper.unmap_pod_device()
    with pytest.raises(Uncertain, match="unstageVolumeForBlock failed: rpc error"):
        await unmapper.tear_down_device(unmapper.global_map_path(USE), "")
    assert (devices(world) / "pv1/data/vol_data.json").exists()


async def test_a_published_file_that_is_still_mounted_is_told(world: CsiWorld) -> None:
    device = Path(await mapped(world))
    world.mounts.bind(device, device)
    world.state.lies = True
    with pytest.raises(VolumeError, match="is still mounted, and nobody unmounts it"):
        await world.plugin.block_unmapper("pv1", POD.uid).unmap_pod_device()


async def test_a_staging_directory_with_a_mount_in_it_is_not_entered(world: CsiWorld) -> None:
    await mapped(world)
    staging = devices(world) / "staging/pv1"
    world.mounts.bind(world.state.backing.parent, staging)
    world.state.node.discard(NodeCapability.STAGE_UNSTAGE_VOLUME)
    world.connection.restart()
    unmapper = world.plugin.block_unmapper("pv1", POD.uid)
    await unmapper.unmap_pod_device()
    with pytest.raises(HostError, match="staging/pv1 is still mounted"):
        await unmapper.tear_down_device(unmapper.global_map_path(USE), "")
    assert (devices(world) / "pv1/data/vol_data.json").exists()


async def test_a_driver_that_is_not_there(world: CsiWorld) -> None:
    await mapped(world)
    world.drivers.drop(DRIVER)
    with pytest.raises(NotStarted, match=r"blockMapper\.SetUpDevice failed to get CSI client: dri"):
        await mapped(world)
    unmapper = world.plugin.block_unmapper("pv1", POD.uid)
    with pytest.raises(NotStarted, match=r"blockMapper\.UnmapPodDevice failed to get CSI client"):
        await unmapper.unmap_pod_device()


async def test_a_missing_attachment(world: CsiWorld) -> None:
    use = a_persistent_use(mode=VolumeMode.BLOCK, handle="vol-2")
    with pytest.raises(NotStarted, match="SetupDevice failed to get volume attachment"):
        await world.plugin.block_mapper(use, POD).set_up_device()
    assert left(world) == []


async def test_links_are_in_the_pods_directory(world: CsiWorld) -> None:
    link = world.host.layout.pod(POD.uid) / "volumeDevices/kubernetes.io~csi/pv1"
    assert world.plugin.block_mapper(USE, POD).pod_device_link() == link
    assert world.plugin.block_unmapper("pv1", POD.uid).pod_device_link() == link
