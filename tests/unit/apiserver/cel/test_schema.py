"""Schemas as types: what is seen, how large it gets, how documents are read."""

from typing import Any

import pytest

from mooring.apiserver.cel.escaping import escape, unescape
from mooring.apiserver.cel.schema import MOST_REQUEST, Declared, declare, records
from mooring.apiserver.cel.values import Duration, Timestamp
from mooring.apiserver.structural.parse import node_of

ESCAPED = {
    "a": "a",
    "namespace": "__namespace__",
    "true": "__true__",
    "a__b": "a__underscores__b",
    "a.b": "a__dot__b",
    "a-b": "a__dash__b",
    "a/b": "a__slash__b",
    "_a": "_a",
}


@pytest.mark.parametrize(("name", "written"), ESCAPED.items(), ids=ESCAPED)
def test_names_are_escaped_and_back(name: str, written: str) -> None:
    assert escape(name) == written
    assert unescape(written) == name


@pytest.mark.parametrize("name", ["", "1a", "a b", "é", "$ref"])
def test_other_names_cannot_be_written(name: str) -> None:
    assert escape(name) is None


def declared(schema: dict[str, Any]) -> Declared:
    found = declare(node_of(schema))
    assert found is not None
    return found


STRING = {"type": "string"}
SEEN = {
    "string": (STRING, "string", MOST_REQUEST - 2),
    "string of a length": ({**STRING, "maxLength": 5}, "string", 20),
    "one of some strings": ({**STRING, "enum": ["a", "abc"]}, "string", 3),
    "bytes": ({**STRING, "format": "byte", "maxLength": 5}, "bytes", 5),
    "date": ({**STRING, "format": "date"}, "timestamp", 12),
    "date-time": ({**STRING, "format": "date-time"}, "timestamp", 32),
    "duration": ({**STRING, "format": "duration"}, "duration", 32),
    "integer": ({"type": "integer"}, "int", 0),
    "number": ({"type": "number"}, "double", 0),
    "boolean": ({"type": "boolean"}, "bool", 0),
    "int or string": ({"x-kubernetes-int-or-string": True}, "dyn", MOST_REQUEST - 2),
    "list": ({"type": "array", "items": {"type": "integer"}}, "list(int)", 1572863),
    "list of a length": (
        {"type": "array", "items": STRING, "maxItems": 3},
        "list(string)",
        3,
    ),
    "map": (
        {"type": "object", "additionalProperties": {"type": "boolean"}},
        "map(string, bool)",
        314572,
    ),
    "object": ({"type": "object", "properties": {"a": STRING}}, "selfType", 0),
}


@pytest.mark.parametrize(("schema", "shown", "most"), SEEN.values(), ids=SEEN)
def test_types_and_sizes(schema: dict[str, Any], shown: str, most: int) -> None:
    found = declared(schema)
    assert (str(found.type), found.most) == (shown, most)


def test_what_has_no_type_is_not_seen() -> None:
    free = node_of({"x-kubernetes-preserve-unknown-fields": True})
    assert declare(free) is None
    assert declare(node_of({"type": "array", "items": {}})) is None


def test_the_fewest_bytes_count_required_fields_without_defaults() -> None:
    schema = {
        "type": "object",
        "required": ["a", "b"],
        "properties": {"a": STRING, "b": {**STRING, "default": ""}, "c": STRING},
    }
    assert declared(schema).least == 2 + len("a") + 2 + 4


def test_objects_inside_have_names_of_their_own() -> None:
    inner = {"type": "object", "properties": {"b": STRING}}
    schema = {
        "type": "object",
        "properties": {"a": inner, "l": {"type": "array", "items": inner}},
    }
    assert set(records(declared(schema))) == {"selfType", "selfType.a", "selfType.l.@idx"}


READ: dict[str, tuple[dict[str, Any], Any, Any]] = {
    "a number written as an integer": ({"type": "number"}, 1, 1.0),
    "bytes": ({**STRING, "format": "byte"}, "YWI=", b"ab"),
    "a date": ({**STRING, "format": "date"}, "1970-01-02", Timestamp(86400 * 10**9)),
    "a time": ({**STRING, "format": "date-time"}, "1970-01-01T00:00:01Z", Timestamp(10**9)),
    "a length": ({**STRING, "format": "duration"}, "1m", Duration(60 * 10**9)),
    "a length in words": ({**STRING, "format": "duration"}, "2 days", Duration(172800 * 10**9)),
    "what cannot be read stays": ({**STRING, "format": "date"}, "soon", "soon"),
    "inside of objects and lists": (
        {
            "type": "object",
            "properties": {"l": {"type": "array", "items": {"type": "number"}}, "s": STRING},
        },
        {"l": [1, 2], "s": "x", "other": 1},
        {"l": [1.0, 2.0], "s": "x", "other": 1},
    ),
    "values of maps": (
        {"type": "object", "additionalProperties": {"type": "number"}},
        {"a": 1, "b": None},
        {"a": 1.0, "b": None},
    ),
}


@pytest.mark.parametrize(("schema", "doc", "wanted"), READ.values(), ids=READ)
def test_documents_are_read(schema: dict[str, Any], doc: Any, wanted: Any) -> None:
    convert = declared(schema).convert
    assert convert is not None
    found = convert(doc)
    assert found == wanted
    assert type(found) is type(wanted)


def test_what_needs_no_reading_is_not_copied() -> None:
    schema = {
        "type": "object",
        "properties": {"a": STRING, "l": {"type": "array", "items": STRING}},
    }
    assert declared(schema).convert is None
