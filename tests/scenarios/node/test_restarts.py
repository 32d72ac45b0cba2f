"""A node that comes back: what it may take away, and when."""

import pytest
from msgspec.structs import replace

from mooring.errors import ConnectionLost
from mooring.model.keys import Key
from mooring.model.meta import ObjectMeta
from mooring.model.pod import Pod
from mooring.model.volume import Volume
from mooring.model.volume_use import VolumeUse
from mooring.node.actual import ActualVolume, DeviceState, PodMount, PodState
from mooring.node.context import NodeContext
from tests.fakes.objects import (
    CLAIMS,
    CONFIG_MAPS,
    PODS,
    VOLUMES,
    a_claim,
    a_config_map,
    a_volume,
)
from tests.fakes.plugins import Outcome
from tests.scenarios.node.cluster import DISK, FILES, Cluster, a_pod, claimed, config, scratch

USE = VolumeUse(volume=Volume(metadata=ObjectMeta(name="disk")))
GRACE = 30


class Found:
    """The disk holds this volume for these pods."""

    def __init__(self, cluster: Cluster, *uids: str, label: str = "") -> None:
        self._uids = uids
        self._label = label
        cluster.backend.there = {("device", "disk"): True}
        cluster.backend.there |= {("files", "disk", uid): True for uid in uids}

    def __call__(self, context: NodeContext) -> None:
        volume = ActualVolume(
            f"{DISK}/disk", DISK, USE, device=DeviceState.UNCERTAIN, selinux_label=self._label
        )
        for uid in self._uids:
            context.actual.reconstructed(volume, PodMount(uid, USE, PodState.UNCERTAIN))


async def test_what_a_pod_still_wants_is_set_up_again_and_not_torn_down(
    cluster: Cluster,
) -> None:
    await cluster.bound()
    await cluster.create(PODS, a_pod("web", claimed()))
    uid = await cluster.uid()
    async with cluster.node(found=Found(cluster, uid)):
        assert cluster.did() == ["mount_device disk", f"set_up disk {uid}"]
        assert cluster.containers.started == [("web", ("data",))]


async def test_what_belongs_to_nobody_goes(cluster: Cluster) -> None:
    async with cluster.node(found=Found(cluster, "gone")):
        assert cluster.did() == ["tear_down disk gone", "unmount_device disk"]
        assert cluster.backend.there == {}


async def test_nothing_goes_before_all_pods_were_looked_at(cluster: Cluster) -> None:
    """Else the device would be unmounted under a pod that is about to ask for it."""
    await cluster.bound()
    await cluster.create(PODS, a_pod("web", claimed()))
    uid = await cluster.uid()
    async with cluster.node(found=Found(cluster, "gone")):
        assert "unmount_device disk" not in cluster.did()
        assert set(cluster.backend.there) == {("device", "disk"), ("files", "disk", uid)}


async def test_a_volume_under_another_label_goes_first_and_the_pod_is_told(
    cluster: Cluster,
) -> None:
    await cluster.bound()
    await cluster.create(PODS, a_pod("web", claimed()))
    uid = await cluster.uid()
    cluster.backend.script("tear_down", Outcome.FINAL)
    async with cluster.node(found=Found(cluster, "gone", label="old")):
        (told,) = await cluster.said("FailedMount")
        assert told[2].endswith(
            f': waiting for unmount of volume "{DISK}/disk", because it is already mounted to a '
            "different pod with a different SELinux label"
        )
        await cluster.passes(15)
        assert cluster.did()[-3:] == [
            "unmount_device disk",
            "mount_device disk",
            f"set_up disk {uid}",
        ]


async def test_what_a_pod_has_stays_while_nobody_knows_what_it_wants(cluster: Cluster) -> None:
    """Its containers may be running; upstream would unmount under them."""
    await cluster.bound()
    await cluster.create(PODS, a_pod("web", claimed()))
    uid = await cluster.uid()
    cluster.outages += [ConnectionLost("away")] * 3
    async with cluster.node(found=Found(cluster, uid)) as node:
        assert node.volumes.may_destroy
        assert cluster.did() == []
        await cluster.passes(5)
        assert cluster.did() == ["mount_device disk", f"set_up disk {uid}"]


async def test_others_do_not_wait_for_such_a_pod(cluster: Cluster) -> None:
    await cluster.create(PODS, a_pod("web", claimed("missing")))
    async with cluster.node(found=Found(cluster, "gone")):
        assert cluster.backend.there == {}


async def test_and_it_gives_back_what_it_has_when_it_goes(cluster: Cluster) -> None:
    await cluster.create(PODS, a_pod("web", claimed("missing")))
    uid = await cluster.uid()
    async with cluster.node(found=Found(cluster, uid)):
        assert cluster.did() == []
        await cluster.delete(PODS, "web")
        assert cluster.did() == [f"tear_down disk {uid}", "unmount_device disk"]
        assert await cluster.find(PODS, "web") is None


async def test_a_pod_that_ends_keeps_its_volumes_while_containers_may_run(
    cluster: Cluster,
) -> None:
    await cluster.bound()
    await cluster.create(PODS, a_pod("web", claimed()))
    uid = await cluster.uid()
    await cluster.delete(PODS, "web", grace=GRACE)
    cluster.containers.running.add(uid)
    cluster.containers.may_stop.clear()
    async with cluster.node(found=Found(cluster, uid)) as node:
        assert node.volumes.context.desired.find(f"{DISK}/disk") is not None
        assert cluster.did("tear_down") == []
        cluster.containers.may_stop.set()
        await cluster.settle()
        assert cluster.backend.there == {}
        assert await cluster.find(PODS, "web") is None


async def test_a_pod_that_ends_and_has_no_containers_gets_nothing(cluster: Cluster) -> None:
    await cluster.bound()
    await cluster.create(PODS, a_pod("web", claimed()))
    await cluster.delete(PODS, "web", grace=GRACE)
    async with cluster.node():
        assert cluster.did() == []
        assert await cluster.find(PODS, "web") is None


async def test_the_directory_of_a_pod_that_ends_waits_for_the_disk_to_be_read(
    cluster: Cluster,
) -> None:
    await cluster.create(PODS, a_pod("web", scratch()))
    uid = await cluster.uid()
    await cluster.delete(PODS, "web", grace=GRACE)
    directory = cluster.layout.volumes(uid)
    directory.mkdir(parents=True)
    async with cluster.node(is_reconstructed=False) as node:
        assert directory.exists()
        assert await cluster.find(PODS, "web") is not None
        node.volumes.reconstructed()
        await cluster.settle()
        assert not directory.exists()
        assert await cluster.find(PODS, "web") is None


async def test_nothing_is_taken_away_before_the_disk_was_read(cluster: Cluster) -> None:
    found = Found(cluster, "gone")
    async with cluster.node(found=found, is_reconstructed=False) as node:
        await cluster.passes(100)
        assert cluster.did() == []
        assert not node.volumes.is_synced
        node.volumes.reconstructed()
        await cluster.settle()
        assert cluster.backend.there == {}


async def test_a_pod_that_nobody_waits_for_is_tried_again_and_again(cluster: Cluster) -> None:
    await cluster.create(CLAIMS, a_claim(storageClassName=""))
    async with cluster.node(with_workers=False) as node:
        await cluster.create(PODS, a_pod("web", claimed()))
        pod = await node.client.get(Pod, Key("default", "web"))
        node.volumes.want(pod)
        await cluster.passes(1)
        assert node.client.reads >= 3
        await cluster.passes(60)
        before = node.client.reads
        await cluster.passes(60)
        assert 5 <= node.client.reads - before <= 7  # once in ten seconds


async def test_a_pod_that_somebody_waits_for_is_tried_once_per_request(cluster: Cluster) -> None:
    await cluster.create(CLAIMS, a_claim(storageClassName=""))
    async with cluster.node() as node:
        await cluster.create(PODS, a_pod("web", claimed()))
        assert node.client.reads == 1
        await cluster.passes(60)
        told = await cluster.said("FailedMount")
        assert len(told) == 1  # one event that is counted
        assert 6 <= node.client.reads <= 14


async def test_a_trouble_of_the_api_does_not_touch_a_running_pod(cluster: Cluster) -> None:
    await cluster.bound()
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", claimed()))
        cluster.outages += [ConnectionLost("away")] * 100
        await cluster.passes(300)
        assert cluster.did("tear_down", "unmount_device") == []
        assert await cluster.said() == []


async def test_the_net_finds_what_nobody_looked_at(cluster: Cluster) -> None:
    """Nothing should need it: here the picture is changed behind everybody's back."""
    async with cluster.node() as node:
        await cluster.create(PODS, a_pod("web", config()))
        uid = await cluster.uid()
        volumes = node.volumes.context.actual._volumes
        name = f"{FILES}/{uid}-settings"
        here = volumes[name]
        volumes[name] = replace(here, pods={uid: replace(here.pods[uid], wants_remount=True)})
        await cluster.settle()
        assert len(cluster.did("set_up")) == 1
        await cluster.passes(67)
        assert len(cluster.did("set_up")) >= 2
        metrics = node.volumes.context.metrics
        caught = [f for f in metrics.collect() if f.name == "mooring_node_net_caught"]
        assert caught[0].samples[0].value == 1


async def test_the_net_finds_nothing_in_an_ordinary_life(cluster: Cluster) -> None:
    await cluster.bound()
    async with cluster.node() as node:
        await cluster.create(PODS, a_pod("web", claimed(), config(), scratch()))
        await cluster.create(PODS, a_pod("waiting", claimed("missing")))
        cluster.backend.script("set_up", *[Outcome.FINAL] * 4)
        await cluster.create(PODS, a_pod("failing", scratch()))
        for _ in range(60):
            await cluster.passes(10)
            cluster.backend.script("set_up", *[Outcome.FINAL] * 2)
        await cluster.delete(PODS, "web")
        await cluster.passes(600)
        metrics = node.volumes.context.metrics
        caught = [f for f in metrics.collect() if f.name == "mooring_node_net_caught"]
        assert caught[0].samples[0].value == 0


@pytest.mark.parametrize("first", ["claim", "volume"])
async def test_a_claim_and_its_volume_may_come_after_the_pod(cluster: Cluster, first: str) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", claimed()))
        makes = [
            (CLAIMS, a_claim(volumeName="disk", storageClassName="")),
            (VOLUMES, a_volume(csi=None, hostPath={"path": "/mnt"})),
        ]
        for collection, doc in makes if first == "claim" else reversed(makes):
            await cluster.create(collection, doc)
            await cluster.passes(1)
        await cluster.bind()
        await cluster.passes(4)
        assert cluster.containers.started == [("web", ("data",))]


async def test_real_volumes_are_found_again_and_left_as_they_are(cluster: Cluster) -> None:
    await cluster.create(CONFIG_MAPS, a_config_map(colour="blue"))
    memory = {"name": "fast", "emptyDir": {"medium": "Memory"}}
    async with cluster.node(real=True):
        await cluster.create(PODS, a_pod("web", config(), scratch(), memory))
        uid = await cluster.uid()
        kept = cluster.layout.volume(uid, "kubernetes.io/empty-dir", "tmp") / "work"
        kept.write_text("half done")
    mounted = len(cluster.mounts.calls)
    async with cluster.node(real=True) as node:
        assert sorted(node.volumes.reach(uid)) == ["fast", "settings", "tmp"]
        assert kept.read_text() == "half done"
        assert len(cluster.mounts.calls) == mounted


async def test_real_volumes_of_a_pod_that_vanished_meanwhile_go(cluster: Cluster) -> None:
    await cluster.create(CONFIG_MAPS, a_config_map(colour="blue"))
    memory = {"name": "fast", "emptyDir": {"medium": "Memory"}}
    async with cluster.node(real=True):
        await cluster.create(PODS, a_pod("web", config(), scratch(), memory))
        uid = await cluster.uid()
    await cluster.delete(PODS, "web", grace=0)
    async with cluster.node(real=True) as node:
        assert not node.volumes.has_traces(uid)
        assert cluster.mounts.mounted() == ()
        assert not any(cluster.layout.volumes(uid).glob("*/*"))


async def test_real_volumes_of_a_pod_that_is_being_deleted_go_with_it(cluster: Cluster) -> None:
    async with cluster.node(real=True) as node:
        await cluster.create(PODS, a_pod("web", scratch()))
        uid = await cluster.uid()
        node.client.left = 0  # the node dies, and with it all that it would write
    await cluster.delete(PODS, "web", grace=GRACE)
    assert cluster.layout.pod(uid).exists()
    async with cluster.node(real=True):
        assert not cluster.layout.pod(uid).exists()
        assert await cluster.find(PODS, "web") is None
