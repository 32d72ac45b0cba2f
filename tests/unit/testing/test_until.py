"""What tests wait for."""

from typing import Any

import pytest

from mooring.testing.errors import ClusterError
from mooring.testing.until import Test, parse

BOUND = {"status": {"phase": "Bound"}}
READY = {"status": {"conditions": [{"type": "Ready", "status": "True"}], "replicas": 3}}


@pytest.mark.parametrize(
    ("goal", "doc", "is_met"),
    [
        ("Bound", BOUND, True),
        ("Bound", {"status": {"phase": "Pending"}}, False),
        ("Bound", {}, False),
        ("Bound", None, False),
        ("condition=Ready", READY, True),
        ("condition=Ready=False", READY, False),
        ("condition=ready", READY, False),
        ("condition=Ready=true", READY, True),
        ("condition=Ready", {}, False),
        ("status.replicas=3", READY, True),
        ("status.replicas=4", READY, False),
        ("{.status.replicas}=3", READY, True),
        ("status.phase.deeper=1", BOUND, False),
        ("spec.paused=true", {"spec": {"paused": True}}, True),
        ("exists", {}, True),
        ("exists", None, False),
        ("deleted", None, True),
        ("deleted", {}, False),
        (lambda doc: doc["a"] == 1, {"a": 1}, True),
        (lambda doc: doc["a"] == 1, None, False),
    ],
)
def test_goals(goal: str | Test, doc: dict[str, Any] | None, *, is_met: bool) -> None:
    assert parse(goal).is_met(doc) is is_met


@pytest.mark.parametrize(
    ("goal", "doc", "found"),
    [
        ("Bound", {"status": {"phase": "Pending"}}, "its phase is Pending"),
        ("Bound", {}, "it has no phase"),
        ("condition=Ready", {}, "the condition Ready is not there"),
        ("status.replicas=4", READY, "status.replicas is 3"),
        ("deleted", {}, "it exists"),
    ],
)
def test_they_say_what_there_is_instead(goal: str, doc: dict[str, Any], found: str) -> None:
    assert parse(goal).found(doc) == found


def test_words_that_mean_nothing_are_refused() -> None:
    with pytest.raises(ClusterError, match="cannot wait for 'for a while'"):
        parse("for a while")
