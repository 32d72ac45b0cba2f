import pytest

from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.openapi.operations import Operation, paths, tag
from tests.unit.apiserver.small_api import (
    POD,
    SECRET,
    SMALL_SCHEMA,
    SNAPSHOT,
    STORAGE_CLASS,
    TOKEN_REVIEW,
    small_kinds,
)


def operations(kind: Kind) -> dict[tuple[str, str], Operation]:
    return {
        (operation.method, item.path): operation
        for item in paths(kind, SMALL_SCHEMA)
        for operation in item.operations
    }


POD_ROOT = "/api/v1/namespaces/{namespace}/pods"
CLASS_ROOT = "/apis/storage.k8s.io/v1/storageclasses"

IDS = {
    "list": (POD, "get", POD_ROOT, "listCoreV1NamespacedPod"),
    "list everywhere": (POD, "get", "/api/v1/pods", "listCoreV1PodForAllNamespaces"),
    "create": (POD, "post", POD_ROOT, "createCoreV1NamespacedPod"),
    "delete many": (POD, "delete", POD_ROOT, "deleteCoreV1CollectionNamespacedPod"),
    "get": (POD, "get", f"{POD_ROOT}/{{name}}", "readCoreV1NamespacedPod"),
    "update": (POD, "put", f"{POD_ROOT}/{{name}}", "replaceCoreV1NamespacedPod"),
    "patch": (POD, "patch", f"{POD_ROOT}/{{name}}", "patchCoreV1NamespacedPod"),
    "delete": (POD, "delete", f"{POD_ROOT}/{{name}}", "deleteCoreV1NamespacedPod"),
    "status": (POD, "put", f"{POD_ROOT}/{{name}}/status", "replaceCoreV1NamespacedPodStatus"),
    "subresource": (
        POD,
        "post",
        f"{POD_ROOT}/{{name}}/eviction",
        "createCoreV1NamespacedPodEviction",
    ),
    "a kind without namespaces": (
        STORAGE_CLASS,
        "get",
        f"{CLASS_ROOT}/{{name}}",
        "readStorageV1StorageClass",
    ),
    "a long group": (
        SNAPSHOT,
        "post",
        "/apis/snapshot.storage.k8s.io/v1/namespaces/{namespace}/volumesnapshots",
        "createSnapshotStorageV1NamespacedVolumeSnapshot",
    ),
}


@pytest.mark.parametrize(("kind", "method", "path", "expected"), IDS.values(), ids=IDS)
def test_operation_id(kind: Kind, method: str, path: str, expected: str) -> None:
    assert operations(kind)[method, path].id == expected


def test_operation_ids_are_unique() -> None:
    ids = [op.id for kind in small_kinds().all() for op in operations(kind).values()]
    assert len(ids) == len(set(ids))


def test_a_kind_that_can_only_be_created_has_one_path() -> None:
    assert [*operations(TOKEN_REVIEW)] == [("post", "/apis/authentication.k8s.io/v1/tokenreviews")]


def test_an_operation_names_the_kind_it_deals_in() -> None:
    found = operations(POD)
    assert found["get", "/api/v1/pods"].kind == {"group": "", "version": "v1", "kind": "Pod"}
    assert found["post", f"{POD_ROOT}/{{name}}/eviction"].kind == {
        "group": "policy",
        "version": "v1",
        "kind": "Eviction",
    }


PARAMETERS = {
    "create": ("post", POD_ROOT, {"dryRun", "fieldManager", "fieldValidation"}),
    "update": ("put", f"{POD_ROOT}/{{name}}", {"dryRun", "fieldManager", "fieldValidation"}),
    "patch": (
        "patch",
        f"{POD_ROOT}/{{name}}",
        {"dryRun", "fieldManager", "fieldValidation", "force"},
    ),
    "patch of the status": (
        "patch",
        f"{POD_ROOT}/{{name}}/status",
        {"dryRun", "fieldManager", "fieldValidation", "force"},
    ),
    "delete": (
        "delete",
        f"{POD_ROOT}/{{name}}",
        {"dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy"},
    ),
    "get": ("get", f"{POD_ROOT}/{{name}}", set()),
}


@pytest.mark.parametrize(("method", "path", "expected"), PARAMETERS.values(), ids=PARAMETERS)
def test_parameters(method: str, path: str, expected: set[str]) -> None:
    assert {parameter.name for parameter in operations(POD)[method, path].parameters} == expected


def test_a_list_can_be_selected_paged_and_watched() -> None:
    names = {parameter.name for parameter in operations(POD)["get", "/api/v1/pods"].parameters}
    assert names >= {"labelSelector", "fieldSelector", "limit", "continue", "watch"}
    assert names >= {"resourceVersion", "resourceVersionMatch", "sendInitialEvents"}


def test_what_goes_in_and_what_comes_out() -> None:
    found = operations(POD)
    create = found["post", POD_ROOT]
    assert (create.takes, create.gives, create.success) == (
        POD.message,
        POD.message,
        ("201", "Created"),
    )
    assert found["get", POD_ROOT].gives_list_of is POD
    delete = found["delete", f"{POD_ROOT}/{{name}}"]
    assert (delete.takes, delete.gives) == ("meta.v1.DeleteOptions", POD.message)
    assert found["patch", f"{POD_ROOT}/{{name}}"].takes == ""
    log = found["get", f"{POD_ROOT}/{{name}}/log"]
    assert (log.takes, log.gives) == ("", "")


def test_a_kind_that_is_deleted_with_a_status_says_so() -> None:
    secret = "/api/v1/namespaces/{namespace}/secrets/{name}"
    assert operations(SECRET)["delete", secret].gives == "meta.v1.Status"


def test_tags_bundle_by_group_and_version() -> None:
    assert [tag(POD), tag(STORAGE_CLASS), tag(SNAPSHOT)] == [
        "core_v1",
        "storage_v1",
        "snapshot_storage_v1",
    ]
