"""A node that is killed between any two calls to a CSI driver, or in the middle of one.

What its driver has staged and published afterwards is what pods want: nothing less, nothing more.
"""

from enum import Enum
from pathlib import Path

import pytest

from mooring.csi.outcome import Code
from mooring.csi.proto import csi_pb2 as pb
from mooring.host import loop_device
from mooring.model.wellknown import Plugin
from mooring.node.csi import volumes_of
from tests.fakes.api import ApiUnderTest
from tests.fakes.csi_played import Fault
from tests.fakes.objects import PODS
from tests.scenarios.node.cluster import Cluster, a_pod, claimed
from tests.scenarios.node.csi_cluster import CsiCluster, Cut
from tests.unit.plugins.csi.world import DRIVER, HANDLE

LONG = 300.0


class Fate(Enum):
    """Of the pod, while the node is away."""

    STAYS = "the pod is still wanted"
    GOES = "the pod is deleted meanwhile"


@pytest.fixture
async def cluster(
    cluster: Cluster,
    api: ApiUnderTest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> CsiCluster:
    monkeypatch.setattr(loop_device, "find_or_attach", lambda backing: backing)
    monkeypatch.setattr(loop_device, "detach_backing", lambda _: None)
    return CsiCluster(api, tmp_path / "csi-node")


async def lived(cluster: CsiCluster, *, is_leaving: bool) -> None:
    """One life of the node, which may end early; the pod comes, and goes if it is to."""
    async with cluster.node():
        await cluster.clock.advance(LONG)
        if is_leaving:
            await cluster.delete(PODS, "web")
            await cluster.clock.advance(LONG)


async def a_pod_with(cluster: CsiCluster, mode: str) -> None:
    if mode == "Block":
        await cluster.a_volume("Block")
        pod = a_pod("web", claimed())
        container = pod["spec"]["containers"][0]
        container["volumeDevices"] = [
            {"name": one["name"], "devicePath": one["mountPath"]}
            for one in container.pop("volumeMounts")
        ]
    else:
        await cluster.a_volume()
        pod = a_pod("web", claimed())
    await cluster.create(PODS, pod)


COMING = {"staged": 1, "published": 2}
GOING = {"unpublished": 3, "unstaged": 4}


@pytest.mark.parametrize("when", Cut, ids=lambda when: when.value)
@pytest.mark.parametrize("fate", Fate, ids=lambda fate: fate.value)
@pytest.mark.parametrize("number", COMING.values(), ids=COMING)
@pytest.mark.parametrize("mode", ["Filesystem", "Block"])
async def test_killed_while_it_is(
    cluster: CsiCluster, mode: str, number: int, fate: Fate, when: Cut
) -> None:
    cluster.objects.define(attachRequired=False)
    await a_pod_with(cluster, mode)
    cluster.connection.arm((number, when))
    await lived(cluster, is_leaving=False)
    assert cluster.connection.was_cut
    cluster.connection.arm(None)
    if fate is Fate.GOES:
        await cluster.delete(PODS, "web")
    async with cluster.node():
        await cluster.clock.advance(LONG)
        if fate is Fate.STAYS:
            assert cluster.kept() == (1, 1)
            await cluster.delete(PODS, "web")
            await cluster.clock.advance(LONG)
        await all_is_gone(cluster)


@pytest.mark.parametrize("when", Cut, ids=lambda when: when.value)
@pytest.mark.parametrize("number", GOING.values(), ids=GOING)
@pytest.mark.parametrize("mode", ["Filesystem", "Block"])
async def test_killed_while_it_is_being(
    cluster: CsiCluster, mode: str, number: int, when: Cut
) -> None:
    cluster.objects.define(attachRequired=False)
    await a_pod_with(cluster, mode)
    cluster.connection.arm((number, when))
    await lived(cluster, is_leaving=True)
    assert cluster.connection.was_cut
    cluster.connection.arm(None)
    async with cluster.node():
        await cluster.clock.advance(LONG)
        await all_is_gone(cluster)


async def all_is_gone(cluster: CsiCluster) -> None:
    assert cluster.kept() == (0, 0)
    assert cluster.mounts.mounted() == ()
    assert cluster.files() == []
    assert await cluster.find(PODS, "web") is None


# what a driver answers, and what comes of it


async def test_a_stage_that_may_have_happened_is_undone(cluster: CsiCluster) -> None:
    cluster.objects.define(attachRequired=False)
    cluster.connection.fail("NodeStageVolume", Fault(Code.UNAVAILABLE, is_done=True))
    await a_pod_with(cluster, "Filesystem")
    async with cluster.node():
        await cluster.delete(PODS, "web")
        await cluster.clock.advance(LONG)
        assert cluster.connection.rpcs() == ["NodeStageVolume", "NodeUnstageVolume"]
        await all_is_gone(cluster)


async def test_a_stage_that_was_refused_leaves_nothing_to_undo(cluster: CsiCluster) -> None:
    cluster.objects.define(attachRequired=False)
    cluster.connection.fail("NodeStageVolume", Fault(Code.INVALID_ARGUMENT))
    await a_pod_with(cluster, "Filesystem")
    async with cluster.node():
        assert cluster.files() == []
        await cluster.delete(PODS, "web")
        await cluster.clock.advance(LONG)
        assert cluster.connection.rpcs() == ["NodeStageVolume"]
        assert (
            "Warning",
            "FailedMount",
            'MountVolume.MountDevice failed for volume "disk" : '
            "rpc error: code = InvalidArgument desc = scripted",
        ) in await cluster.said("FailedMount")


async def test_a_publish_without_an_answer_is_asked_for_again_in_the_same_words(
    cluster: CsiCluster,
) -> None:
    cluster.objects.define(attachRequired=False)
    cluster.connection.fail("NodePublishVolume", Fault(Code.DEADLINE_EXCEEDED, is_done=True))
    await a_pod_with(cluster, "Filesystem")
    async with cluster.node():
        await cluster.clock.advance(LONG)
        first, second = cluster.connection.of(pb.NodePublishVolumeRequest)
        assert first == second
        assert cluster.kept() == (1, 1)
        assert cluster.containers.started == [("web", ("data",))]


async def test_a_refusal_of_what_is_mounted_touches_nothing(cluster: CsiCluster) -> None:
    cluster.objects.define(attachRequired=False)
    cluster.connection.fail("NodePublishVolume", Fault(Code.INTERNAL, is_done=True))
    await a_pod_with(cluster, "Filesystem")
    async with cluster.node():
        target = cluster.layout.volume(await cluster.uid(), Plugin.CSI, "disk") / "mount"
        assert cluster.mounts.is_mount_point(target)
        assert (target.parent / "vol_data.json").exists()
        await cluster.delete(PODS, "web")
        await cluster.clock.advance(LONG)
        assert cluster.connection.rpcs()[-2:] == ["NodeUnpublishVolume", "NodeUnstageVolume"]
        await all_is_gone(cluster)


async def test_what_cannot_be_read_back_is_told_and_nothing_is_deleted(
    cluster: CsiCluster,
) -> None:
    cluster.objects.define(attachRequired=False)
    await a_pod_with(cluster, "Filesystem")
    async with cluster.node():
        await cluster.clock.advance(1)
    target = cluster.layout.volume(await cluster.uid(), Plugin.CSI, "disk") / "mount"
    (target.parent / "vol_data.json").write_text('{"driverName":')
    (cluster.state.backing / HANDLE / "file").write_text("data")
    await cluster.delete(PODS, "web")
    async with cluster.node():
        await cluster.clock.advance(LONG)
        assert cluster.mounts.is_mount_point(target)
        assert cluster.kept() == (1, 1)
    assert (cluster.state.backing / HANDLE / "file").read_text() == "data"


async def test_a_driver_that_comes_back_takes_back_what_it_gave(cluster: CsiCluster) -> None:
    cluster.objects.define(attachRequired=False)
    await a_pod_with(cluster, "Filesystem")
    async with cluster.node() as node:
        await cluster.clock.advance(1)
        driver = cluster.drivers.get(DRIVER)
        cluster.drivers.drop(DRIVER)
        await cluster.delete(PODS, "web")
        await cluster.clock.advance(LONG)
        assert cluster.kept() == (1, 1)
        assert (
            "Warning",
            "FailedUnmount",
            'UnmountVolume.TearDown failed for volume "kubernetes.io/csi/'
            f'{DRIVER}^{HANDLE}" : kubernetes.io/csi: Unmounter.TearDownAt failed to get CSI '
            f"client: driver name {DRIVER} not found in the list of registered CSI drivers",
        ) in await cluster.said("FailedUnmount")
        cluster.drivers.put(driver)
        node.volumes.attached_changed(volumes_of(node.volumes.context, DRIVER))
        await cluster.settle()
        await cluster.clock.advance(0.1)  # at once: nobody sits out a pause
        await all_is_gone(cluster)


async def test_a_volume_for_one_pod_is_refused_to_a_second_before_the_driver_hears_of_it(
    cluster: CsiCluster,
) -> None:
    cluster.objects.define(attachRequired=False)
    await cluster.a_volume(accessModes=["ReadWriteOncePod"])
    await cluster.create(PODS, a_pod("web", claimed()))
    async with cluster.node():
        await cluster.clock.advance(1)
        before = cluster.connection.rpcs()
        await cluster.create(PODS, a_pod("second", claimed()))
        await cluster.clock.advance(1)
        assert cluster.connection.rpcs() == before
        assert any(
            "volume uses the ReadWriteOncePod access mode and is already in use by another pod"
            in message
            for _, _, message in await cluster.said("FailedMount")
        )


async def test_with_the_rights_of_a_node_a_volume_is_attached_staged_and_published(
    cluster: CsiCluster,
) -> None:
    await a_pod_with(cluster, "Filesystem")
    async with cluster.node():
        await cluster.clock.advance(1)
        assert cluster.kept() == (0, 0)
        await cluster.attach()
        await cluster.settle()
        await cluster.clock.advance(1)
        assert cluster.kept() == (1, 1)
        assert cluster.containers.started == [("web", ("data",))]
