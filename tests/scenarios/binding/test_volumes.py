"""Volumes and the claims they name: finished, taken apart, released, kept."""

from typing import Any

from mooring.model.wellknown import Annotation, Finalizer
from tests.fakes.lagging import reflector_of
from tests.fakes.objects import CLAIMS, CLASSES, VOLUMES, Doc, a_claim, a_class, a_volume
from tests.scenarios.binding.cluster import FAKE, Cluster

HOST_PATH = {"path": "/tmp/disk"}  # noqa: S108 - a name in a document
BBC = {Annotation.BOUND_BY_CONTROLLER: "yes"}
OURS, THEIRS = Finalizer.IN_TREE_PROVISIONER, Finalizer.EXTERNAL_PROVISIONER
MINE = "example.com/mine"


def reference_to(claim: Doc) -> Doc:
    uid = claim["metadata"]["uid"]
    return {"namespace": "default", "name": claim["metadata"]["name"], "uid": uid}


def a_disk(name: str = "disk", annotations: Doc | None = None, **spec: Any) -> Doc:
    doc = a_volume(name, csi=None, hostPath=HOST_PATH, **spec)
    doc["metadata"]["annotations"] = annotations or {}
    return doc


async def phase(cluster: Cluster, name: str, phase: str) -> None:
    """Somebody, perhaps an earlier binder, wrote this."""
    await cluster.patch(VOLUMES, name, {"status": {"phase": phase}}, "/status")


async def test_released_and_its_claim_taken_away_it_is_offered_anew(cluster: Cluster) -> None:
    await cluster.create(VOLUMES, a_disk())
    await phase(cluster, "disk", "Released")
    async with cluster.binder():
        assert await cluster.volume() == "Available"


async def test_bound_and_the_uid_taken_away_it_is_reserved(cluster: Cluster) -> None:
    await cluster.create(VOLUMES, a_disk(claimRef={"namespace": "default", "name": "data"}))
    await phase(cluster, "disk", "Bound")
    async with cluster.binder():
        assert await cluster.volume() == "Available ref=data"


async def test_a_newer_claim_of_the_name_is_not_its_claim(cluster: Cluster) -> None:
    newer = await cluster.create(CLAIMS, a_claim())
    await cluster.create(VOLUMES, a_disk(claimRef=reference_to(newer) | {"uid": "older"}))
    await phase(cluster, "disk", "Bound")
    async with cluster.binder():
        await cluster.passes(60)
        assert await cluster.volume() == "Released ref=data+"
        assert await cluster.claim() == "Pending"
        assert await cluster.told("ClaimLost", "ClaimMisbound") == []


async def test_a_claim_that_has_yet_to_point_back_is_woken(cluster: Cluster) -> None:
    """The claim came first and waits; the volume is reserved for it by somebody else."""
    async with cluster.binder():
        claim = await cluster.create(CLAIMS, a_claim())
        await cluster.create(VOLUMES, a_disk(claimRef=reference_to(claim)))
        assert await cluster.claim() == "Bound disk 5Gi"


async def test_a_volume_to_be_deleted_whose_claim_points_back_is_only_bound(
    cluster: Cluster,
) -> None:
    claim = await cluster.create(CLAIMS, a_claim(volumeName="disk"))
    volume = a_disk(claimRef=reference_to(claim), persistentVolumeReclaimPolicy="Delete")
    await cluster.create(VOLUMES, volume)
    await phase(cluster, "disk", "Available")
    async with cluster.binder():
        await cluster.passes(60)
        assert await cluster.volume() == "Bound ref=data+"
        assert cluster.plugin.deleted == []


async def test_a_volume_that_we_chose_for_a_claim_with_another_is_free(cluster: Cluster) -> None:
    async with cluster.binder():
        await cluster.create(VOLUMES, a_disk("other"))
        claim = await cluster.create(CLAIMS, a_claim())
        await cluster.create(VOLUMES, a_disk(claimRef=reference_to(claim), annotations=BBC))
        assert await cluster.volume() == "Available"
        assert await cluster.claim() == "Bound other 5Gi"


async def test_a_volume_that_a_user_reserved_for_a_claim_with_another_stays_reserved(
    cluster: Cluster,
) -> None:
    async with cluster.binder():
        await cluster.create(VOLUMES, a_disk("other"))
        claim = await cluster.create(CLAIMS, a_claim())
        await cluster.create(VOLUMES, a_disk(claimRef=reference_to(claim)))
        assert await cluster.volume() == "Available ref=data"
        assert await cluster.claim() == "Bound other 5Gi"


async def test_a_volume_of_a_claim_that_the_cache_takes_for_an_older_one_is_bound(
    cluster: Cluster,
) -> None:
    async with cluster.binder() as binder:
        await cluster.create(CLAIMS, a_claim(storage="900Gi"))
        claims = reflector_of(binder._caches.claims)
        claims.absorb = lambda change: None  # type: ignore[method-assign] # a watch that lags
        await cluster.patch(CLAIMS, "data", {"metadata": {"finalizers": None}})
        await cluster.delete(CLAIMS, "data")
        newer = await cluster.create(CLAIMS, a_claim(volumeName="disk"))
        volume = a_disk(claimRef=reference_to(newer), persistentVolumeReclaimPolicy="Delete")
        await cluster.create(VOLUMES, volume)
        await cluster.passes(1)
        assert await cluster.volume() == "Bound ref=data+"
        assert cluster.plugin.deleted == []


async def test_of_two_volumes_that_a_plugin_made_the_second_is_deleted(cluster: Cluster) -> None:
    async with cluster.binder():
        await cluster.create(VOLUMES, a_disk("first"))
        claim = await cluster.create(CLAIMS, a_claim())
        second = a_disk(
            "second",
            annotations=BBC | {Annotation.PROVISIONED_BY: FAKE},
            claimRef=reference_to(claim),
            persistentVolumeReclaimPolicy="Delete",
        )
        await cluster.create(VOLUMES, second)
        assert await cluster.volume("second") == "gone"
        assert cluster.plugin.deleted == ["second"]
        assert await cluster.claim() == "Bound first 5Gi"


async def about_to_be_deleted(cluster: Cluster) -> None:
    """Its claim is gone, and the operation has begun by asking for the volume."""
    await cluster.create(VOLUMES, a_disk(persistentVolumeReclaimPolicy="Delete"))
    await cluster.create(CLAIMS, a_claim())
    cluster.gate.clear()
    await cluster.delete(CLAIMS, "data")
    assert await cluster.volume() == "Released ref=data+ BBC"


async def test_a_volume_removed_before_the_operation_looks_is_left_alone(
    cluster: Cluster,
) -> None:
    async with cluster.binder():
        await about_to_be_deleted(cluster)
        await cluster.delete(VOLUMES, "disk")
        assert await cluster.volume() == "gone"
        cluster.gate.set()
        await cluster.passes(300)
        assert cluster.plugin.deleted == []
        assert await cluster.told() == []


async def test_a_volume_given_to_another_claim_before_the_operation_looks_is_left_alone(
    cluster: Cluster,
) -> None:
    async with cluster.binder():
        await about_to_be_deleted(cluster)
        claim = await cluster.create(CLAIMS, a_claim())
        await cluster.patch(VOLUMES, "disk", {"spec": {"claimRef": reference_to(claim)}})
        cluster.gate.set()
        await cluster.passes(300)
        assert cluster.plugin.deleted == []
        assert await cluster.claim() == "Bound disk 5Gi"
        assert await cluster.told("VolumeFailedDelete", "VolumeDelete") == []


async def test_a_volume_that_an_earlier_life_made_is_not_made_again(cluster: Cluster) -> None:
    claim = await cluster.create(CLAIMS, a_claim(storageClassName="fast"))
    name = f"pvc-{claim['metadata']['uid']}"
    made = a_disk(name, annotations=BBC | {Annotation.PROVISIONED_BY: FAKE}, storage="1Mi")
    await cluster.create(VOLUMES, made)  # too small to be bound: the claim goes on asking
    await cluster.create(CLASSES, a_class() | {"provisioner": FAKE})
    async with cluster.binder():
        await cluster.passes(300)
        assert cluster.plugin.provisioned == []
        assert await cluster.told() == []
        assert await cluster.claim() == "Pending"


async def test_finalizers_follow_the_policy_and_others_stay(cluster: Cluster) -> None:
    made = a_disk(
        annotations={Annotation.PROVISIONED_BY: FAKE}, persistentVolumeReclaimPolicy="Delete"
    )
    made["metadata"]["finalizers"] = [MINE, THEIRS]
    async with cluster.binder():
        await cluster.create(VOLUMES, made)
        await cluster.passes(1)
        assert await finalizers(cluster) == [MINE, Finalizer.VOLUME_PROTECTION, OURS]
        retain = {"spec": {"persistentVolumeReclaimPolicy": "Retain"}}
        await cluster.patch(VOLUMES, "disk", retain)
        assert await finalizers(cluster) == [MINE, Finalizer.VOLUME_PROTECTION]


async def finalizers(cluster: Cluster) -> list[str]:
    doc = await cluster.find(VOLUMES, "disk")
    assert doc is not None
    return list(doc["metadata"].get("finalizers", []))
