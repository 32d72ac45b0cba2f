"""The client kr8s (PyPI): synchronous and asynchronous, its own kinds and made-up ones."""

import gc
from collections.abc import Iterator
from typing import Any

import kr8s
import kr8s.asyncio
import pytest
from kr8s.asyncio.objects import ConfigMap as AsyncConfigMap
from kr8s.objects import (
    ConfigMap,
    Event,
    Namespace,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    Secret,
    ServiceAccount,
    new_class,
)

from mooring.model.kubernetes_version import NEWEST
from tests.clients.manifests import Doc, a_claim, a_config_map, a_snapshot, a_volume
from tests.fakes.real_server import RealServer

# kr8s leaves its connections to the garbage collector, and cannot be told otherwise. It warns of
# releases of Kubernetes that are newer than itself.
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore:Kubernetes version .* is not supported:UserWarning"
)

HOLD = "example.com/hold"
KNOWN = (
    *(Namespace, Node, PersistentVolume, PersistentVolumeClaim),
    *(ConfigMap, Secret, ServiceAccount, Pod, Event),
)
VolumeSnapshot = new_class(
    "VolumeSnapshot", "snapshot.storage.k8s.io/v1", namespaced=True, plural="volumesnapshots"
)


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """What a test leaves behind goes with it, not in the middle of another."""
    yield
    gc.collect()


@pytest.fixture
def api(server: RealServer, namespace: str) -> Any:
    return kr8s.api(kubeconfig=str(server.kubeconfig), namespace=namespace)


def in_namespace(doc: Doc, namespace: str) -> Doc:
    return doc | {"metadata": doc["metadata"] | {"namespace": namespace}}


def test_it_finds_its_way_about(api: Any) -> None:
    assert api.version()["gitVersion"].startswith(f"v{NEWEST}.")
    assert api.whoami() == "admin"
    kinds = {resource["kind"] for resource in api.api_resources()}
    assert {"PersistentVolume", "StorageClass", "VolumeSnapshot"} <= kinds


def test_every_kind_is_listed(api: Any, everything: dict[str, Doc]) -> None:
    for plural, doc in everything.items():
        found = [item.raw["metadata"]["uid"] for item in api.get(plural, namespace=kr8s.ALL)]
        assert doc["metadata"]["uid"] in found, plural
    for kind in KNOWN:
        assert list(kind.list(namespace=kr8s.ALL, api=api)), kind


def test_a_claim_from_creation_to_deletion(api: Any, namespace: str) -> None:
    claim = PersistentVolumeClaim(in_namespace(a_claim(), namespace), api=api)
    claim.create()
    assert claim.exists()
    assert claim.status.phase == "Pending"

    claim.label(team="a")
    claim.annotate({"example.com/note": "text"})
    claim.patch({"metadata": {"labels": {"tier": "slow"}}})
    claim.patch([{"op": "remove", "path": "/metadata/labels/team"}], type="json")
    assert dict(claim.labels) == {"tier": "slow"}
    claim.patch({"status": {"phase": "Bound"}}, subresource="status")
    claim.refresh()
    assert claim.status.phase == "Bound"
    claim.wait("jsonpath='{.status.phase}'=Bound", timeout=10)

    claim.patch({"metadata": {"finalizers": [HOLD]}})
    claim.delete()
    assert claim.exists()
    claim.patch({"metadata": {"finalizers": None}})
    claim.wait("delete", timeout=10)
    assert not claim.exists()


def test_a_volume_is_got_by_name_and_selectors(api: Any, unique: str) -> None:
    volume = PersistentVolume(a_volume(unique), api=api)
    volume.create()
    volume.label(unique=unique)

    assert PersistentVolume.get(unique, api=api).spec.csi.driver == "csi.example.com"
    found = api.get("persistentvolumes", label_selector={"unique": unique})
    assert [item.name for item in found] == [unique]
    found = api.get("pv", field_selector={"metadata.name": unique})
    assert [item.name for item in found] == [unique]
    with pytest.raises(kr8s.NotFoundError):
        _ = PersistentVolume.get(f"{unique}-ghost", api=api)


def test_a_custom_kind(api: Any, namespace: str) -> None:
    snapshot = VolumeSnapshot(in_namespace(a_snapshot("monday"), namespace), api=api)
    snapshot.create()
    snapshot.patch({"metadata": {"labels": {"a": "1"}}})

    assert [item.name for item in api.get("volumesnapshots")] == ["monday"]
    assert snapshot.labels["a"] == "1"
    snapshot.delete()
    assert not snapshot.exists()


def test_errors_carry_the_status(api: Any, namespace: str) -> None:
    claim = PersistentVolumeClaim(in_namespace(a_claim(accessModes=[]), namespace), api=api)

    with pytest.raises(kr8s.ServerError) as caught:
        claim.create()

    assert "at least 1 access mode is required" in str(caught.value)


async def test_a_watch_beside_other_work(server: RealServer, namespace: str) -> None:
    api: Any = await kr8s.asyncio.api(kubeconfig=str(server.kubeconfig), namespace=namespace)
    first = await AsyncConfigMap(in_namespace(a_config_map("first"), namespace), api=api)
    await first.create()

    seen = []
    async for event, item in api.watch("configmaps", namespace=namespace):
        seen.append((event, item.name))
        if item.name == "first" and event == "ADDED":
            second = await AsyncConfigMap(in_namespace(a_config_map("second"), namespace), api=api)
            await second.create()
        if item.name == "second" and event == "ADDED":
            await item.delete()
        if event == "DELETED":
            break

    assert ("ADDED", "first") in seen
    assert seen[-2:] == [("ADDED", "second"), ("DELETED", "second")]
