from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.apiserver.kinds.event import EVENT
from mooring.apiserver.kinds.event_v1 import EVENT_V1, from_stored, to_stored
from mooring.model.document import Doc
from tests.unit.apiserver.kinds.writing import create, created, merged, printed, update

V1: Doc = {
    "kind": "Event",
    "apiVersion": "events.k8s.io/v1",
    "metadata": {"name": "web.17f", "namespace": "default"},
    "eventTime": "2026-01-01T00:00:00.000000Z",
    "reportingController": "example.com/reporter",
    "reportingInstance": "reporter-1",
    "action": "Starting",
    "reason": "Started",
    "regarding": {"kind": "Pod", "namespace": "default", "name": "web"},
    "note": "Container started",
    "type": "Normal",
}
CORE: Doc = {
    "kind": "Event",
    "apiVersion": "v1",
    "metadata": {"name": "web.17f", "namespace": "default"},
    "eventTime": "2026-01-01T00:00:00.000000Z",
    "reportingComponent": "example.com/reporter",
    "reportingInstance": "reporter-1",
    "action": "Starting",
    "reason": "Started",
    "involvedObject": {"kind": "Pod", "namespace": "default", "name": "web"},
    "message": "Container started",
    "type": "Normal",
    "source": {},
    "firstTimestamp": None,
    "lastTimestamp": None,
}


def test_it_is_stored_as_a_core_event() -> None:
    assert to_stored(created(EVENT_V1, V1)) == CORE


def test_a_core_event_is_shown_in_the_newer_words() -> None:
    assert from_stored(CORE) == created(EVENT_V1, V1)


def test_what_old_reporters_wrote_is_shown_as_deprecated() -> None:
    old = created(
        EVENT,
        {
            "kind": "Event",
            "apiVersion": "v1",
            "metadata": {"name": "e"},
            "source": {"component": "kubelet"},
            "firstTimestamp": "2026-01-01T00:00:00Z",
            "lastTimestamp": "2026-01-01T00:01:00Z",
            "count": 3,
        },
    )
    assert from_stored(old) == {
        "kind": "Event",
        "apiVersion": "events.k8s.io/v1",
        "metadata": {"name": "e"},
        "regarding": {},
        "eventTime": None,
        "deprecatedSource": {"component": "kubelet"},
        "deprecatedFirstTimestamp": "2026-01-01T00:00:00Z",
        "deprecatedLastTimestamp": "2026-01-01T00:01:00Z",
        "deprecatedCount": 3,
    }


times = st.sampled_from([None, "2026-01-01T00:00:00Z"])
texts = st.sampled_from(["", "a", "b"])
core_events = st.fixed_dictionaries(
    {"kind": st.just("Event"), "apiVersion": st.just("v1"), "metadata": st.just({"name": "e"})},
    optional={
        "involvedObject": st.dictionaries(st.sampled_from(["kind", "name"]), texts),
        "source": st.dictionaries(st.sampled_from(["component", "host"]), texts),
        "reason": texts,
        "message": texts,
        "count": st.integers(0, 3),
        "type": texts,
        "action": texts,
        "firstTimestamp": times,
        "lastTimestamp": times,
        "eventTime": times,
        "series": st.just({"count": 2}),
        "related": st.just({"kind": "Node"}),
        "reportingComponent": texts,
        "reportingInstance": texts,
    },
)


@given(core_events)
def test_a_stored_event_survives_being_shown_and_written_back(doc: dict[str, Any]) -> None:
    stored = created(EVENT, doc)
    shown = from_stored(stored)
    assert to_stored(shown) == stored
    assert from_stored(to_stored(shown)) == shown


def test_conversion_leaves_its_argument_alone() -> None:
    before = merged(CORE, {})
    from_stored(CORE)
    to_stored(CORE)
    assert before == CORE


RULES: dict[str, tuple[Doc, list[str]]] = {
    "a whole one is fine": ({}, []),
    "its time is required, and with it the old rule of namespaces returns": (
        {"eventTime": None},
        ["eventTime: Required value"],
    ),
    "its reporter goes by another name here": (
        {"reportingController": "Not/A/Name"},
        ['reportingController: Invalid value: "Not/A/Name": a valid label key'],
    ),
    "its instance is required": (
        {"reportingInstance": None},
        ["reportingInstance: Required value"],
    ),
    "its action is required": ({"action": None}, ["action: Required value"]),
    "its reason is required": ({"reason": None}, ["reason: Required value"]),
    "it is normal or a warning": (
        {"type": "Party"},
        ['type: Invalid value: "": has invalid value: Party'],
    ),
    "it is one of the two, not nothing": (
        {"type": None},
        ['type: Invalid value: "": has invalid value: '],
    ),
    "complaints about the note are told in stored words": (
        {"note": "x" * 1025},
        ['message: Invalid value: "": can have at most 1024 characters'],
    ),
    "so are those about its object": (
        {"regarding": {"namespace": None}, "metadata": {"namespace": "other"}},
        ['involvedObject.namespace: Invalid value: "": does not match event.namespace'],
    ),
    "the first time is no longer given": (
        {"deprecatedFirstTimestamp": "2026-01-01T00:00:00Z"},
        ['firstTimestamp: Invalid value: "": needs to be unset'],
    ),
    "nor the last": (
        {"deprecatedLastTimestamp": "2026-01-01T00:00:00Z"},
        ['lastTimestamp: Invalid value: "": needs to be unset'],
    ),
    "nor the count": ({"deprecatedCount": 1}, ['count: Invalid value: "": needs to be unset']),
    "nor the source": (
        {"deprecatedSource": {"host": "n1"}},
        ['source: Invalid value: "": needs to be unset'],
    ),
    "a series is at least two": (
        {"series": {"count": 1, "lastObservedTime": "2026-01-01T00:00:00.000000Z"}},
        ['series.count: Invalid value: "": should be at least 2'],
    ),
    "a series knows when it was seen last": (
        {"series": {"count": 2}},
        ["series.lastObservedTime: Required value"],
    ),
}


@pytest.mark.parametrize(("patch", "complaints"), RULES.values(), ids=RULES)
def test_rules(patch: Doc, complaints: list[str]) -> None:
    given = create(EVENT_V1, merged(V1, patch))
    assert len(given) == len(complaints)
    for complaint, start in zip(given, complaints, strict=True):
        assert complaint.startswith(start)


SERIES = {"count": 2, "lastObservedTime": "2026-01-01T00:00:01.000000Z"}
CHANGES: dict[str, tuple[Doc, list[str]]] = {
    "a series may start": ({"series": SERIES}, []),
    "labels may change": ({"metadata": {"labels": {"a": "b"}}}, []),
    "the reason stays": (
        {"reason": "Stopped"},
        ['reason: Invalid value: "Stopped": field is immutable'],
    ),
    "the note stays": ({"note": "no"}, ['message: Invalid value: "no": field is immutable']),
    "the type stays": (
        {"type": "Warning"},
        ['type: Invalid value: "Warning": field is immutable'],
    ),
    "the action stays": ({"action": "x"}, ['action: Invalid value: "x": field is immutable']),
    "the time stays": (
        {"eventTime": "2026-01-01T00:00:00.000001Z"},
        ['eventTime: Invalid value: "2026-01-01T00:00:00.000001Z": field is immutable'],
    ),
    "the object stays": (
        {"regarding": {"name": "db"}},
        [
            "involvedObject: Invalid value: "
            '{"kind":"Pod","namespace":"default","name":"db"}: field is immutable'
        ],
    ),
    "what it is related to stays": (
        {"related": {"kind": "Node"}},
        ['related: Invalid value: {"kind":"Node"}: field is immutable'],
    ),
    "the reporter stays": (
        {"reportingController": "x"},
        ['reportingController: Invalid value: "x": field is immutable'],
    ),
    "the instance stays": (
        {"reportingInstance": "x"},
        ['reportingInstance: Invalid value: "x": field is immutable'],
    ),
}


@pytest.mark.parametrize(("patch", "complaints"), CHANGES.values(), ids=CHANGES)
def test_changes(patch: Doc, complaints: list[str]) -> None:
    assert update(EVENT_V1, created(EVENT_V1, V1), patch) == complaints


def test_both_kinds_print_the_same_row() -> None:
    assert EVENT_V1.columns == EVENT.columns
    assert printed(EVENT_V1, created(EVENT_V1, V1)) == printed(EVENT, CORE)


def test_fields() -> None:
    doc = created(EVENT_V1, V1)
    fields = {name: read(doc) for name, read in EVENT_V1.fields.items()}
    assert fields["regarding.kind"] == "Pod"
    assert fields["regarding.uid"] == ""
    assert fields["reportingController"] == "example.com/reporter"
    assert "source" not in fields
    assert "involvedObject.kind" not in fields


def test_its_name_is_stricter_than_that_of_core_events() -> None:
    assert list(EVENT_V1.name_rule("Web_1")) != []
    assert list(EVENT.name_rule("Web_1")) == []
