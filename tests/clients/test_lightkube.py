"""The client lightkube (PyPI): its models refuse what does not fit them."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import lightkube
import pytest
from lightkube.core.exceptions import ApiError, ConditionError
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.core_v1 import (
    ObjectReference,
    PersistentVolumeClaimSpec,
    VolumeResourceRequirements,
)
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources import (
    certificates_v1beta1,
    coordination_v1,
    core_v1,
    events_v1,
    storage_v1,
)
from lightkube.types import CascadeType, PatchType

from tests.clients.manifests import Doc, a_config_map, one_of_each
from tests.fakes.real_server import RealServer

HOLD = "example.com/hold"
KNOWN = (
    *(core_v1.Namespace, core_v1.Node, core_v1.PersistentVolume, core_v1.PersistentVolumeClaim),
    *(core_v1.ConfigMap, core_v1.Secret, core_v1.ServiceAccount, core_v1.Pod, core_v1.Event),
    *(storage_v1.StorageClass, storage_v1.CSIDriver, storage_v1.CSINode),
    *(storage_v1.VolumeAttachment, storage_v1.CSIStorageCapacity),
    *(storage_v1.VolumeAttributesClass, coordination_v1.Lease),
    certificates_v1beta1.ClusterTrustBundle,
)
Claim = core_v1.PersistentVolumeClaim
VolumeSnapshot = create_namespaced_resource(
    "snapshot.storage.k8s.io", "v1", "VolumeSnapshot", "volumesnapshots"
)


@pytest.fixture
def client(server: RealServer, namespace: str) -> Iterator[Any]:
    config = lightkube.KubeConfig.from_file(str(server.kubeconfig))
    connected = lightkube.Client(config, namespace=namespace, field_manager="test")
    yield connected
    connected._client._client.close()


def a_model(name: str = "data") -> Any:
    return Claim(
        metadata=ObjectMeta(name=name, labels={"team": "a"}),
        spec=PersistentVolumeClaimSpec(
            accessModes=["ReadWriteOnce"],
            storageClassName="",
            resources=VolumeResourceRequirements(requests={"storage": "1Gi"}),
        ),
    )


def test_every_kind_passes_the_models(client: Any, everything: dict[str, Doc]) -> None:
    by_kind = {doc["kind"]: doc["metadata"] for doc in everything.values()}
    for kind in KNOWN:
        wanted = by_kind[kind.__name__]
        where = {"namespace": wanted["namespace"]} if "namespace" in wanted else {}
        found = [item.metadata.uid for item in client.list(kind, **where)]
        assert wanted["uid"] in found, kind


def test_events_of_the_new_group(client: Any, namespace: str) -> None:
    """Those that say when they happened: the model refuses older ones, here as on Kubernetes."""
    happened = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)
    client.create(
        events_v1.Event(
            metadata=ObjectMeta(name="e1"),
            eventTime=happened,
            reportingController="example.com/test",
            reportingInstance="test-1",
            action="Testing",
            reason="Seen",
            type="Normal",
            regarding=ObjectReference(kind="Pod", name="web", namespace=namespace),
        )
    )

    assert [event.eventTime for event in client.list(events_v1.Event)] == [happened]


def test_a_claim_from_creation_to_deletion(client: Any) -> None:
    created = client.create(a_model())
    assert created.status.phase == "Pending"

    created.metadata.labels["team"] = "b"
    replaced = client.replace(created)
    assert replaced.metadata.labels == {"team": "b"}
    with pytest.raises(ApiError) as caught:
        client.replace(created)
    assert caught.value.status.reason == "Conflict"

    merged = client.patch(
        Claim, "data", {"metadata": {"labels": {"tier": "slow"}}}, patch_type=PatchType.MERGE
    )
    assert merged.metadata.labels == {"team": "b", "tier": "slow"}
    operations = [{"op": "remove", "path": "/metadata/labels/tier"}]
    patched = client.patch(Claim, "data", operations, patch_type=PatchType.JSON)
    assert patched.metadata.labels == {"team": "b"}
    strategic = {"metadata": {"finalizers": [HOLD]}}
    held = client.patch(Claim, "data", strategic, patch_type=PatchType.STRATEGIC)
    assert set(held.metadata.finalizers) == {HOLD, "kubernetes.io/pvc-protection"}

    client.delete(Claim, "data", cascade=CascadeType.BACKGROUND)
    assert client.get(Claim, "data").metadata.deletionTimestamp is not None
    client.patch(Claim, "data", {"metadata": {"finalizers": None}}, patch_type=PatchType.MERGE)
    with pytest.raises(ApiError) as caught:
        client.get(Claim, "data")
    assert caught.value.status.code == 404


def test_server_side_apply(client: Any) -> None:
    applied = client.apply(a_model())
    assert applied.metadata.managedFields[0].manager == "test"

    changed = a_model()
    changed.metadata.labels = {"tier": "slow"}
    assert client.apply(changed).metadata.labels == {"tier": "slow"}
    other = Claim(metadata=ObjectMeta(name="data", labels={"tier": "fast"}))
    with pytest.raises(ApiError) as caught:
        client.apply(other, field_manager="other")
    assert caught.value.status.reason == "Conflict"
    forced = client.apply(other, field_manager="other", force=True)
    assert forced.metadata.labels == {"tier": "fast"}


def test_lists_by_selectors(client: Any) -> None:
    for name in "abc":
        client.create(a_model(name))
    client.patch(Claim, "c", {"metadata": {"labels": {"team": "c"}}}, patch_type=PatchType.MERGE)

    def names(**wanted: Any) -> list[str]:
        return [item.metadata.name for item in client.list(Claim, **wanted)]

    assert names(labels={"team": "a"}) == ["a", "b"]
    assert names(labels={"team": ("a", "c")}) == ["a", "b", "c"]
    assert names(fields={"metadata.name": "b"}) == ["b"]
    assert names(chunk_size=2) == ["a", "b", "c"]


def test_a_watch_from_a_version(client: Any) -> None:
    first = client.create(core_v1.ConfigMap.from_dict(a_config_map("first")))
    client.create(core_v1.ConfigMap.from_dict(a_config_map("second")))
    client.delete(core_v1.ConfigMap, "second")

    seen = []
    for event, item in client.watch(
        core_v1.ConfigMap, resource_version=first.metadata.resourceVersion
    ):
        seen.append((event, item.metadata.name))
        if event == "DELETED":
            break

    assert seen == [("ADDED", "second"), ("DELETED", "second")]


def test_status_and_waiting(client: Any) -> None:
    pod = core_v1.Pod.from_dict(one_of_each("web")["pods"])
    client.create(pod)
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    client.patch(core_v1.Pod.Status, "web", ready, patch_type=PatchType.MERGE)

    waited = client.wait(core_v1.Pod, "web", for_conditions=["Ready"])
    assert waited.metadata.name == "web"
    with pytest.raises(ConditionError):
        client.wait(core_v1.Pod, "web", for_conditions=["Never"], raise_for_conditions=["Ready"])


def test_a_custom_kind(client: Any) -> None:
    wanted = VolumeSnapshot(
        metadata=ObjectMeta(name="monday"), spec={"source": {"persistentVolumeClaimName": "data"}}
    )
    assert client.create(wanted).metadata.generation == 1
    ready = {"status": {"readyToUse": True}}
    client.patch(VolumeSnapshot.Status, "monday", ready, patch_type=PatchType.MERGE)
    assert client.get(VolumeSnapshot, "monday").status == {"readyToUse": True}
    assert len(list(client.list(VolumeSnapshot))) == 1
    client.delete(VolumeSnapshot, "monday")
    assert list(client.list(VolumeSnapshot)) == []


def test_a_collection_is_deleted_at_once(client: Any) -> None:
    for name in "ab":
        client.create(core_v1.ConfigMap.from_dict(a_config_map(name)))

    client.deletecollection(core_v1.ConfigMap)

    assert [m.metadata.name for m in client.list(core_v1.ConfigMap)] in ([], ["kube-root-ca.crt"])
