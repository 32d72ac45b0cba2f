"""Claims that are filled from snapshots and claims of other namespaces, where a grant allows it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from mooring.apiserver.auth.pki import Pki
from mooring.csi.requests import CreateVolume
from mooring.csi.volume import FromSnapshot, FromVolume
from mooring.model.feature_gates import FeatureGates
from mooring.model.wellknown import Annotation, Finalizer
from mooring.sidecars.provisioner.options import AS_UPSTREAM
from mooring.sidecars.provisioner.record import VolumeRequest, encode
from tests.fakes.api import running_api
from tests.fakes.objects import (
    CLAIMS,
    GRANTS,
    SNAPSHOT_CONTENTS,
    SNAPSHOTS,
    a_claim,
    a_grant,
    a_snapshot,
    a_snapshot_content,
)
from tests.scenarios.sidecars.cluster import Cluster

NAMESPACES = "/api/v1/namespaces"
PROD = {
    path: path.replace("/namespaces/default/", "/namespaces/prod/")
    for path in (CLAIMS, GRANTS, SNAPSHOTS)
}
SNAPSHOT_REF: dict[str, Any] = {
    "dataSourceRef": {
        "apiGroup": "snapshot.storage.k8s.io",
        "kind": "VolumeSnapshot",
        "name": "snap",
        "namespace": "prod",
    }
}
CLAIM_REF: dict[str, Any] = {
    "dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "origin", "namespace": "prod"}
}
REFUSED = "accessing prod/snap of VolumeSnapshot dataSource from default/data isn't allowed"
RESTORED = "provisioner.storage.kubernetes.io/volumesnapshot-as-source-protection"


@pytest.fixture
async def cluster(pki: Pki, tmp_path: Path) -> AsyncIterator[Cluster]:
    async with running_api(pki, tmp_path, FeatureGates(cross_namespace=True)) as api:
        made = Cluster(api)
        made.options = replace(AS_UPSTREAM, cross_namespace=True)
        async with made.neighbours():
            await made.create(NAMESPACES, {"metadata": {"name": "prod"}})
            await made.storage_class()
            yield made


async def a_snapshot_elsewhere(cluster: Cluster) -> None:
    snapshot = await cluster.create(PROD[SNAPSHOTS], a_snapshot())
    content = a_snapshot_content()
    content["spec"]["driver"] = cluster.driver.driver.name
    content["spec"]["volumeSnapshotRef"] = {
        "name": "snap",
        "namespace": "prod",
        "uid": snapshot["metadata"]["uid"],
    }
    await cluster.create(SNAPSHOT_CONTENTS, content)
    handle = {"status": {"snapshotHandle": "s-1", "readyToUse": True}}
    await cluster.patch(f"{SNAPSHOT_CONTENTS}/{content['metadata']['name']}/status", handle)
    status = {"boundVolumeSnapshotContentName": content["metadata"]["name"], "readyToUse": True}
    await cluster.patch(f"{PROD[SNAPSHOTS]}/snap/status", {"status": status})


def grant(namespace: str = "default", **to: str) -> dict[str, Any]:
    return a_grant("share", namespace, to)


async def test_a_snapshot_is_restored_as_soon_as_it_is_granted(cluster: Cluster) -> None:
    await a_snapshot_elsewhere(cluster)
    async with cluster.provisioner():
        made = await cluster.claim(**SNAPSHOT_REF)
        assert "dataSource" not in made["spec"]
        assert not cluster.driver.calls
        assert await cluster.told("ProvisioningFailed") == [REFUSED]
        await cluster.create(PROD[GRANTS], grant())
        await cluster.settle()  # no time passes: the grant itself wakes the claim
        assert await cluster.phase() == "Bound"
    (request,) = cluster.driver.requests
    assert isinstance(request, CreateVolume)
    assert request.source == FromSnapshot("s-1")
    assert RESTORED not in await cluster.finalizers(f"{PROD[SNAPSHOTS]}/snap")


async def test_a_claim_is_cloned_into_another_namespace(cluster: Cluster) -> None:
    async with cluster.provisioner():
        await cluster.create(PROD[CLAIMS], a_claim("origin", storageClassName="fast"))
        await cluster.create(PROD[GRANTS], grant(group="", kind="PersistentVolumeClaim"))
        await cluster.claim(**CLAIM_REF)
        assert await cluster.phase() == "Bound"
        origin, clone = cluster.driver.requests
        assert isinstance(clone, CreateVolume)
        assert isinstance(clone.source, FromVolume)
        assert origin != clone
        await cluster.delete(f"{PROD[CLAIMS]}/origin")
    assert await cluster.find(f"{PROD[CLAIMS]}/origin") is None


USELESS = {
    "for another namespace": grant("dev"),
    "for another snapshot": grant(name="other"),
    "for another kind": grant(group="", kind="PersistentVolumeClaim"),
}


@pytest.mark.parametrize("useless", USELESS.values(), ids=USELESS)
async def test_a_grant_for_something_else_does_not_help(
    cluster: Cluster, useless: dict[str, Any]
) -> None:
    await a_snapshot_elsewhere(cluster)
    await cluster.create(PROD[GRANTS], useless)
    async with cluster.provisioner():
        await cluster.claim(**SNAPSHOT_REF)
    assert not cluster.driver.calls
    assert await cluster.told("ProvisioningFailed") == [REFUSED]


async def test_a_grant_in_the_namespace_of_the_claim_does_not_help(cluster: Cluster) -> None:
    await a_snapshot_elsewhere(cluster)
    await cluster.create(GRANTS, grant())
    async with cluster.provisioner():
        await cluster.claim(**SNAPSHOT_REF)
    assert not cluster.driver.calls


async def test_a_grant_for_a_kind_of_the_same_name_in_another_group_does_not_help(
    cluster: Cluster,
) -> None:
    other = {"group": "other.example.com", "kind": "PersistentVolumeClaim"}
    await cluster.create(PROD[GRANTS], grant(**other))
    async with cluster.provisioner():
        await cluster.create(PROD[CLAIMS], a_claim("origin", storageClassName="fast"))
        reference = CLAIM_REF["dataSourceRef"] | {"apiGroup": other["group"]}
        await cluster.claim(dataSourceRef=reference)
        assert await cluster.phase() == "Pending"
    assert len(cluster.driver.requests) == 1  # of the origin


async def test_a_claim_that_was_not_granted_holds_no_source(cluster: Cluster) -> None:
    async with cluster.provisioner():
        await cluster.create(PROD[CLAIMS], a_claim("origin", storageClassName="fast"))
        await cluster.claim(**CLAIM_REF)
        assert await cluster.phase() == "Pending"
        await cluster.delete(f"{PROD[CLAIMS]}/origin")
    assert await cluster.find(f"{PROD[CLAIMS]}/origin") is None


async def test_a_provisioner_without_the_gate_says_so(cluster: Cluster) -> None:
    cluster.options = AS_UPSTREAM
    await a_snapshot_elsewhere(cluster)
    await cluster.create(PROD[GRANTS], grant())
    async with cluster.provisioner() as client:
        await cluster.claim(**SNAPSHOT_REF)
        assert "ReferenceGrant" not in client.watched
    assert await cluster.told("ProvisioningFailed") == [
        "dataSourceRef namespace specified but the CrossNamespaceVolumeDataSource feature"
        " is disabled"
    ]


async def test_a_server_without_the_gate_drops_the_reference(pki: Pki, tmp_path: Path) -> None:
    async with running_api(pki, tmp_path) as api:
        made = await api.post(CLAIMS, a_claim("data", **SNAPSHOT_REF))
        assert made.code == 201
        assert "dataSourceRef" not in made.doc["spec"]


def forged(cluster: Cluster, **spec: Any) -> dict[str, Any]:
    """A claim whose owner says that the driver was asked for its volume already."""
    claim = a_claim("data", storageClassName="fast", **spec)
    claim["metadata"]["finalizers"] = [Finalizer.VOLUME_MAY_EXIST]
    record = encode(VolumeRequest(cluster.driver.driver.name))
    claim["metadata"]["annotations"] = {Annotation.VOLUME_REQUEST: record}
    return claim


@pytest.mark.parametrize("reference", [SNAPSHOT_REF, CLAIM_REF], ids=["snapshot", "claim"])
async def test_a_forged_record_copies_nothing_that_was_not_granted(
    cluster: Cluster, reference: dict[str, Any]
) -> None:
    await a_snapshot_elsewhere(cluster)
    async with cluster.provisioner():
        await cluster.create(PROD[CLAIMS], a_claim("origin", storageClassName="fast"))
        await cluster.create(CLAIMS, forged(cluster, **reference))
        await cluster.delete(f"{CLAIMS}/data")
        await cluster.settle()
    requests = [one for one in cluster.driver.requests if isinstance(one, CreateVolume)]
    assert [one.source for one in requests if one.source is not None] == []
    assert await cluster.find(f"{CLAIMS}/data") is None


async def test_a_forged_record_does_not_hold_a_source_that_was_not_granted(
    cluster: Cluster,
) -> None:
    async with cluster.provisioner():
        await cluster.create(PROD[CLAIMS], a_claim("origin", storageClassName="fast"))
        clone = a_claim("own", storageClassName="fast", **CLAIM_REF)
        await cluster.create(PROD[CLAIMS], clone)  # so it was a source once
        await cluster.create(CLAIMS, forged(cluster, **CLAIM_REF))
        await cluster.delete(f"{PROD[CLAIMS]}/origin")
        await cluster.settle()
    assert await cluster.find(f"{PROD[CLAIMS]}/origin") is None
