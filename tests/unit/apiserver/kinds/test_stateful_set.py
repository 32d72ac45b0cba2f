"""Stateful sets: what is filled in, refused, and may change."""

from typing import Any

import pytest

from mooring.apiserver.kinds.stateful_set import STATEFUL_SET
from mooring.apiserver.schema.parse import load
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

CLAIM: Doc = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
SET: Doc = {
    "metadata": {"name": "web", "namespace": "ns", "creationTimestamp": BEFORE},
    "spec": {
        "serviceName": "web",
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {
                "containers": [
                    {
                        "name": "c",
                        "image": "busybox:1",
                        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
                    }
                ]
            },
        },
        "volumeClaimTemplates": [CLAIM],
    },
}
GROWS = {"mooring.dev/grow-claims": "true"}


def changed(**spec: Any) -> Doc:
    return merged(SET, {"spec": spec})


def of_size(storage: str, **annotations: str) -> Doc:
    requests = {"resources": {"requests": {"storage": storage}}}
    claim = merged(CLAIM, {"spec": requests})
    doc = changed(volumeClaimTemplates=[claim])
    return merged(doc, {"metadata": {"annotations": annotations}}) if annotations else doc


def test_what_a_stateful_set_leaves_unsaid() -> None:
    stored = created(STATEFUL_SET, SET)
    spec = stored["spec"]
    said = {"selector", "template", "serviceName", "volumeClaimTemplates"}
    assert {field: spec[field] for field in spec.keys() - said} == {
        "replicas": 1,
        "podManagementPolicy": "OrderedReady",
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
        "revisionHistoryLimit": 10,
    }
    (claim,) = spec["volumeClaimTemplates"]
    assert (claim["spec"]["volumeMode"], claim["status"]) == ("Filesystem", {"phase": "Pending"})
    assert stored["status"] == {"replicas": 0, "availableReplicas": 0}


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("StatefulSetSpec", "serviceName"),
        ("StatefulSetOrdinals", "start"),
        ("StatefulSetStatus", "availableReplicas"),
    ],
)
def test_a_field_that_is_always_answered_but_need_not_be_sent(message: str, name: str) -> None:
    field = load().message(f"apps.v1.{message}").fields[name]
    assert field.is_always_there
    assert not field.required


def test_a_strategy_that_is_given_by_its_type_alone_stays_alone() -> None:
    stored = created(STATEFUL_SET, changed(updateStrategy={"type": "RollingUpdate"}))
    assert stored["spec"]["updateStrategy"] == {"type": "RollingUpdate"}


TEMPLATE: Doc = SET["spec"]["template"]
ROLLING = "spec.updateStrategy.rollingUpdate"
COMPLAINTS: dict[str, tuple[Doc, list[str]]] = {
    "as it is": ({}, []),
    "no service": ({"serviceName": ""}, []),
    "no claims": (
        {"volumeClaimTemplates": []},
        ['spec.template.spec.containers[0].volumeMounts[0].name: Not found: "data"'],
    ),
    "another order": (
        {"podManagementPolicy": "Sideways"},
        [
            'spec.podManagementPolicy: Invalid value: "Sideways": '
            "must be 'OrderedReady' or 'Parallel'"
        ],
    ),
    "another strategy": (
        {"updateStrategy": {"type": "Recreate"}},
        [
            'spec.updateStrategy: Invalid value: {"Type":"Recreate","RollingUpdate":null}: '
            "must be 'RollingUpdate' or 'OnDelete'"
        ],
    ),
    "a partition for OnDelete": (
        {"updateStrategy": {"type": "OnDelete", "rollingUpdate": {"partition": 1}}},
        [
            f'{ROLLING}: Invalid value: {{"Partition":1,"MaxUnavailable":null}}: '
            "only allowed for updateStrategy 'RollingUpdate'"
        ],
    ),
    "a partition below zero": (
        {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": -1}}},
        [f"{ROLLING}.partition: Invalid value: -1: must be greater than or equal to 0"],
    ),
    "none may be unavailable": (
        {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 0}}},
        [f"{ROLLING}.maxUnavailable: Invalid value: 0: cannot be 0"],
    ),
    "more than all may be unavailable": (
        {"updateStrategy": {"rollingUpdate": {"maxUnavailable": "101%"}}},
        [f'{ROLLING}.maxUnavailable: Invalid value: "101%": must not be greater than 100%'],
    ),
    "another fate of claims": (
        {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Keep"}},
        [
            "spec.persistentVolumeClaimRetentionPolicy.whenDeleted: Unsupported value: "
            '"Keep": supported values: "Retain", "Delete"'
        ],
    ),
    "fewer than none": (
        {"replicas": -1, "minReadySeconds": -2, "ordinals": {"start": -3}},
        [
            f"spec.{field}: Invalid value: {value}: must be greater than or equal to 0"
            for field, value in (("replicas", -1), ("minReadySeconds", -2), ("ordinals.start", -3))
        ],
    ),
    "no selector": (
        {"selector": None},
        [
            "spec.selector: Required value",
            'spec.template.metadata.labels: Invalid value: {"app":"web"}: '
            "`selector` does not match template `labels`",
        ],
    ),
    "an empty selector": (
        {"selector": {"matchLabels": None}},
        ["spec.selector: Invalid value: {}: empty selector is invalid for statefulset"],
    ),
    "a selector that its pods do not match": (
        {"selector": {"matchLabels": {"app": "db"}}},
        [
            'spec.template.metadata.labels: Invalid value: {"app":"web"}: '
            "`selector` does not match template `labels`"
        ],
    ),
    "pods that end": (
        {"template": merged(TEMPLATE, {"spec": {"restartPolicy": "Never"}})},
        [
            'spec.template.spec.restartPolicy: Unsupported value: "Never": '
            'supported values: "Always"'
        ],
    ),
    "pods with a deadline": (
        {"template": merged(TEMPLATE, {"spec": {"activeDeadlineSeconds": 5}})},
        [
            "spec.template.spec.activeDeadlineSeconds: Forbidden: "
            "activeDeadlineSeconds in StatefulSet is not Supported"
        ],
    ),
    "a claim without a size": (
        {"volumeClaimTemplates": [merged(CLAIM, {"spec": {"resources": None}})]},
        ["spec.volumeClaimTemplates[0].spec.resources[storage]: Required value"],
    ),
}


@pytest.mark.parametrize(("spec", "complaints"), COMPLAINTS.values(), ids=COMPLAINTS)
def test_of_a_new_one(spec: Doc, complaints: list[str]) -> None:
    assert create(STATEFUL_SET, changed(**spec)) == complaints


def test_a_volume_of_the_template_gives_way_to_a_claim_of_its_name() -> None:
    volumes = {"spec": {"volumes": [{"name": "data", "emptyDir": {}}]}}
    assert create(STATEFUL_SET, changed(template=merged(TEMPLATE, volumes))) == []


FIXED = (
    "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', "
    "'template', 'updateStrategy', 'revisionHistoryLimit', "
    "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
HINT = (
    '; volumeClaimTemplates may grow with the annotation mooring.dev/grow-claims: "true", '
    "which grows the existing claims, too"
)
SIZE = "spec.volumeClaimTemplates[0].spec.resources.requests.storage"
CHANGES: dict[str, tuple[Doc, list[str]]] = {
    "what may change": (
        changed(
            replicas=3,
            ordinals={"start": 2},
            updateStrategy={"rollingUpdate": {"partition": 1}},
            revisionHistoryLimit=1,
            minReadySeconds=5,
            persistentVolumeClaimRetentionPolicy={"whenScaled": "Delete"},
            template=merged(TEMPLATE, {"metadata": {"annotations": {"a": "b"}}}),
        ),
        [],
    ),
    "the service": (changed(serviceName="other"), [FIXED]),
    "the order": (changed(podManagementPolicy="Parallel"), [FIXED]),
    "more storage": (of_size("2Gi"), [FIXED + HINT]),
    "less storage": (of_size("1Mi"), [FIXED]),
    "more storage, by annotation": (of_size("2Gi", **GROWS), []),
    "less storage, by annotation": (
        of_size("1Mi", **GROWS),
        [f"{SIZE}: Forbidden: may only grow: the claims cannot be made smaller"],
    ),
    "another claim, by annotation": (
        merged(
            changed(volumeClaimTemplates=[merged(CLAIM, {"spec": {"storageClassName": "x"}})]),
            {"metadata": {"annotations": GROWS}},
        ),
        [FIXED],
    ),
}


@pytest.mark.parametrize(("new", "complaints"), CHANGES.values(), ids=CHANGES)
def test_of_a_change(new: Doc, complaints: list[str]) -> None:
    assert update(STATEFUL_SET, created(STATEFUL_SET, SET), new) == complaints


def test_the_size_may_grow_only_together_with_nothing_else_that_is_fixed() -> None:
    new = merged(of_size("2Gi", **GROWS), {"spec": {"serviceName": "other"}})
    assert update(STATEFUL_SET, created(STATEFUL_SET, SET), new) == [FIXED]


STATUSES: dict[str, tuple[Doc, list[str]]] = {
    "as counted": ({"replicas": 2, "readyReplicas": 1, "availableReplicas": 1}, []),
    "below zero": (
        {"currentReplicas": -1},
        ["status.currentReplicas: Invalid value: -1: must be greater than or equal to 0"],
    ),
    "more ready than there are": (
        {"replicas": 1, "readyReplicas": 2},
        ["status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas"],
    ),
    "more available than ready": (
        {"replicas": 1, "availableReplicas": 1},
        ["status.availableReplicas: Invalid value: 1: cannot be greater than status.readyReplicas"],
    ),
    "a collision undone": (
        {"replicas": 0, "collisionCount": 1},
        ["status.collisionCount: Invalid value: 1: cannot be decremented"],
    ),
}


@pytest.mark.parametrize(("status", "complaints"), STATUSES.values(), ids=STATUSES)
def test_of_a_status(status: Doc, complaints: list[str]) -> None:
    old = merged(created(STATEFUL_SET, SET), {"status": {"collisionCount": 2}})
    new = {**old, "status": {"availableReplicas": 0, "collisionCount": 2, **status}}
    assert update_status(STATEFUL_SET, old, new) == complaints


def test_the_main_path_leaves_the_status_alone() -> None:
    old = merged(created(STATEFUL_SET, SET), {"status": {"replicas": 3}})
    new = merged(old, {"status": {"replicas": 5}, "spec": {"replicas": 5}})
    stored = updated(STATEFUL_SET, old, new)
    assert (stored["spec"]["replicas"], stored["status"]["replicas"]) == (5, 3)


def test_warnings() -> None:
    kept = "a negative value retains all historical revisions; a value >= 0 is recommended"
    assert warned(STATEFUL_SET, changed(revisionHistoryLimit=-1)) == [
        f"spec.revisionHistoryLimit: {kept}"
    ]


def test_its_row() -> None:
    stored = merged(created(STATEFUL_SET, changed(replicas=3)), {"status": {"readyReplicas": 1}})
    assert printed(STATEFUL_SET, stored)["Ready"] == "1/3"
