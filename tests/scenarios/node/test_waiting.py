"""Pods that wait for their volumes, and what they are told."""

import asyncio
from typing import Any

import pytest

from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.node.waits import PATIENCE, StillMounted
from tests.fakes.objects import CLAIMS, NODES, PODS, VOLUMES, a_claim, a_volume
from tests.fakes.plugins import Outcome
from tests.scenarios.node.cluster import CLOUD, NODE, Cluster, a_pod, claimed, scratch

IN_THE_CLOUD: dict[str, Any] = {"csi": {"driver": "d", "volumeHandle": "h"}, "hostPath": None}
UNABLE = "Unable to attach or mount volumes: "


async def test_a_claim_that_is_not_bound_is_told_and_asked_again(cluster: Cluster) -> None:
    await cluster.create(CLAIMS, a_claim(volumeName="disk", storageClassName=""))
    await cluster.create(VOLUMES, a_volume(csi=None, hostPath={"path": "/mnt"}))
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", claimed(name="v")))
        assert await cluster.said() == [
            (
                "Warning",
                "FailedMount",
                f"{UNABLE}unmounted volumes=[v], unattached volumes=[], failed to process "
                "volumes=[v]: error processing PVC default/data: PVC is not bound",
            )
        ]
        await cluster.bind()
        await cluster.passes(1)
        assert cluster.containers.started == [("web", ("v",))]


async def test_a_claim_that_goes_is_good_while_it_is_protected(cluster: Cluster) -> None:
    await cluster.bound()
    await cluster.delete(CLAIMS, "data")
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", claimed()))
        assert cluster.containers.started == [("web", ("data",))]


async def test_a_claim_that_goes_is_refused_when_only_others_hold_it(cluster: Cluster) -> None:
    await cluster.bound()
    await cluster.patch(CLAIMS, "data", {"metadata": {"finalizers": ["example.com/hold"]}})
    await cluster.delete(CLAIMS, "data")
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", claimed()))
        (told,) = await cluster.said()
        assert told[2].endswith("error processing PVC default/data: PVC is being deleted")


async def test_a_device_is_no_directory(cluster: Cluster) -> None:
    await cluster.bound(volumeMode="Block")
    async with cluster.node() as node:
        await cluster.create(PODS, a_pod("web", claimed()))
        (told,) = await cluster.said()
        assert told[2].endswith(
            "volume data has volumeMode Block, but is specified in volumeMounts"
        )
        assert node.volumes.in_use() == ()


async def test_a_volume_that_no_container_uses_is_not_waited_for(cluster: Cluster) -> None:
    async with cluster.node():
        pod = a_pod("web", scratch(), claimed("missing"), unused=("missing",))
        await cluster.create(PODS, pod)
        assert cluster.containers.started == [("web", ("tmp",))]


async def test_two_names_of_one_claim_are_mounted_once(cluster: Cluster) -> None:
    await cluster.bound()
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", claimed(name="a"), claimed(name="b")))
        assert cluster.containers.started == [("web", ("a", "b"))]
        assert len(cluster.did("set_up")) == 1


async def test_everything_that_is_missing_is_listed(cluster: Cluster) -> None:
    await cluster.bound("c1", "pv1", **IN_THE_CLOUD)
    await cluster.bound("c2", "pv2", **IN_THE_CLOUD)
    nobody = [{"name": name, "nfs": {"server": "s", "path": "/"}} for name in ("u2", "u1")]
    cluster.backend.script("set_up", *[Outcome.FINAL] * 9)
    async with cluster.node():
        volumes = (claimed("c2", "a2"), claimed("c1", "a1"), *nobody, scratch("m"))
        await cluster.create(PODS, a_pod("web", *volumes))
        told = await cluster.said("FailedMount")
        plugin = "failed to get Plugin from volumeSpec for volume"
        assert (
            "Warning",
            "FailedMount",
            f"{UNABLE}unmounted volumes=[a1 a2 m u1 u2], unattached volumes=[a1 a2], "
            f'failed to process volumes=[u1 u2]: {plugin} "u1" err=no volume plugin matched; '
            f'{plugin} "u2" err=no volume plugin matched',
        ) in told


async def test_a_wait_that_is_merely_long_says_nothing_of_its_own(cluster: Cluster) -> None:
    await cluster.bound(**IN_THE_CLOUD)
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", claimed()))
        await cluster.passes(3 * PATIENCE)
        assert await cluster.said() == []
        await cluster.attach("disk")
        assert cluster.containers.started == [("web", ("data",))]


async def test_only_the_operation_that_failed_says_why(cluster: Cluster) -> None:
    cluster.backend.script("set_up", *[Outcome.FINAL] * 20)
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", scratch()))
        await cluster.passes(PATIENCE + 1)
        assert await cluster.said() == [
            ("Warning", "FailedMount", 'MountVolume.SetUp failed for volume "tmp" : set_up refused')
        ]


async def test_a_node_that_takes_no_more_volumes_refuses_the_pod(cluster: Cluster) -> None:
    await cluster.bound(**IN_THE_CLOUD)
    cluster.cloud.is_full = True
    text = (
        "Node has reached its volume attachment limit, rejecting pod. unmounted volumes=[data], "
        "unattached volumes=[data], failed to process volumes=[]: context deadline exceeded"
    )
    async with cluster.node() as node:
        await cluster.create(PODS, a_pod("web", claimed()))
        await cluster.passes(PATIENCE)
        doc = await cluster.find(PODS, "web")
        assert doc is not None
        assert (doc["status"]["phase"], doc["status"]["reason"]) == (
            "Failed",
            "VolumeAttachmentLimitExceeded",
        )
        assert doc["status"]["message"] == f"Pod was rejected: {text}"
        assert await cluster.said() == [("Warning", "VolumeAttachmentLimitExceeded", text)]
        assert node.volumes.in_use() == ()


async def test_an_attached_volume_is_mounted_as_soon_as_the_status_says_so(
    cluster: Cluster,
) -> None:
    await cluster.bound(**IN_THE_CLOUD)
    cluster.reports_use = False
    async with cluster.node() as node:
        await cluster.create(PODS, a_pod("web", claimed()))
        await cluster.attach("disk")
        assert cluster.did() == []
        node.volumes.reported_in_use(node.volumes.in_use())
        await cluster.settle()
        assert [call.split()[0] for call in cluster.did()] == [
            "wait_for_attach",
            "mount_device",
            "set_up",
        ]
        assert cluster.did("wait_for_attach") == ["wait_for_attach disk /dev/disk"]


async def test_in_use_is_told_when_it_changes_and_only_then(cluster: Cluster) -> None:
    await cluster.bound(**IN_THE_CLOUD)
    async with cluster.node() as node:
        told: list[tuple[str, ...]] = []
        node.volumes.on_in_use_change(lambda: told.append(node.volumes.in_use()))
        await cluster.create(PODS, a_pod("other", scratch()))
        await cluster.create(PODS, a_pod("web", claimed()))
        await cluster.attach("disk")
        assert told == [(f"{CLOUD}/disk",)]
        await cluster.delete(PODS, "web")
        assert told == [(f"{CLOUD}/disk",), ()]


async def test_a_volume_that_need_not_be_attached_any_more_is_mounted(
    cluster: Cluster,
) -> None:
    await cluster.bound(**IN_THE_CLOUD)
    async with cluster.node() as node:
        await cluster.create(PODS, a_pod("web", claimed()))
        assert node.volumes.in_use() == (f"{CLOUD}/disk",)
        cluster.cloud.is_attachable = False
        node.volumes.attachability_changed()
        await cluster.settle()
        assert node.volumes.in_use() == ()
        assert cluster.containers.started == [("web", ("data",))]
        assert cluster.did("wait_for_attach") == []


async def test_a_volume_that_need_not_be_attached_any_more_is_mounted_after_a_while(
    cluster: Cluster,
) -> None:
    await cluster.bound(**IN_THE_CLOUD)
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", claimed()))
        cluster.cloud.is_attachable = False
        await cluster.passes(70)
        assert cluster.containers.started == [("web", ("data",))]


GROUPS = {
    "a group of the volume is the pod's too": ("777", (), (777,)),
    "a group that the pod has is none more": ("777", (777,), ()),
    "a group that is no number": ("wheel", (), ()),
    "an empty group": ("", (), ()),
    "no group has a number below zero": ("-5", (), ()),
}


@pytest.mark.parametrize(("annotation", "own", "extra"), GROUPS.values(), ids=GROUPS)
async def test_groups_of_volumes(
    cluster: Cluster, annotation: str, own: tuple[int, ...], extra: tuple[int, ...]
) -> None:
    await cluster.bound()
    mark = {"metadata": {"annotations": {"pv.beta.kubernetes.io/gid": annotation}}}
    await cluster.patch(VOLUMES, "disk", mark)
    async with cluster.node() as node:
        security = {"supplementalGroups": list(own)}
        await cluster.create(PODS, a_pod("web", claimed(), securityContext=security))
        pod = await node.client.get(Pod, Key("default", "web"))
        assert node.volumes.extra_groups(pod) == extra


async def test_a_node_that_shuts_down_waits_for_its_pods_volumes(cluster: Cluster) -> None:
    cluster.backend.script("tear_down", Outcome.DONE, Outcome.HANG)
    async with cluster.node() as node:
        await cluster.create(PODS, a_pod("one", scratch()))
        await cluster.create(PODS, a_pod("two", scratch()))
        uids = [await cluster.uid("one"), await cluster.uid("two")]
        waiting = asyncio.create_task(node.volumes.all_unmounted(uids))
        await cluster.settle()
        assert not waiting.done()
        await cluster.delete(PODS, "one")
        await cluster.delete(PODS, "two")
        await waiting  # the second one is in doubt, and that does not hold up anybody
        assert node.volumes.has_traces(uids[1])


async def test_a_node_that_shuts_down_says_which_volumes_stay(cluster: Cluster) -> None:
    async with cluster.node() as node:
        await cluster.create(PODS, a_pod("one", scratch("a")))
        await cluster.create(PODS, a_pod("two", scratch("b")))
        uids = [await cluster.uid("one"), await cluster.uid("two")]
        waiting = asyncio.create_task(node.volumes.all_unmounted(uids))
        await cluster.passes(PATIENCE)
        names = [f"example.com/scratch/{uids[0]}-a", f"example.com/scratch/{uids[1]}-b"]
        with pytest.raises(StillMounted) as refusal:
            await waiting
        assert str(refusal.value) == (
            f"[mounted volumes=[{names[0]}]: context deadline exceeded, "
            f"mounted volumes=[{names[1]}]: context deadline exceeded]"
        )


async def test_what_failed_a_while_ago_does_not_fail_a_new_wait(cluster: Cluster) -> None:
    await cluster.create(CLAIMS, a_claim(volumeName="disk", storageClassName=""))
    await cluster.create(VOLUMES, a_volume(csi=None, hostPath={"path": "/mnt"}))
    async with cluster.node(with_workers=False) as node:
        await cluster.create(PODS, a_pod("web", claimed()))
        pod = await node.client.get(Pod, Key("default", "web"))
        node.volumes.want(pod)
        await cluster.settle()
        await cluster.bind()
        await node.volumes.mounted(pod)
        assert list(node.volumes.reach(pod.uid)) == ["data"]


async def test_a_pod_that_is_released_while_its_claim_is_read_wants_nothing(
    cluster: Cluster,
) -> None:
    await cluster.bound()
    async with cluster.node(with_workers=False) as node:
        await cluster.create(PODS, a_pod("web", claimed()))
        pod = await node.client.get(Pod, Key("default", "web"))
        cluster.may_read.clear()
        node.volumes.want(pod)
        await cluster.settle()
        node.volumes.release(pod.uid)
        cluster.may_read.set()
        await cluster.settle()
        assert list(node.volumes.context.desired.volumes()) == []
        assert cluster.did() == []


async def test_the_node_object_may_be_missing(cluster: Cluster) -> None:
    await cluster.delete(NODES, NODE)
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", scratch()))
        assert cluster.containers.started == [("web", ("tmp",))]
