from typing import Any

import pytest

from mooring.apiserver.kinds.event import EVENT
from mooring.model.document import Doc
from mooring.model.names import qualified_name
from tests.unit.apiserver.kinds.writing import NO_KEY, create, created, merged, printed

E: Doc = {
    "kind": "Event",
    "apiVersion": "v1",
    "metadata": {"name": "web.17f", "namespace": "default"},
    "involvedObject": {"kind": "Pod", "namespace": "default", "name": "web"},
    "reason": "Started",
    "message": "Container started",
    "type": "Normal",
}
NEWER = {
    "eventTime": "2026-01-01T00:00:00.000000Z",
    "reportingComponent": "example.com/reporter",
    "reportingInstance": "reporter-1",
    "action": "Starting",
}
AGAINST = "does not match event.namespace"


def test_times_that_are_not_known_are_null_and_places_are_kept() -> None:
    assert created(EVENT, {"kind": "Event", "metadata": {"name": "e"}}) == {
        "kind": "Event",
        "metadata": {"name": "e"},
        "involvedObject": {},
        "source": {},
        "firstTimestamp": None,
        "lastTimestamp": None,
        "eventTime": None,
        "reportingComponent": "",
        "reportingInstance": "",
    }


def test_what_is_given_stays() -> None:
    given = {**E, **NEWER, "firstTimestamp": "2026-01-01T00:00:00Z", "source": {"host": "n1"}}
    new = created(EVENT, given)
    assert {field: new[field] for field in given} == given


def about(namespace: str | None, event_namespace: str = "default") -> Doc:
    return {
        "metadata": {"namespace": event_namespace},
        "involvedObject": {"namespace": namespace},
    }


OLD_STYLE: dict[str, tuple[Doc, list[str]]] = {
    "an event lives where its object lives": ({}, []),
    "and nowhere else": (
        about("other"),
        [f'involvedObject.namespace: Invalid value: "other": {AGAINST}'],
    ),
    "about a cluster-wide object it lives in default": (about(None), []),
    "and nowhere else either": (
        about(None, "other"),
        [f'involvedObject.namespace: Invalid value: "": {AGAINST}'],
    ),
    "its type is not looked at": ({"type": "Party"}, []),
    "it needs no reason": ({"reason": None}, []),
    "its message may be long": ({"message": "x" * 1025}, []),
}


@pytest.mark.parametrize(("patch", "complaints"), OLD_STYLE.values(), ids=OLD_STYLE)
def test_an_event_without_event_time(patch: Doc, complaints: list[str]) -> None:
    assert create(EVENT, merged(E, patch)) == complaints


NEW_STYLE: dict[str, tuple[Doc, list[str]]] = {
    "a whole one is fine": ({}, []),
    "it may live apart from its object": (about("other"), []),
    "about a cluster-wide object it lives in default": (about(None), []),
    "or in kube-system": (about(None, "kube-system"), []),
    "and nowhere else": (
        about(None, "other"),
        [f'involvedObject.namespace: Invalid value: "": {AGAINST}'],
    ),
    "someone reports it": (
        {"reportingComponent": None},
        [
            "reportingComponent: Required value",
            *(f'reportingComponent: Invalid value: "": {text}' for text in qualified_name("")),
        ],
    ),
    "under a qualified name": (
        {"reportingComponent": "not a key"},
        [f'reportingComponent: Invalid value: "not a key": {NO_KEY}'],
    ),
    "one of several": (
        {"reportingInstance": None},
        ["reportingInstance: Required value"],
    ),
    "with a name of 128 characters at most": (
        {"reportingInstance": "x" * 129},
        ['reportingInstance: Invalid value: "": can have at most 128 characters'],
    ),
    "it has an action": ({"action": None}, ["action: Required value"]),
    "of 128 characters at most": (
        {"action": "x" * 129},
        ['action: Invalid value: "": can have at most 128 characters'],
    ),
    "it has a reason": ({"reason": None}, ["reason: Required value"]),
    "of so many, too": (
        {"reason": "x" * 129},
        ['reason: Invalid value: "": can have at most 128 characters'],
    ),
    "its message has 1024 at most": (
        {"message": "x" * 1025},
        ['message: Invalid value: "": can have at most 1024 characters'],
    ),
    "128 and 1024 are not too many": (
        {
            "reportingInstance": "x" * 128,
            "action": "x" * 128,
            "reason": "x" * 128,
            "message": "x" * 1024,
        },
        [],
    ),
}


@pytest.mark.parametrize(("patch", "complaints"), NEW_STYLE.values(), ids=NEW_STYLE)
def test_an_event_with_event_time(patch: Doc, complaints: list[str]) -> None:
    assert create(EVENT, merged({**E, **NEWER}, patch)) == complaints


CELLS: dict[str, tuple[Doc, dict[str, Any]]] = {
    "seen last counts": (
        {"firstTimestamp": "2026-01-02T03:00:05Z", "lastTimestamp": "2026-01-02T03:03:05Z"},
        {"Last Seen": "60s", "First Seen": "4m"},
    ),
    "seen once is both": (
        {"firstTimestamp": "2026-01-02T03:03:05Z"},
        {"Last Seen": "60s", "First Seen": "60s"},
    ),
    "newer events know one time": (
        {"eventTime": "2026-01-02T03:03:05.000000Z"},
        {"Last Seen": "60s", "First Seen": "60s", "Count": 1},
    ),
    "a series knows when it was seen last, and how often": (
        {
            "eventTime": "2026-01-02T03:00:05.000000Z",
            "lastTimestamp": "2026-01-02T03:00:05Z",
            "count": 3,
            "series": {"count": 7, "lastObservedTime": "2026-01-02T03:03:05.000000Z"},
        },
        {"Last Seen": "60s", "First Seen": "4m", "Count": 7},
    ),
    "no time at all": ({}, {"Last Seen": "<unknown>", "First Seen": "<unknown>"}),
    "it happened once unless it says otherwise": ({}, {"Count": 1}),
    "as often as it says": ({"count": 5}, {"Count": 5}),
    "the object, its kind in lower case": ({}, {"Object": "pod/web"}),
    "an object without a name": ({"involvedObject": {"name": None}}, {"Object": "pod"}),
    "part of the object": (
        {"involvedObject": {"fieldPath": "spec.containers{c}"}},
        {"Subobject": "spec.containers{c}"},
    ),
    "who reported it, and where": (
        {"source": {"component": "kubelet", "host": "n1"}},
        {"Source": "kubelet, n1"},
    ),
    "who reported it": ({"source": {"component": "kubelet"}}, {"Source": "kubelet"}),
    "newer reporters": (NEWER, {"Source": "example.com/reporter, reporter-1"}),
    "the message, trimmed": ({"message": " it is\nso \n"}, {"Message": "it is\nso"}),
    "type, reason and name": (
        {},
        {"Type": "Normal", "Reason": "Started", "Name": "web.17f"},
    ),
}


@pytest.mark.parametrize(("patch", "cells"), CELLS.values(), ids=CELLS)
def test_cells(patch: Doc, cells: dict[str, Any]) -> None:
    row = printed(EVENT, created(EVENT, merged(E, patch)))
    assert {column: row[column] for column in cells} == cells


def test_columns() -> None:
    assert [(column.name, column.wide) for column in EVENT.columns] == [
        ("Last Seen", False),
        ("Type", False),
        ("Reason", False),
        ("Object", False),
        ("Subobject", True),
        ("Source", True),
        ("Message", False),
        ("First Seen", True),
        ("Count", True),
        ("Name", True),
    ]


def test_fields() -> None:
    involved = {
        "kind": "Pod",
        "namespace": "default",
        "name": "web",
        "uid": "u",
        "apiVersion": "v1",
        "resourceVersion": "7",
        "fieldPath": "spec",
    }
    doc = created(EVENT, {**E, "involvedObject": involved, "source": {"component": "kubelet"}})
    assert {name: read(doc) for name, read in EVENT.fields.items()} == {
        **{f"involvedObject.{field}": value for field, value in involved.items()},
        "reason": "Started",
        "reportingComponent": "",
        "source": "kubelet",
        "type": "Normal",
    }


def test_an_absent_field_reads_as_empty() -> None:
    bare = created(EVENT, {"metadata": {"name": "e", "namespace": "default"}})
    assert {read(bare) for read in EVENT.fields.values()} == {""}


def test_the_source_of_newer_events_is_their_reporter() -> None:
    assert EVENT.fields["source"](created(EVENT, {**E, **NEWER})) == "example.com/reporter"


def test_its_name_may_be_anything_that_fits_a_path() -> None:
    assert list(EVENT.name_rule("Web_1!.17f")) == []
    assert list(EVENT.name_rule("a%b")) == ["may not contain '%'"]
