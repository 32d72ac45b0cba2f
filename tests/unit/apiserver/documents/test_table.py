from dataclasses import replace
from typing import Any

import pytest

from mooring.apiserver.documents.partial import partial
from mooring.apiserver.documents.table import (
    Include,
    TableWatch,
    columns,
    include,
    row,
    table,
    table_of_one,
)
from mooring.apiserver.request.negotiation import META_V1BETA1
from mooring.errors import BadRequest
from mooring.model.document import Doc
from tests.unit.apiserver.small_api import POD, SECRET

NOW = "2026-01-02T03:04:05Z"


def a_pod(name: str = "web", **metadata: Any) -> Doc:
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": name, "resourceVersion": "7", **metadata},
        "spec": {"nodeName": "n1"},
    }


def test_columns_come_with_all_their_attributes() -> None:
    assert columns(POD) == [
        {"name": "Name", "type": "string", "format": "name", "description": "", "priority": 0},
        {"name": "Node", "type": "string", "format": "", "description": "", "priority": 1},
        {"name": "Age", "type": "string", "format": "", "description": "", "priority": 0},
    ]


def test_a_kind_prints_its_own_cells() -> None:
    assert row(POD, a_pod(), NOW)["cells"] == ["web", "n1", NOW]


AGES = {
    "created a while ago": ("2026-01-02T03:02:00Z", "2m5s"),
    "never created": (None, "<unknown>"),
}


@pytest.mark.parametrize(("created", "shown"), AGES.values(), ids=AGES)
def test_a_kind_without_cells_shows_name_and_age(created: str | None, shown: str) -> None:
    secret = {"metadata": {"name": "s", "creationTimestamp": created}}
    assert row(SECRET, secret, NOW)["cells"] == ["s", shown]


ALONG = {
    "nothing": (Include.NONE, None),
    "the metadata": (Include.METADATA, partial(a_pod())),
    "the object": (Include.OBJECT, a_pod()),
}


@pytest.mark.parametrize(("along", "expected"), ALONG.values(), ids=ALONG)
def test_what_comes_along_with_a_row(along: Include, expected: Doc | None) -> None:
    assert row(POD, a_pod(), NOW, along)["object"] == expected


def test_conditions_are_there_only_if_a_kind_has_some_to_tell() -> None:
    done = [{"type": "Completed", "status": "True", "reason": "Succeeded"}]
    telling = replace(POD, row_conditions=lambda doc: done if doc["metadata"].get("done") else [])
    assert row(telling, a_pod(done=True), NOW)["conditions"] == done
    assert "conditions" not in row(telling, a_pod(), NOW)


def test_a_list_as_a_table() -> None:
    listed = table(POD, [a_pod("a"), a_pod("b")], {"resourceVersion": "9", "continue": "x"}, NOW)
    assert listed == {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"resourceVersion": "9", "continue": "x"},
        "columnDefinitions": columns(POD),
        "rows": [row(POD, a_pod("a"), NOW), row(POD, a_pod("b"), NOW)],
    }


def test_an_empty_list_still_has_its_columns() -> None:
    listed = table(POD, [], {"resourceVersion": "9"}, NOW)
    assert (listed["rows"], listed["columnDefinitions"]) == ([], columns(POD))


def test_one_object_as_a_table_has_the_version_of_the_object() -> None:
    one = table_of_one(POD, a_pod(), NOW, Include.METADATA, META_V1BETA1)
    assert one["metadata"] == {"resourceVersion": "7"}
    assert one["apiVersion"] == "meta.k8s.io/v1beta1"
    assert one["rows"][0]["object"]["apiVersion"] == "meta.k8s.io/v1beta1"


def test_an_object_that_was_not_stored_has_no_version() -> None:
    dry = a_pod()
    del dry["metadata"]["resourceVersion"]
    assert table_of_one(POD, dry, NOW)["metadata"] == {}


def test_a_watch_sends_columns_only_with_its_first_event() -> None:
    watch = TableWatch(POD)
    first, second = watch.changed(a_pod("a"), NOW), watch.changed(a_pod("b"), NOW)
    assert first == table_of_one(POD, a_pod("a"), NOW)
    assert second == {**table_of_one(POD, a_pod("b"), NOW), "columnDefinitions": None}


@pytest.mark.parametrize("along", [Include.NONE, Include.METADATA])
def test_a_bookmark_is_one_blank_row_with_the_metadata(along: Include) -> None:
    metadata = {"resourceVersion": "12", "annotations": {"k8s.io/initial-events-end": "true"}}
    plain = {"kind": "Pod", "apiVersion": "v1", "metadata": metadata}
    bookmark = TableWatch(POD, along).bookmark(plain)
    assert bookmark["metadata"] == {"resourceVersion": "12"}
    assert bookmark["columnDefinitions"] == columns(POD)
    assert bookmark["rows"] == [{"cells": [None] * 3, "object": partial(plain)}]


def test_a_bookmark_with_objects_is_the_plain_bookmark() -> None:
    plain = {"kind": "Pod", "apiVersion": "v1", "metadata": {"resourceVersion": "12"}}
    bookmark = TableWatch(POD, Include.OBJECT).bookmark(plain)
    assert bookmark["rows"][0]["object"] == plain


ASKED = {
    "nothing asked is the metadata": ("", Include.METADATA),
    "None": ("None", Include.NONE),
    "Metadata": ("Metadata", Include.METADATA),
    "Object": ("Object", Include.OBJECT),
}


@pytest.mark.parametrize(("asked", "expected"), ASKED.values(), ids=ASKED)
def test_include(asked: str, expected: Include) -> None:
    assert include(asked) is expected


def test_include_of_anything_else_is_refused() -> None:
    with pytest.raises(BadRequest) as refusal:
        include("Foo")
    assert refusal.value.message == (
        "Unable to convert to Table as requested: includeObject: Invalid value: "
        "\"Foo\": must be 'Metadata', 'Object', 'None', or empty"
    )
