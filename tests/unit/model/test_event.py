"""Events as clients read them."""

from typing import Any

import pytest

from mooring.model.event import Event, EventSource
from mooring.model.keys import Key
from tests.unit.model.reading import read

DOCUMENT: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Event",
    "metadata": {"name": "data.18a", "namespace": "ns"},
    "involvedObject": {
        "kind": "PersistentVolumeClaim",
        "namespace": "ns",
        "name": "data",
        "uid": "u-pvc",
        "apiVersion": "v1",
        "resourceVersion": "7",
    },
    "reason": "FailedBinding",
    "message": "no persistent volumes available for this claim and no storage class is set",
    "source": {"component": "persistentvolume-controller"},
    "firstTimestamp": "2026-01-01T00:00:00Z",
    "lastTimestamp": "2026-01-01T00:01:00Z",
    "count": 5,
    "type": "Normal",
    "eventTime": None,
    "reportingComponent": "persistentvolume-controller",
    "reportingInstance": "",
}


def test_an_event() -> None:
    event = read(DOCUMENT, Event)
    assert event.involved_object.key == Key("ns", "data")
    assert event.reason == "FailedBinding"
    assert event.source == EventSource("persistentvolume-controller")
    assert event.count == 5
    assert event.type == "Normal"
    assert event.event_time is None


SEEN: dict[str, tuple[dict[str, Any], str | None]] = {
    "a series knows best": ({"series": {"count": 3, "lastObservedTime": "t4"}}, "t4"),
    "then the last time": ({}, "2026-01-01T00:01:00Z"),
    "then the first": ({"lastTimestamp": None}, "2026-01-01T00:00:00Z"),
    "then the event's own": (
        {"lastTimestamp": None, "firstTimestamp": None, "eventTime": "t1"},
        "t1",
    ),
    "or nobody knows": ({"lastTimestamp": None, "firstTimestamp": None}, None),
}


@pytest.mark.parametrize(("change", "time"), SEEN.values(), ids=SEEN)
def test_last_seen(change: dict[str, Any], time: str | None) -> None:
    assert read(DOCUMENT | change, Event).last_seen == time
