"""What drivers are given beside a wish: secrets and sources."""

import base64
import logging
from typing import Any

import pytest

from mooring.csi.outcome import Code
from mooring.csi.requests import CreateVolume
from mooring.csi.volume import FromSnapshot, FromVolume
from tests.fakes.objects import (
    CLAIMS,
    SNAPSHOT_CONTENTS,
    SNAPSHOTS,
    VOLUMES,
    a_snapshot,
    a_snapshot_content,
)
from tests.scenarios.sidecars.cluster import Cluster
from tests.scenarios.sidecars.driver import After, Fails, Makes

PREFIX = "csi.storage.k8s.io"
CLONED = "provisioner.storage.kubernetes.io/cloning-protection"
RESTORED = "provisioner.storage.kubernetes.io/volumesnapshot-as-source-protection"
HUSH = "hush-hush-4711"


def named(kind: str, name: str, namespace: str = "default") -> dict[str, str]:
    return {f"{PREFIX}/{kind}-name": name, f"{PREFIX}/{kind}-namespace": namespace}


async def test_secrets_of_every_use_are_found_from_templates(cluster: Cluster) -> None:
    await cluster.secret("key-of-data")
    parameters = {
        **named("provisioner-secret", "key-of-${pvc.name}", "${pvc.namespace}"),
        **named("node-stage-secret", "${pvc.annotations['team']}"),
        **named("controller-modify-secret", "m"),
        **named("secret", "fallback"),
        "plain": "yes",
    }
    await cluster.storage_class(parameters=parameters)
    claim: dict[str, Any] = {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "metadata": {"name": "data", "annotations": {"team": "blue"}},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "fast",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    async with cluster.provisioner():
        await cluster.create(CLAIMS, claim)
    (request,) = cluster.driver.requests
    assert isinstance(request, CreateVolume)
    assert request.parameters == {"plain": "yes"}
    assert request.secrets.reveal() == {"password": "hush"}
    volume = await cluster.volume_of()
    csi = volume["spec"]["csi"]
    assert csi["nodeStageSecretRef"] == {"name": "blue", "namespace": "default"}
    for field in ("controllerPublish", "nodePublish", "controllerExpand", "nodeExpand"):
        assert csi[f"{field}SecretRef"] == {"name": "fallback", "namespace": "default"}
    annotations = volume["metadata"]["annotations"]
    where = "volume.kubernetes.io/provisioner-deletion-secret"
    assert annotations[f"{where}-name"] == "key-of-data"
    assert annotations[f"{where}-namespace"] == "default"
    assert annotations["volume.kubernetes.io/controller-modify-secret-name"] == "m"


async def test_an_unknown_token_is_told_without_a_call(cluster: Cluster) -> None:
    await cluster.storage_class(parameters=named("provisioner-secret", "${pvc.uid}"))
    async with cluster.provisioner():
        await cluster.claim()
    assert not cluster.driver.calls
    assert await cluster.told("ProvisioningFailed") == [
        'error resolving value "${pvc.uid}": invalid tokens: ["pvc.uid"]'
    ]


async def test_a_secret_that_comes_later_is_found(cluster: Cluster) -> None:
    await cluster.storage_class(parameters=named("provisioner-secret", "key"))
    async with cluster.provisioner():
        await cluster.claim()
        assert await cluster.told("ProvisioningFailed") == [
            'error getting secret key in namespace default: secrets "key" not found'
        ]
        await cluster.secret()
        await cluster.passes(1)
    assert cluster.driver.count("create") == 1
    assert await cluster.phase() == "Bound"


async def test_no_secret_shows_anywhere(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    """The mask in driver errors is the connection's work (unit tests of csi.channel)."""
    caplog.set_level(logging.DEBUG)
    await cluster.secret(value=base64.b64encode(HUSH.encode()).decode())
    await cluster.storage_class(parameters=named("secret", "key"))
    cluster.driver.next("create", Fails(Code.INTERNAL))
    async with cluster.provisioner():
        await cluster.claim()
        await cluster.passes(1)
        assert await cluster.phase() == "Bound"
        await cluster.delete(f"{CLAIMS}/data")
    assert [secrets.reveal() for secrets in cluster.driver.secrets] == [{"password": HUSH}] * 3
    shown = (await cluster.api.get("/api/v1/events")).text + caplog.text
    shown += repr(cluster.driver.requests)
    assert "default/data" in shown
    assert HUSH not in shown


# ---- sources ----


async def restoring(cluster: Cluster, *, ready: bool = True, size: str = "1Gi") -> None:
    """A snapshot and its content, bound to each other."""
    snapshot = await cluster.create(SNAPSHOTS, a_snapshot())
    content = a_snapshot_content()
    content["spec"]["volumeSnapshotRef"]["uid"] = snapshot["metadata"]["uid"]
    await cluster.create(SNAPSHOT_CONTENTS, content)
    handle = {"snapshotHandle": "s-1", "readyToUse": True}
    await cluster.patch(f"{SNAPSHOT_CONTENTS}/content/status", {"status": handle})
    bound = {"boundVolumeSnapshotContentName": "content", "readyToUse": ready, "restoreSize": size}
    await cluster.patch(f"{SNAPSHOTS}/snap/status", {"status": bound})


FROM_SNAPSHOT: dict[str, Any] = {
    "dataSource": {
        "apiGroup": "snapshot.storage.k8s.io",
        "kind": "VolumeSnapshot",
        "name": "snap",
    }
}


async def test_a_snapshot_is_waited_for(cluster: Cluster) -> None:
    await cluster.storage_class()
    await restoring(cluster, ready=False)
    async with cluster.provisioner():
        await cluster.claim(**FROM_SNAPSHOT)
        assert not cluster.driver.calls
        assert await cluster.told("ProvisioningFailed") == [
            "error getting handle for DataSource Type VolumeSnapshot by Name snap:"
            " snapshot snap is not Ready"
        ]
        await cluster.patch(f"{SNAPSHOTS}/snap/status", {"status": {"readyToUse": True}})
        await cluster.passes(1)
    (request,) = cluster.driver.requests
    assert isinstance(request, CreateVolume)
    assert request.source == FromSnapshot("s-1")
    assert await cluster.phase() == "Bound"
    assert RESTORED not in await cluster.finalizers(f"{SNAPSHOTS}/snap")


async def test_a_snapshot_is_held_while_it_is_restored(cluster: Cluster) -> None:
    await cluster.storage_class()
    await restoring(cluster)
    cluster.driver.next("create", Fails(Code.DEADLINE_EXCEEDED))
    async with cluster.provisioner():
        await cluster.claim(**FROM_SNAPSHOT)
        assert RESTORED in await cluster.finalizers(f"{SNAPSHOTS}/snap")
        await cluster.delete(f"{SNAPSHOTS}/snap")
        await cluster.passes(1)
    assert await cluster.phase() == "Bound"
    assert await cluster.find(f"{SNAPSHOTS}/snap") is None


async def test_a_crash_leaves_no_snapshot_held_for_ever(cluster: Cluster) -> None:
    await cluster.storage_class()
    await restoring(cluster)
    cluster.driver.next("create", After(Fails(Code.DEADLINE_EXCEEDED)))
    async with cluster.provisioner():
        await cluster.claim(**FROM_SNAPSHOT)
    await cluster.delete(f"{CLAIMS}/data")
    async with cluster.provisioner():
        await cluster.settle()
    assert await cluster.phase() == "gone"
    assert RESTORED not in await cluster.finalizers(f"{SNAPSHOTS}/snap")
    assert not cluster.driver.volumes


async def test_a_claim_smaller_than_its_snapshot_is_refused(cluster: Cluster) -> None:
    await cluster.storage_class()
    await restoring(cluster, size="2Gi")
    async with cluster.provisioner():
        await cluster.claim(**FROM_SNAPSHOT)
    assert not cluster.driver.calls
    assert (await cluster.told("ProvisioningFailed"))[0].endswith(
        "requested volume size 1073741824 is less than the size 2147483648"
        " for the source snapshot snap"
    )


CLONE: dict[str, Any] = {"dataSource": {"kind": "PersistentVolumeClaim", "name": "origin"}}


async def test_a_claim_is_held_while_it_is_cloned(cluster: Cluster) -> None:
    await cluster.storage_class()
    async with cluster.provisioner():
        await cluster.claim("origin")
        handle = (await cluster.volume_of("origin"))["spec"]["csi"]["volumeHandle"]
        cluster.driver.next("create", Fails(Code.DEADLINE_EXCEEDED))
        await cluster.claim(**CLONE)
        assert CLONED in await cluster.finalizers(f"{CLAIMS}/origin")
        await cluster.delete(f"{CLAIMS}/origin")
        assert await cluster.phase("origin") == "Bound", "still there"
        await cluster.patch(f"{CLAIMS}/origin", {"metadata": {"labels": {"a": "b"}}})
        assert CLONED in await cluster.finalizers(f"{CLAIMS}/origin")
    request = cluster.driver.requests[-1]
    assert isinstance(request, CreateVolume)
    assert request.source == FromVolume(handle)


async def test_a_cloned_claim_is_let_go_when_the_clone_is_bound(cluster: Cluster) -> None:
    await cluster.storage_class()
    async with cluster.provisioner():
        await cluster.claim("origin")
        await cluster.claim(**CLONE)
        assert await cluster.phase() == "Bound"
        await cluster.delete(f"{CLAIMS}/origin")
    assert await cluster.phase("origin") == "gone"


async def test_a_clone_waits_until_its_source_is_bound(cluster: Cluster) -> None:
    await cluster.storage_class()
    cluster.driver.next("create", Fails(Code.ABORTED))
    async with cluster.provisioner():
        await cluster.claim("origin")
        await cluster.claim(**CLONE)
        assert cluster.driver.count("create") == 1
        await cluster.passes(1)
    assert await cluster.phase() == "Bound"


async def test_a_clone_without_its_content_is_deleted(cluster: Cluster) -> None:
    await cluster.storage_class()
    async with cluster.provisioner():
        await cluster.claim("origin")
        cluster.driver.next("create", Makes({"source": None}))
        await cluster.claim(**CLONE)
        assert await cluster.told("ProvisioningFailed") == ["volume content source missing"]
        assert len(cluster.driver.volumes) == 1
        await cluster.passes(1)
    assert await cluster.phase() == "Bound"


async def test_a_populators_claim_is_left_to_it(cluster: Cluster) -> None:
    await cluster.storage_class()
    source = {"apiGroup": "populate.example.com", "kind": "Recipe", "name": "r"}
    async with cluster.provisioner():
        await cluster.claim(dataSourceRef=source)
    assert not cluster.driver.calls
    assert "Assuming an external populator will provision the volume" in await cluster.told()
    assert not (await cluster.api.get(VOLUMES)).doc["items"]
