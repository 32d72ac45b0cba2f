from typing import Any

from mooring.apiserver.lifecycle.namespace_controller.decide import (
    default_objects,
    emptied,
    with_progress,
)

Doc = dict[str, Any]

EARLY, LATE = "2026-01-02T03:04:05Z", "2026-01-02T03:05:05Z"
NAMESPACE: Doc = {
    "metadata": {"name": "team"},
    "spec": {"finalizers": ["kubernetes"]},
    "status": {"phase": "Terminating"},
}


def by_type(namespace: Doc) -> dict[str, Doc]:
    return {condition["type"]: condition for condition in namespace["status"]["conditions"]}


def test_every_namespace_has_an_account_and_the_authority_of_the_server() -> None:
    found = {plural: doc for plural, doc in default_objects("PEM")}
    assert found["serviceaccounts"]["metadata"]["name"] == "default"
    assert found["configmaps"]["metadata"]["name"] == "kube-root-ca.crt"
    assert found["configmaps"]["data"] == {"ca.crt": "PEM"}


def test_what_remains_is_told_in_order() -> None:
    told = with_progress(NAMESPACE, {"pods.": 2, "configmaps.": 1}, {"b/x": 1, "a/x": 2}, EARLY)
    found = by_type(told)
    assert found["NamespaceContentRemaining"] == {
        "type": "NamespaceContentRemaining",
        "status": "True",
        "reason": "SomeResourcesRemain",
        "message": "Some resources are remaining: "
        "configmaps. has 1 resource instances, pods. has 2 resource instances",
        "lastTransitionTime": EARLY,
    }
    assert found["NamespaceFinalizersRemaining"]["message"] == (
        "Some content in the namespace has finalizers remaining: "
        "a/x in 2 resource instances, b/x in 1 resource instances"
    )
    assert told["status"]["phase"] == "Terminating"


def test_what_could_not_be_deleted_is_told() -> None:
    told = by_type(with_progress(NAMESPACE, {"pods.": 2}, {}, EARLY, ["a webhook said no"]))
    assert told["NamespaceDeletionContentFailure"] == {
        "type": "NamespaceDeletionContentFailure",
        "status": "True",
        "reason": "ContentDeletionFailed",
        "message": "Failed to delete all resource types, 1 remaining: a webhook said no",
        "lastTransitionTime": EARLY,
    }


def test_the_time_of_a_condition_is_that_of_its_last_turn() -> None:
    first = with_progress(NAMESPACE, {"pods.": 2}, {}, EARLY)
    fewer = with_progress(first, {"pods.": 1}, {}, LATE)
    assert by_type(fewer)["NamespaceContentRemaining"]["lastTransitionTime"] == EARLY
    none = with_progress(fewer, {}, {}, LATE)
    assert by_type(none)["NamespaceContentRemaining"]["lastTransitionTime"] == LATE
    assert by_type(none)["NamespaceContentRemaining"]["reason"] == "ContentRemoved"


def test_the_same_progress_is_the_same_namespace() -> None:
    first = with_progress(NAMESPACE, {"pods.": 2}, {"a/x": 1}, EARLY)
    assert with_progress(first, {"pods.": 2}, {"a/x": 1}, LATE) == first


def test_conditions_of_others_stay() -> None:
    other = {"type": "Other", "status": "True", "lastTransitionTime": EARLY}
    namespace = NAMESPACE | {"status": {"conditions": [other]}}
    assert by_type(with_progress(namespace, {}, {}, LATE))["Other"] == other


def test_the_server_lets_go_of_what_is_empty() -> None:
    assert emptied(NAMESPACE)["spec"] == {}
    held = NAMESPACE | {"spec": {"finalizers": ["kubernetes", "example.com/hold"]}}
    assert emptied(held)["spec"] == {"finalizers": ["example.com/hold"]}
    assert NAMESPACE["spec"] == {"finalizers": ["kubernetes"]}
