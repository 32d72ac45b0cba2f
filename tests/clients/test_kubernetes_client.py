"""The official Python client (PyPI: kubernetes): typed, custom objects, and dynamic."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import kubernetes
import pytest
from kubernetes.client.exceptions import ApiException

from tests.clients.manifests import (
    Doc,
    a_claim,
    a_config_map,
    a_snapshot,
    a_volume,
    one_of_each,
)
from tests.fakes.real_server import RealServer

kube: Any = kubernetes.client  # its hints ask for models where it takes documents as well
config: Any = kubernetes.config
dynamic: Any = kubernetes.dynamic
watch: Any = kubernetes.watch

HOLD = "example.com/hold"
SECONDS = 20


@pytest.fixture
def api(server: RealServer) -> Iterator[Any]:
    settings = kube.Configuration()
    config.load_kube_config(str(server.kubeconfig), client_configuration=settings)
    with kube.ApiClient(settings) as connected:
        yield connected
        connected.rest_client.pool_manager.clear()


@pytest.fixture
def core(api: Any) -> Any:
    return kube.CoreV1Api(api)


@pytest.fixture
def custom(api: Any) -> Any:
    return kube.CustomObjectsApi(api)


SNAPSHOTS = ("snapshot.storage.k8s.io", "v1")
LISTS = {
    "core": (
        kube.CoreV1Api,
        (
            "namespace",
            "node",
            "persistent_volume",
            "persistent_volume_claim_for_all_namespaces",
            "config_map_for_all_namespaces",
            "secret_for_all_namespaces",
            "service_account_for_all_namespaces",
            "pod_for_all_namespaces",
            "event_for_all_namespaces",
        ),
    ),
    "storage": (
        kube.StorageV1Api,
        (
            "storage_class",
            "csi_driver",
            "csi_node",
            "volume_attachment",
            "csi_storage_capacity_for_all_namespaces",
            "volume_attributes_class",
        ),
    ),
    "coordination": (kube.CoordinationV1Api, ("lease_for_all_namespaces",)),
}


def test_events_of_the_new_group(api: Any, namespace: str) -> None:
    """Those that say when they happened: the model refuses older ones, here as on Kubernetes."""
    events = kube.EventsV1Api(api)
    about = kube.V1ObjectReference(kind="Pod", name="web", namespace=namespace, api_version="v1")
    created = events.create_namespaced_event(
        namespace,
        kube.EventsV1Event(
            metadata=kube.V1ObjectMeta(name="e1"),
            event_time=datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC),
            reporting_controller="example.com/test",
            reporting_instance="test-1",
            action="Testing",
            reason="Seen",
            type="Normal",
            note="by a test",
            regarding=about,
        ),
    )
    assert created.event_time == datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)
    found = events.list_namespaced_event(namespace, field_selector="regarding.name=web")
    assert [item.note for item in found.items] == ["by a test"]


@pytest.mark.parametrize(("group", "kinds"), LISTS.values(), ids=LISTS)
def test_every_kind_passes_the_models(
    api: Any, everything: dict[str, Doc], group: Any, kinds: tuple[str, ...]
) -> None:
    assert everything
    for kind in kinds:
        found = getattr(group(api), f"list_{kind}")(_request_timeout=SECONDS)
        assert found.items, kind
        assert found.metadata.resource_version.isdecimal()


def test_custom_kinds_are_listed(custom: Any, everything: dict[str, Doc]) -> None:
    for plural, doc in everything.items():
        group, _, version = doc["apiVersion"].partition("/")
        if "snapshot" in plural:
            found = custom.list_cluster_custom_object(group, version, plural)
            assert doc in found["items"]


def test_discovery(api: Any) -> None:
    assert kube.VersionApi(api).get_code().git_version.startswith("v1.37.")
    groups = [group.name for group in kube.ApisApi(api).get_api_versions().groups]
    assert "storage.k8s.io" in groups
    resources = kube.CoreV1Api(api).get_api_resources().resources
    assert "persistentvolumeclaims" in [resource.name for resource in resources]
    assert kube.CoreApi(api).get_api_versions().versions == ["v1"]


def test_a_claim_from_models_to_deletion(core: Any, namespace: str) -> None:
    wanted = kube.V1PersistentVolumeClaim(
        metadata=kube.V1ObjectMeta(name="data", finalizers=[HOLD], labels={"team": "a"}),
        spec=kube.V1PersistentVolumeClaimSpec(
            access_modes=["ReadWriteOnce"],
            storage_class_name="",
            resources=kube.V1VolumeResourceRequirements(requests={"storage": "1Gi"}),
        ),
    )
    created = core.create_namespaced_persistent_volume_claim(namespace, wanted)
    assert created.status.phase == "Pending"
    assert created.spec.storage_class_name == ""

    created.metadata.labels["team"] = "b"
    replaced = core.replace_namespaced_persistent_volume_claim("data", namespace, created)
    assert replaced.metadata.labels == {"team": "b"}
    with pytest.raises(ApiException) as caught:
        core.replace_namespaced_persistent_volume_claim("data", namespace, created)
    assert (caught.value.status, caught.value.reason) == (409, "Conflict")

    read = core.read_namespaced_persistent_volume_claim("data", namespace)
    assert read == replaced
    bound = {"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}}
    read = core.patch_namespaced_persistent_volume_claim_status("data", namespace, bound)
    assert (read.status.phase, read.status.capacity) == ("Bound", {"storage": "1Gi"})

    core.delete_namespaced_persistent_volume_claim("data", namespace)
    read = core.read_namespaced_persistent_volume_claim("data", namespace)
    assert read.metadata.deletion_timestamp is not None


def test_a_volume_is_patched_in_every_way(core: Any, unique: str) -> None:
    core.create_persistent_volume(a_volume(unique))

    merged = core.patch_persistent_volume(unique, {"metadata": {"labels": {"a": "1"}}})
    assert merged.metadata.labels == {"a": "1"}
    operations = [{"op": "add", "path": "/metadata/labels/b", "value": "2"}]
    patched = core.patch_persistent_volume(unique, operations)
    assert patched.metadata.labels == {"a": "1", "b": "2"}
    applied = core.patch_persistent_volume(
        unique,
        a_volume(unique) | {"metadata": {"name": unique, "labels": {"c": "3"}}},
        field_manager="test",
        force=True,
        _content_type="application/apply-patch+yaml",
    )
    assert applied.metadata.labels == {"a": "1", "b": "2", "c": "3"}


def test_lists_by_selectors_and_pages(core: Any, namespace: str) -> None:
    for number in range(5):
        doc = a_config_map(f"m{number}")
        doc["metadata"]["labels"] = {"odd": str(number % 2)}
        core.create_namespaced_config_map(namespace, doc)

    def names(found: Any) -> list[str]:
        return [item.metadata.name for item in found.items]

    odd = core.list_namespaced_config_map(namespace, label_selector="odd=1")
    assert names(odd) == ["m1", "m3"]
    some = core.list_namespaced_config_map(namespace, label_selector="odd in (0), odd!=1")
    assert names(some) == ["m0", "m2", "m4"]
    one = core.list_namespaced_config_map(namespace, field_selector="metadata.name=m2")
    assert names(one) == ["m2"]
    page = core.list_namespaced_config_map(namespace, label_selector="odd", limit=2)
    seen = names(page)
    while page.metadata._continue:
        page = core.list_namespaced_config_map(
            namespace, label_selector="odd", limit=2, _continue=page.metadata._continue
        )
        seen += names(page)
    assert seen == [f"m{number}" for number in range(5)]


def test_a_watch_from_a_list(core: Any, namespace: str) -> None:
    listed = core.list_namespaced_persistent_volume_claim(namespace)
    held = a_claim()
    held["metadata"]["finalizers"] = [HOLD]
    core.create_namespaced_persistent_volume_claim(namespace, held)
    core.delete_namespaced_persistent_volume_claim("data", namespace)
    core.patch_namespaced_persistent_volume_claim(
        "data", namespace, [{"op": "remove", "path": "/metadata/finalizers"}]
    )

    watching = watch.Watch()
    seen = []
    for event in watching.stream(
        core.list_namespaced_persistent_volume_claim,
        namespace,
        resource_version=listed.metadata.resource_version,
        timeout_seconds=SECONDS,
    ):
        seen.append((event["type"], event["object"].metadata.name))
        if event["type"] == "DELETED":
            watching.stop()

    assert seen == [("ADDED", "data"), ("MODIFIED", "data"), ("DELETED", "data")]


def test_a_watch_that_ends_by_itself_has_told_all(core: Any, namespace: str) -> None:
    core.create_namespaced_config_map(namespace, a_config_map())

    stream = watch.Watch().stream(
        core.list_namespaced_config_map, namespace, timeout_seconds=1, allow_watch_bookmarks=True
    )
    names = {event["object"].metadata.name for event in stream if event["type"] == "ADDED"}

    assert names == {"settings", "kube-root-ca.crt"}


def test_custom_objects(custom: Any, namespace: str) -> None:
    place = (*SNAPSHOTS, namespace, "volumesnapshots")

    created = custom.create_namespaced_custom_object(*place, a_snapshot("monday"))
    assert created["metadata"]["generation"] == 1
    patched = custom.patch_namespaced_custom_object(
        *place, "monday", {"metadata": {"labels": {"a": "1"}}}
    )
    assert patched["metadata"]["labels"] == {"a": "1"}
    status = {"status": {"readyToUse": True}}
    ready = custom.patch_namespaced_custom_object_status(*place, "monday", status)
    assert ready["status"] == {"readyToUse": True}
    ready["metadata"]["labels"] = {"b": "2"}
    replaced = custom.replace_namespaced_custom_object(*place, "monday", ready)
    assert replaced["metadata"]["labels"] == {"b": "2"}
    assert len(custom.list_namespaced_custom_object(*place)["items"]) == 1
    custom.delete_namespaced_custom_object(*place, "monday")
    with pytest.raises(ApiException) as caught:
        custom.get_namespaced_custom_object(*place, "monday")
    assert caught.value.status == 404


def test_the_dynamic_client(api: Any, namespace: str) -> None:
    finder = dynamic.DynamicClient(api)
    claims = finder.resources.get(api_version="v1", kind="PersistentVolumeClaim")
    snapshots = finder.resources.get(
        api_version="snapshot.storage.k8s.io/v1", kind="VolumeSnapshot"
    )

    assert claims.create(body=a_claim(), namespace=namespace).status.phase == "Pending"
    snapshots.create(body=a_snapshot("monday"), namespace=namespace)
    patched = snapshots.patch(
        body={"metadata": {"labels": {"a": "1"}}},
        name="monday",
        namespace=namespace,
        content_type="application/merge-patch+json",
    )
    assert patched.metadata.labels.a == "1"
    applied = claims.server_side_apply(
        body=a_claim() | {"metadata": {"name": "data", "labels": {"b": "2"}}},
        name="data",
        namespace=namespace,
        field_manager="test",
        force_conflicts=True,
    )
    assert applied.metadata.labels.b == "2"
    assert [item.metadata.name for item in claims.get(namespace=namespace).items] == ["data"]
    events = claims.watch(namespace=namespace, timeout=1)
    assert [event["type"] for event in events] == ["ADDED"]
    snapshots.delete(name="monday", namespace=namespace)
    assert snapshots.get(namespace=namespace).items == []


def test_leases_and_tokens(api: Any, core: Any, namespace: str) -> None:
    """Times travel as `isoformat` writes them, which is not quite as Go does."""
    leases = kube.CoordinationV1Api(api)
    created = leases.create_namespaced_lease(
        namespace, one_of_each("leader")["leases"], _request_timeout=SECONDS
    )
    created.spec.renew_time = created.metadata.creation_timestamp
    renewed = leases.replace_namespaced_lease("leader", namespace, created)
    assert renewed.spec.renew_time == created.metadata.creation_timestamp

    request = kube.AuthenticationV1TokenRequest(
        spec=kube.V1TokenRequestSpec(audiences=["vault"], expiration_seconds=600)
    )
    made = core.create_namespaced_service_account_token("default", namespace, request)
    assert made.status.token.count(".") == 2


def test_what_is_wrong_with_an_object_is_told(core: Any, namespace: str) -> None:
    with pytest.raises(ApiException) as caught:
        core.create_namespaced_persistent_volume_claim(namespace, a_claim(accessModes=[]))

    assert caught.value.status == 422
    assert "at least 1 access mode is required" in str(caught.value)


def test_who_may_do_what(api: Any, namespace: str) -> None:
    wanted = kube.V1ResourceAttributes(namespace=namespace, verb="create", resource="pods")
    review = kube.V1SelfSubjectAccessReview(
        spec=kube.V1SelfSubjectAccessReviewSpec(resource_attributes=wanted)
    )
    answer = kube.AuthorizationV1Api(api).create_self_subject_access_review(review)
    assert answer.status.allowed is True
    me = kube.AuthenticationV1Api(api).create_self_subject_review(kube.V1SelfSubjectReview())
    assert "system:masters" in me.status.user_info.groups
