"""Replica sets, deployments and controller revisions: what is filled in, refused and printed."""

import pytest

from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.kinds.controller_revision import CONTROLLER_REVISION
from mooring.apiserver.kinds.deployment import DEPLOYMENT
from mooring.apiserver.kinds.replica_set import REPLICA_SET
from mooring.model.document import Doc
from tests.unit.apiserver.kinds.writing import (
    BEFORE,
    create,
    created,
    merged,
    printed,
    update,
    update_status,
    updated,
    warned,
)

WORKLOAD: Doc = {
    "metadata": {"name": "web", "namespace": "ns", "creationTimestamp": BEFORE},
    "spec": {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web", "tier": "a"}},
            "spec": {"containers": [{"name": "c", "image": "busybox:1"}]},
        },
    },
}
BOTH = pytest.mark.parametrize("kind", [DEPLOYMENT, REPLICA_SET], ids=lambda kind: kind.plural)


def test_what_a_deployment_leaves_unsaid() -> None:
    stored = created(DEPLOYMENT, WORKLOAD)
    spec = stored["spec"]
    assert {field: spec[field] for field in spec.keys() - {"selector", "template"}} == {
        "replicas": 1,
        "strategy": {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
        },
        "revisionHistoryLimit": 10,
        "progressDeadlineSeconds": 600,
    }
    assert spec["template"]["spec"]["restartPolicy"] == "Always"
    assert stored["status"] == {}


def test_one_that_recreates_gets_no_limits() -> None:
    stored = created(DEPLOYMENT, merged(WORKLOAD, {"spec": {"strategy": {"type": "Recreate"}}}))
    assert stored["spec"]["strategy"] == {"type": "Recreate"}


def test_what_a_replica_set_leaves_unsaid() -> None:
    stored = created(REPLICA_SET, WORKLOAD)
    assert stored["spec"].keys() == {"replicas", "selector", "template"}
    assert (stored["spec"]["replicas"], stored["status"]) == (1, {"replicas": 0})


SPECS: dict[str, tuple[Doc, list[str]]] = {
    "as it is": ({}, []),
    "none wanted": ({"replicas": 0}, []),
    "by an expression": (
        {"selector": {"matchExpressions": [{"key": "tier", "operator": "Exists"}]}},
        [],
    ),
    "fewer than none": (
        {"replicas": -1, "minReadySeconds": -2},
        [
            "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
            "spec.minReadySeconds: Invalid value: -2: must be greater than or equal to 0",
        ],
    ),
    "no selector": (
        {"selector": None},
        [
            "spec.selector: Required value",
            "spec.template.metadata.labels: Invalid value: "
            '{"app":"web","tier":"a"}: `selector` does not match template `labels`',
        ],
    ),
    "an empty selector": (
        {"selector": {"matchLabels": None}},
        ["spec.selector: Invalid value: {}: empty selector is invalid for deployment"],
    ),
    "a selector that its pods do not match": (
        {"selector": {"matchLabels": {"app": "db"}}},
        [
            "spec.template.metadata.labels: Invalid value: "
            '{"app":"web","tier":"a"}: `selector` does not match template `labels`'
        ],
    ),
    "a selector that is none": (
        {"selector": {"matchExpressions": [{"key": "app", "operator": "Near"}]}},
        [
            'spec.selector.matchExpressions[0].operator: Invalid value: "Near": '
            "not a valid selector operator",
            'spec.selector: Invalid value: {"matchLabels":{"app":"web"},"matchExpressions":'
            '[{"key":"app","operator":"Near"}]}: invalid label selector',
        ],
    ),
    "pods that end": (
        {"template": {"spec": {"restartPolicy": "Never", "activeDeadlineSeconds": 5}}},
        [
            'spec.template.spec.restartPolicy: Unsupported value: "Never": '
            'supported values: "Always"',
            "spec.template.spec.activeDeadlineSeconds: Forbidden: "
            "activeDeadlineSeconds in ReplicaSet is not Supported",
        ],
    ),
}


@BOTH
@pytest.mark.parametrize(("spec", "complaints"), SPECS.values(), ids=SPECS)
def test_spec(kind: Kind, spec: Doc, complaints: list[str]) -> None:
    assert create(kind, merged(WORKLOAD, {"spec": spec})) == complaints


@BOTH
def test_without_a_template_the_pod_is_incomplete(kind: Kind) -> None:
    bare = {**WORKLOAD, "spec": {"selector": WORKLOAD["spec"]["selector"]}}
    assert create(kind, bare) == [
        "spec.template.metadata.labels: Invalid value: null: "
        "`selector` does not match template `labels`",
        "spec.template.spec.containers: Required value",
    ]


@BOTH
def test_a_selector_never_changes(kind: Kind) -> None:
    stored = created(kind, WORKLOAD)
    narrower = {"spec": {"selector": {"matchLabels": {"tier": "a"}}}}
    assert update(kind, stored, narrower) == [
        'spec.selector: Invalid value: {"matchLabels":{"app":"web","tier":"a"}}: field is immutable'
    ]


ROLLING = "spec.strategy.rollingUpdate"
DEPLOYMENTS: dict[str, tuple[Doc, list[str]]] = {
    "numbers and percentages": (
        {"strategy": {"rollingUpdate": {"maxUnavailable": 1, "maxSurge": "150%"}}},
        [],
    ),
    "none too many, one missing": (
        {"strategy": {"rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}},
        [],
    ),
    "neither more nor fewer": (
        {"strategy": {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": "0%"}}},
        [f"{ROLLING}.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0"],
    ),
    "more missing than there are": (
        {"strategy": {"rollingUpdate": {"maxUnavailable": "101%"}}},
        [f'{ROLLING}.maxUnavailable: Invalid value: "101%": must not be greater than 100%'],
    ),
    "fewer than none": (
        {"strategy": {"rollingUpdate": {"maxUnavailable": -1, "maxSurge": -2}}},
        [
            f"{ROLLING}.maxUnavailable: Invalid value: -1: must be greater than or equal to 0",
            f"{ROLLING}.maxSurge: Invalid value: -2: must be greater than or equal to 0",
        ],
    ),
    "no percentage": (
        {"strategy": {"rollingUpdate": {"maxSurge": "few"}}},
        [
            f'{ROLLING}.maxSurge: Invalid value: "few": a valid percent string must be a numeric '
            "string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is "
            "'[0-9]+%')"
        ],
    ),
    "limits of what is recreated": (
        {"strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}},
        [f"{ROLLING}: Forbidden: may not be specified when strategy `type` is 'Recreate'"],
    ),
    "another strategy": (
        {"strategy": {"type": "Hope"}},
        [
            'spec.strategy: Unsupported value: {"Type":"Hope","RollingUpdate":null}: '
            'supported values: "Recreate", "RollingUpdate"'
        ],
    ),
    "a deadline that no pod can meet": (
        {"progressDeadlineSeconds": 5, "minReadySeconds": 5},
        ["spec.progressDeadlineSeconds: Invalid value: 5: must be greater than minReadySeconds"],
    ),
    "less history than none": (
        {"revisionHistoryLimit": -1},
        ["spec.revisionHistoryLimit: Invalid value: -1: must be greater than or equal to 0"],
    ),
}


@pytest.mark.parametrize(("spec", "complaints"), DEPLOYMENTS.values(), ids=DEPLOYMENTS)
def test_deployment(spec: Doc, complaints: list[str]) -> None:
    assert create(DEPLOYMENT, merged(WORKLOAD, {"spec": spec})) == complaints


def test_annotations_of_a_deployment_count_for_its_generation() -> None:
    stored = created(DEPLOYMENT, WORKLOAD)
    stored["metadata"]["generation"] = 3
    noted = merged(stored, {"metadata": {"annotations": {"a": "b"}}})
    assert updated(DEPLOYMENT, stored, noted)["metadata"]["generation"] == 4
    labelled = merged(stored, {"metadata": {"labels": {"a": "b"}}})
    assert updated(DEPLOYMENT, stored, labelled)["metadata"]["generation"] == 3


STATUSES: dict[str, tuple[Kind, Doc, list[str]]] = {
    "all of them ready": (
        DEPLOYMENT,
        {"replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2},
        [],
    ),
    "more than there are": (
        DEPLOYMENT,
        {"replicas": 1, "updatedReplicas": 2},
        ["status.updatedReplicas: Invalid value: 2: cannot be greater than status.replicas"],
    ),
    "more available than ready": (
        REPLICA_SET,
        {"replicas": 1, "availableReplicas": 1},
        ["status.availableReplicas: Invalid value: 1: cannot be greater than readyReplicas"],
    ),
    "fewer collisions than before": (
        DEPLOYMENT,
        {"collisionCount": 1},
        ["status.collisionCount: Invalid value: 1: cannot be decremented"],
    ),
    "fewer that go than none": (
        REPLICA_SET,
        {"replicas": 0, "terminatingReplicas": -1},
        ["status.terminatingReplicas: Invalid value: -1: must be greater than or equal to 0"],
    ),
}


@pytest.mark.parametrize(("kind", "status", "complaints"), STATUSES.values(), ids=STATUSES)
def test_status(kind: Kind, status: Doc, complaints: list[str]) -> None:
    stored = created(kind, WORKLOAD)
    if "collisionCount" in status:
        stored["status"] = {"collisionCount": 2}
    assert update_status(kind, stored, {"status": status}) == complaints


def test_row_of_a_deployment() -> None:
    stored = created(DEPLOYMENT, merged(WORKLOAD, {"spec": {"replicas": 3}}))
    stored["status"] = {"readyReplicas": 2, "updatedReplicas": 1, "availableReplicas": 2}
    assert printed(DEPLOYMENT, stored) == {
        "Name": "web",
        "Ready": "2/3",
        "Up-to-date": 1,
        "Available": 2,
        "Age": "27h",
        "Containers": "c",
        "Images": "busybox:1",
        "Selector": "app=web",
    }


def test_the_selector_of_a_row_reads_as_a_user_would_write_it() -> None:
    expressions = [
        {"key": "tier", "operator": "In", "values": ["b", "a"]},
        {"key": "old", "operator": "DoesNotExist"},
    ]
    selector = {"matchExpressions": expressions}
    stored = created(REPLICA_SET, merged(WORKLOAD, {"spec": {"selector": selector}}))
    assert printed(REPLICA_SET, stored)["Selector"] == "app=web,!old,tier in (a,b)"


@BOTH
def test_a_name_that_makes_poor_names_for_pods_is_warned_of(kind: Kind) -> None:
    (warning,) = warned(kind, merged(WORKLOAD, {"metadata": {"name": "a.b"}}))
    assert warning.startswith("metadata.name: this is used in Pod names and hostnames")


REVISION: Doc = {
    "metadata": {"name": "web-1", "namespace": "ns", "creationTimestamp": BEFORE},
    "data": {"spec": {"template": {"$patch": "replace"}}},
    "revision": 1,
}
REVISIONS: dict[str, tuple[Doc, list[str]]] = {
    "as it is": ({}, []),
    "no data": ({"data": None}, ["data: Required value: data is mandatory"]),
    "data that is no object": (
        {"data": 3},
        ["data: Required value: data must be a valid JSON object"],
    ),
    "before the first": (
        {"revision": -1},
        ["revision: Invalid value: -1: must be greater than or equal to 0"],
    ),
}


@pytest.mark.parametrize(("change", "complaints"), REVISIONS.values(), ids=REVISIONS)
def test_revision(change: Doc, complaints: list[str]) -> None:
    assert create(CONTROLLER_REVISION, merged(REVISION, change)) == complaints


def test_the_data_of_a_revision_never_change_but_its_number_does() -> None:
    stored = created(CONTROLLER_REVISION, REVISION)
    assert update(CONTROLLER_REVISION, stored, {"revision": 7}) == []
    assert update(CONTROLLER_REVISION, stored, {"data": {"spec": None}}) == [
        "data: Invalid value: {}: field is immutable"
    ]


def test_row_of_a_revision() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "controller": True}
    stored = created(CONTROLLER_REVISION, REVISION)
    stored["metadata"]["ownerReferences"] = [owner]
    assert printed(CONTROLLER_REVISION, stored) == {
        "Name": "web-1",
        "Controller": "statefulset.apps/web",
        "Revision": 1,
        "Age": "27h",
    }
