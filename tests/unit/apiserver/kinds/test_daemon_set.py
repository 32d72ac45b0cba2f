"""Daemon sets: what is filled in, refused, and printed."""

import pytest

from mooring.apiserver.kinds.daemon_set import DAEMON_SET
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
)

GENERATION = "deprecated.daemonset.template.generation"
SET: Doc = {
    "metadata": {"name": "agent", "namespace": "ns", "creationTimestamp": BEFORE},
    "spec": {
        "selector": {"matchLabels": {"app": "agent"}},
        "template": {
            "metadata": {"labels": {"app": "agent"}},
            "spec": {"containers": [{"name": "c", "image": "busybox:1"}]},
        },
    },
}


def test_what_a_daemon_set_leaves_unsaid() -> None:
    stored = created(DAEMON_SET, SET)
    spec = stored["spec"]
    assert {field: spec[field] for field in spec.keys() - {"selector", "template"}} == {
        "updateStrategy": {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0},
        },
        "revisionHistoryLimit": 10,
    }
    counts = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled")
    assert stored["status"] == dict.fromkeys((*counts, "numberReady"), 0)


def test_limits_without_a_type_are_those_of_a_rolling_update() -> None:
    limits = {"updateStrategy": {"rollingUpdate": {"maxUnavailable": "10%"}}}
    stored = created(DAEMON_SET, merged(SET, {"spec": limits}))
    assert stored["spec"]["updateStrategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": "10%", "maxSurge": 0},
    }


def test_the_generation_of_the_template_is_counted_in_an_annotation() -> None:
    stored = created(DAEMON_SET, SET)
    assert stored["metadata"]["annotations"] == {GENERATION: "1"}
    other = merged(stored, {"spec": {"minReadySeconds": 1}, "metadata": {"annotations": None}})
    again = updated(DAEMON_SET, stored, other)
    assert again["metadata"]["annotations"][GENERATION] == "1"
    template = {"template": {"metadata": {"annotations": {"a": "b"}}}}
    newer = updated(DAEMON_SET, again, merged(again, {"spec": template}))
    assert newer["metadata"]["annotations"][GENERATION] == "2"


ROLLING = "spec.updateStrategy.rollingUpdate"
COMPLAINTS: dict[str, tuple[Doc, list[str]]] = {
    "as it is": ({}, []),
    "every percentage": ({"updateStrategy": {"rollingUpdate": {"maxUnavailable": "100%"}}}, []),
    "both limits": (
        {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 1, "maxSurge": 1}}},
        [f"{ROLLING}.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero"],
    ),
    "no limit": (
        {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 0}}},
        [f"{ROLLING}.maxUnavailable: Required value: cannot be 0 when maxSurge is 0"],
    ),
    "another strategy": (
        {"updateStrategy": {"type": "Recreate"}},
        [
            'spec.updateStrategy: Unsupported value: {"Type":"Recreate","RollingUpdate":null}: '
            'supported values: "RollingUpdate", "OnDelete"'
        ],
    ),
    "an empty selector": (
        {"selector": {"matchLabels": None}},
        ["spec.selector: Invalid value: {}: empty selector is invalid for daemonset"],
    ),
    "pods that end": (
        {"template": {"spec": {"restartPolicy": "OnFailure"}}},
        [
            'spec.template.spec.restartPolicy: Unsupported value: "OnFailure": '
            'supported values: "Always"'
        ],
    ),
    "a negative history": (
        {"revisionHistoryLimit": -1},
        ["spec.revisionHistoryLimit: Invalid value: -1: must be greater than or equal to 0"],
    ),
}


@pytest.mark.parametrize(("spec", "complaints"), COMPLAINTS.values(), ids=COMPLAINTS)
def test_of_a_new_one(spec: Doc, complaints: list[str]) -> None:
    assert create(DAEMON_SET, merged(SET, {"spec": spec})) == complaints


def test_the_selector_stays() -> None:
    labels = {"app": "agent", "b": "c"}
    both = {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}}}
    assert update(DAEMON_SET, SET, merged(SET, {"spec": both})) == [
        'spec.selector: Invalid value: {"matchLabels":{"app":"agent","b":"c"}}: field is immutable'
    ]


def test_counts_below_zero_are_refused() -> None:
    old = created(DAEMON_SET, SET)
    new = merged(old, {"status": {"numberReady": -1}})
    assert update_status(DAEMON_SET, old, new) == [
        "status.numberReady: Invalid value: -1: must be greater than or equal to 0"
    ]


def test_its_row() -> None:
    spec = {"template": {"spec": {"nodeSelector": {"disk": "ssd"}}}}
    stored = created(DAEMON_SET, merged(SET, {"spec": spec}))
    counts = {"desiredNumberScheduled": 3, "currentNumberScheduled": 2, "numberReady": 1}
    shown = printed(DAEMON_SET, merged(stored, {"status": counts}))
    assert list(shown.values())[:7] == ["agent", 3, 2, 1, 0, 0, "disk=ssd"]
