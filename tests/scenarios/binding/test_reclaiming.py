"""Volumes that their claims have left: kept, deleted, recycled."""

from typing import Any

import pytest

from mooring.model.wellknown import Annotation
from mooring.plugins.contract import PluginError, VolumeInUse
from tests.fakes.objects import CLAIMS, PODS, VOLUMES, Doc, a_claim, a_pod, a_volume
from tests.scenarios.binding.cluster import FAKE, Cluster

HOST_PATH = {"path": "/tmp/disk"}  # noqa: S108 - a name in a document
RECYCLERS = "recycler-for-disk"


def left(policy: str, **spec: Any) -> Doc:
    spec.setdefault("hostPath", HOST_PATH)
    return a_volume(persistentVolumeReclaimPolicy=policy, csi=None, **spec)


async def let_go(cluster: Cluster, volume: Doc) -> None:
    """Bind a claim to it, and delete the claim."""
    await cluster.create(VOLUMES, volume)
    await cluster.create(CLAIMS, a_claim())
    assert (await cluster.claim()).startswith("Bound")
    await cluster.delete(CLAIMS, "data")


async def test_a_volume_to_be_kept_is_kept(cluster: Cluster) -> None:
    async with cluster.binder():
        await let_go(cluster, left("Retain"))
        await cluster.passes(3600)
        assert await cluster.volume() == "Released ref=data+ BBC"
        assert cluster.plugin.deleted == []
        assert await cluster.told() == []


async def test_a_volume_to_be_deleted_is_deleted(cluster: Cluster) -> None:
    async with cluster.binder():
        await let_go(cluster, left("Delete"))
        assert await cluster.volume() == "gone"
        assert cluster.plugin.deleted == ["disk"]
        assert await cluster.told() == []


async def test_a_volume_that_nobody_can_delete_fails(cluster: Cluster) -> None:
    nfs = {"server": "s", "path": "/"}
    async with cluster.binder():
        await let_go(cluster, left("Delete", hostPath=None, nfs=nfs))
        why = (
            'error getting deleter volume plugin for volume "disk": '
            "no deletable volume plugin matched"
        )
        doc = await cluster.find(VOLUMES, "disk")
        assert doc is not None
        assert (doc["status"]["phase"], doc["status"]["message"]) == ("Failed", why)
        assert await cluster.told() == [("Warning", "VolumeFailedDelete", why)]


async def test_a_failed_deletion_is_tried_again(cluster: Cluster) -> None:
    cluster.plugin.failures = [PluginError("on fire")]
    async with cluster.binder():
        await let_go(cluster, left("Delete"))
        assert await cluster.volume() == "Failed ref=data+ BBC"
        assert await cluster.told() == [("Warning", "VolumeFailedDelete", "on fire")]
        await cluster.passes(0.6)
        assert await cluster.volume() == "gone"


async def test_a_volume_in_use_waits_for_its_deletion(cluster: Cluster) -> None:
    cluster.plugin.failures = [VolumeInUse("still mounted")]
    async with cluster.binder():
        await let_go(cluster, left("Delete"))
        assert await cluster.volume() == "Released ref=data+ BBC"
        assert await cluster.told() == [("Normal", "VolumeDelete", "still mounted")]
        await cluster.passes(0.6)
        assert await cluster.volume() == "gone"


async def test_what_was_made_outside_is_left_to_whoever_made_it(cluster: Cluster) -> None:
    async with cluster.binder() as binder:
        volume = a_volume(persistentVolumeReclaimPolicy="Delete")
        volume["metadata"]["annotations"] = {Annotation.PROVISIONED_BY: "d.example.com"}
        await let_go(cluster, volume)
        assert await cluster.volume() == "Released ref=data+ BBC"
        assert await cluster.told() == []
        await cluster.delete(VOLUMES, "disk")
        assert await cluster.volume() == "gone"
        families = {metric.name: metric for metric in binder.metrics.collect()}
        counts = [
            (sample.labels["operation_name"], sample.value)
            for sample in families["volume_operation_total_seconds"].samples
            if sample.name.endswith("_count")
        ]
        assert counts == [("delete", 1)]


async def test_a_volume_that_was_made_here_is_not_gone_before_its_asset(
    cluster: Cluster,
) -> None:
    volume = left("Delete")
    volume["metadata"]["annotations"] = {Annotation.PROVISIONED_BY: FAKE}
    async with cluster.binder():
        await cluster.create(VOLUMES, volume)
        await cluster.create(CLAIMS, a_claim())
        await cluster.delete(VOLUMES, "disk")
        assert await cluster.volume() == "Bound ref=data+ BBC"
        assert cluster.plugin.deleted == []
        await cluster.delete(CLAIMS, "data")
        assert await cluster.volume() == "gone"
        assert cluster.plugin.deleted == ["disk"]


async def test_a_claim_restored_in_time_keeps_the_data(cluster: Cluster) -> None:
    """Released by mistake; before the deleter runs, an admin reserves it anew."""
    cluster.plugin.failures = [PluginError("not yet")]
    async with cluster.binder():
        await let_go(cluster, left("Delete"))
        await cluster.patch(VOLUMES, "disk", {"spec": {"claimRef": {"uid": None}}})
        cluster.plugin.deleted.clear()
        await cluster.passes(300)
        assert await cluster.volume() == "Available ref=data BBC"
        assert cluster.plugin.deleted == []


RECYCLED = {
    "we chose the claim": (None, "Available"),
    "a user reserved it": ({"namespace": "default", "name": "data"}, "Available ref=data"),
}


@pytest.mark.parametrize(("reference", "then"), RECYCLED.values(), ids=RECYCLED)
async def test_a_volume_to_be_recycled_is_offered_anew(
    cluster: Cluster, reference: Doc | None, then: str
) -> None:
    async with cluster.binder():
        await let_go(cluster, left("Recycle", claimRef=reference))
        assert await cluster.volume() == then
        assert await cluster.told() == [("Normal", "VolumeRecycled", "Volume recycled")]


async def test_a_failed_recycling_is_told_and_tried_again(cluster: Cluster) -> None:
    cluster.plugin.failures = [PluginError("on fire")]
    async with cluster.binder():
        await let_go(cluster, left("Recycle"))
        assert await cluster.volume() == "Failed ref=data+ BBC"
        why = "Recycle failed: on fire"
        assert await cluster.told() == [("Warning", "VolumeFailedRecycle", why)]
        await cluster.passes(0.6)
        assert await cluster.volume() == "Available"


async def test_a_volume_that_nobody_can_recycle_fails(cluster: Cluster) -> None:
    local = {"path": "/mnt/x"}
    affinity = {
        "required": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}
            ]
        }
    }
    volume = left("Recycle", hostPath=None, local=local, nodeAffinity=affinity)
    async with cluster.binder():
        answer = await cluster.api.post(VOLUMES, volume)
        assert answer.code == 201, answer.text
        await cluster.create(CLAIMS, a_claim())
        await cluster.delete(CLAIMS, "data")
        why = "No recycler plugin found for the volume!"
        assert await cluster.told() == [("Warning", "VolumeFailedRecycle", why)]


async def test_a_pod_that_still_uses_it_holds_up_recycling(cluster: Cluster) -> None:
    async with cluster.binder():
        await cluster.create(PODS, a_pod("web", claim="data"))  # without a node: claims may go
        await let_go(cluster, left("Recycle"))
        assert await cluster.volume() == "Released ref=data+ BBC"
        used = ("Normal", "VolumeFailedRecycle", "Volume is used by pods: default/web")
        assert await cluster.told() == [used]
        await cluster.patch(PODS, "web", {"status": {"phase": "Succeeded"}}, "/status")
        assert await cluster.volume() == "Available"


async def test_pods_of_a_newer_claim_do_not_hold_up_recycling(cluster: Cluster) -> None:
    cluster.plugin.failures = [PluginError("not yet")]
    async with cluster.binder():
        await let_go(cluster, left("Recycle"))
        await cluster.create(CLAIMS, a_claim(storage="100Gi"))
        await cluster.create(PODS, a_pod("web", claim="data"))
        await cluster.passes(0.6)
        assert await cluster.volume() == "Available"


async def test_a_recycler_pod_wipes_the_volume(cluster: Cluster) -> None:
    cluster.recycles_with_pods = True
    async with cluster.binder():
        await let_go(cluster, left("Recycle", capacity={"storage": "5Gi"}))
        pod = await cluster.find(PODS, RECYCLERS)
        assert pod is not None
        assert pod["spec"]["activeDeadlineSeconds"] == 150
        assert pod["spec"]["volumes"][0]["hostPath"]["path"] == HOST_PATH["path"]
        await cluster.patch(PODS, RECYCLERS, {"status": {"phase": "Succeeded"}}, "/status")
        assert await cluster.volume() == "Available"
        assert await cluster.told() == [("Normal", "VolumeRecycled", "Volume recycled")]


async def test_a_recycler_pod_that_fails_is_told_on_the_volume(cluster: Cluster) -> None:
    cluster.recycles_with_pods = True
    async with cluster.binder():
        await let_go(cluster, left("Recycle"))
        failed = {"status": {"phase": "Failed", "message": "disk on fire"}}
        await cluster.patch(PODS, RECYCLERS, failed, "/status")
        why = "Recycle failed: failed to recycle volume: disk on fire"
        assert await cluster.told() == [("Warning", "VolumeFailedRecycle", why)]


async def test_an_old_recycler_pod_is_deleted_first(cluster: Cluster) -> None:
    cluster.recycles_with_pods = True
    async with cluster.binder():
        await cluster.create(PODS, a_pod(RECYCLERS))
        await let_go(cluster, left("Recycle"))
        why = "Recycle failed: old recycler pod found, will retry later"
        assert await cluster.told() == [("Warning", "VolumeFailedRecycle", why)]
        await cluster.passes(1)
        pod = await cluster.find(PODS, RECYCLERS)
        assert pod is not None
        assert pod["spec"]["containers"][0]["name"] == "pv-recycler"


async def test_events_of_the_recycler_pod_are_shown_on_the_volume(cluster: Cluster) -> None:
    cluster.recycles_with_pods = True
    about = {"kind": "Pod", "namespace": "default", "name": RECYCLERS}
    event = {
        "kind": "Event",
        "apiVersion": "v1",
        "metadata": {"name": "e1"},
        "involvedObject": about,
        "type": "Warning",
        "reason": "Failed",
        "message": "no such image",
        "source": {"component": "kubelet"},
    }
    async with cluster.binder():
        await let_go(cluster, left("Recycle"))
        await cluster.create("/api/v1/namespaces/default/events", event)
        assert await cluster.told("RecyclerPod") == [
            ("Warning", "RecyclerPod", "Recycler pod: no such image")
        ]


KEPT: dict[str, Doc] = {
    "kept by its policy": {"spec": {"persistentVolumeReclaimPolicy": "Retain"}},
    "free": {"spec": {"claimRef": None}},
    "another claim's": {"spec": {"claimRef": {"name": "heir"}}},
}


@pytest.mark.parametrize("change", KEPT.values(), ids=KEPT)
@pytest.mark.parametrize("policy", ["Delete", "Recycle"])
async def test_a_volume_that_is_kept_by_the_time_it_is_looked_at_is_not_destroyed(
    cluster: Cluster, policy: str, change: Doc
) -> None:
    async with cluster.binder():
        cluster.gate.clear()
        await let_go(cluster, left(policy))
        heir = await cluster.create(CLAIMS, a_claim("heir", volumeName="disk"))
        if reference := change["spec"].get("claimRef"):
            reference["uid"] = heir["metadata"]["uid"]
        await cluster.api.patch(f"{VOLUMES}/disk", change)
        cluster.gate.set()
        await cluster.settle()
        assert cluster.plugin.deleted == []
        assert "VolumeRecycled" not in [reason for _, reason, _ in await cluster.told()]


async def test_a_claim_that_is_bound_to_what_was_made_for_it_is_held_no_longer(
    cluster: Cluster,
) -> None:
    """The sidecar that was to take its finalizer away may be gone for good."""
    may_exist = "provisioner.mooring.dev/volume-may-exist"
    record = "provisioner.mooring.dev/volume-request"
    claim = a_claim()
    claim["metadata"] |= {"finalizers": [may_exist], "annotations": {record: "{}"}}
    made = (await cluster.create(CLAIMS, claim))["metadata"]
    reference = {"namespace": "default", "name": "data", "uid": made["uid"]}
    async with cluster.binder():
        await cluster.create(VOLUMES, a_volume("other", claimRef=reference))
        assert (await cluster.claim()).startswith("Bound")
        found = await cluster.find(CLAIMS, "data")
        assert found is not None
        assert may_exist in found["metadata"]["finalizers"], "another volume may exist"
    await cluster.delete(VOLUMES, "other")
    claim["metadata"]["name"] = "more"
    made = (await cluster.create(CLAIMS, claim))["metadata"]
    reference |= {"name": "more", "uid": made["uid"]}
    async with cluster.binder():
        await cluster.create(VOLUMES, a_volume(f"pvc-{made['uid']}", claimRef=reference))
        found = await cluster.find(CLAIMS, "more")
        assert found is not None
        assert found["status"]["phase"] == "Bound"
        assert may_exist not in found["metadata"]["finalizers"]
        assert record not in found["metadata"]["annotations"]
