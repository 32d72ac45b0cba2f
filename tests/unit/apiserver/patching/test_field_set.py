"""Sets of fields: their algebra against sets of paths, their JSON form, what a document says."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.apiserver.patching.field_set import (
    SELF,
    FieldSet,
    difference,
    fields_of,
    has,
    intersection,
    ordered,
    parse,
    path_text,
    paths,
    union,
    with_named_fields,
    without,
)
from mooring.apiserver.patching.shape import shape_of
from mooring.model.document import Doc
from tests.unit.apiserver.patching.things import SCHEMA, THING, a_thing

_ELEMENTS = ["f:a", "f:b", 'k:{"n":"x"}', 'v:"y"']
_PATHS = st.lists(st.sampled_from(_ELEMENTS), min_size=1, max_size=3).map(tuple)
_PATH_SETS = st.frozensets(_PATHS, max_size=8)


def _set_of(members: frozenset[tuple[str, ...]]) -> FieldSet:
    out: FieldSet = {}
    for path in members:
        node = out
        for name in path:
            node = node.setdefault(name, {})
        node[SELF] = {}
    return parse(out)


def _members(fields: FieldSet) -> frozenset[tuple[str, ...]]:
    return frozenset(paths(fields))


@given(a=_PATH_SETS, b=_PATH_SETS)
def test_union_is_that_of_the_paths(a: frozenset[Any], b: frozenset[Any]) -> None:
    assert union(_set_of(a), _set_of(b)) == _set_of(a | b)


@given(a=_PATH_SETS, b=_PATH_SETS)
def test_difference_is_that_of_the_paths(a: frozenset[Any], b: frozenset[Any]) -> None:
    assert difference(_set_of(a), _set_of(b)) == _set_of(a - b)


@given(a=_PATH_SETS, b=_PATH_SETS)
def test_intersection_is_that_of_the_paths(a: frozenset[Any], b: frozenset[Any]) -> None:
    assert intersection(_set_of(a), _set_of(b)) == _set_of(a & b)


@given(a=_PATH_SETS, path=_PATHS)
def test_a_set_has_its_paths(a: frozenset[Any], path: tuple[str, ...]) -> None:
    assert _members(_set_of(a)) == a
    assert has(_set_of(a), path) == (path in a)


@given(a=_PATH_SETS, b=_PATH_SETS)
def test_sets_made_of_sets_in_order_are_in_order(a: frozenset[Any], b: frozenset[Any]) -> None:
    one, other = ordered(_set_of(a)), ordered(_set_of(b))
    for result in (union(one, other), difference(one, other), intersection(one, other)):
        assert json.dumps(result) == json.dumps(ordered(result))


@given(a=_PATH_SETS)
def test_what_is_printed_can_be_read(a: frozenset[Any]) -> None:
    fields = ordered(_set_of(a))
    assert parse(json.loads(json.dumps(fields))) == fields


READ: dict[str, tuple[Any, FieldSet]] = {
    "nothing": ({}, {}),
    "a field": ({"f:a": {}}, {"f:a": {}}),
    "a member with nothing below it needs no dot": ({"f:a": {".": {}}}, {"f:a": {}}),
    "a member with something below it has one": (
        {"f:a": {".": {}, "f:b": {}}},
        {"f:a": {".": {}, "f:b": {}}},
    ),
    "keys in another spelling": (
        {'k:{ "b" : 1, "a" : "\\u0078" }': {}},
        {'k:{"a":"x","b":1}': {}},
    ),
    "a value in another spelling": ({'v:  "x"': {}}, {'v:"x"': {}}),
    "an index": ({"i:01": {}}, {"i:1": {}}),
    "elements of the future are dropped": ({"z:a": {"f:b": {}}, "f:c": {}}, {"f:c": {}}),
}


@pytest.mark.parametrize(("raw", "then"), READ.values(), ids=READ)
def test_read(raw: Any, then: FieldSet) -> None:
    assert parse(raw) == then


UNREADABLE: dict[str, Any] = {
    "a list": [],
    "a field that is a number": {"f:a": 1},
    "a name without a colon": {"fa": {}},
    "an empty name": {"": {}},
    "keys that are no object": {"k:[]": {}},
    "keys that are no JSON": {"k:{": {}},
    "a value that is no JSON": {"v:x": {}},
    "an index that is no number": {"i:x": {}},
}


@pytest.mark.parametrize("raw", UNREADABLE.values(), ids=UNREADABLE)
def test_unreadable(raw: Any) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 -- any reason is a reason
        parse(raw)


ORDER: dict[str, list[str]] = {
    "the item itself first": [".", "f:a"],
    "fields by name": ["f:B", "f:a", "f:b"],
    "keys by value, not by spelling": ['k:{"p":80}', 'k:{"p":443}'],
    "keys by the first that differs": ['k:{"a":"x","b":2}', 'k:{"a":"x","b":10}', 'k:{"a":"y"}'],
    "numbers before strings, and these before truth": ["v:10", 'v:"1"', "v:true"],
    "a shorter value before one it begins": ['v:"a"', 'v:"a "', 'v:"a!"'],
    "fields, then keys, then values, then indices": ["f:z", 'k:{"a":1}', "v:1", "i:0"],
}


@pytest.mark.parametrize("names", ORDER.values(), ids=ORDER)
def test_order_of_print(names: list[str]) -> None:
    assert list(ordered({name: {} for name in reversed(names)})) == names


TEXTS: dict[str, tuple[tuple[str, ...], str]] = {
    "fields": (("f:data", "f:a.b/c"), ".data.a.b/c"),
    "an item by its key": (("f:parts", 'k:{"name":"x"}', "f:color"), '.parts[name="x"].color'),
    "an item by two keys": (('k:{"port":80,"protocol":"TCP"}',), '[port=80,protocol="TCP"]'),
    "an item of a set": (("f:finalizers", 'v:"x"'), '.finalizers[="x"]'),
    "an item by its place": (("f:a", "i:3"), ".a[3]"),
}


@pytest.mark.parametrize(("path", "then"), TEXTS.values(), ids=TEXTS)
def test_path_text(path: tuple[str, ...], then: str) -> None:
    assert path_text(path) == then


def test_members_of_a_level_come_before_those_below_them() -> None:
    fields: FieldSet = {"f:a": {"f:x": {}}, "f:b": {}, "f:c": {".": {}, "f:y": {}}}
    assert list(paths(fields)) == [("f:b",), ("f:c",), ("f:a", "f:x"), ("f:c", "f:y")]


def test_a_field_is_left_out_with_all_below_it() -> None:
    assert without({"f:status": {"f:phase": {}}, "f:spec": {}}, "status") == {"f:spec": {}}


SAID: dict[str, tuple[Doc, FieldSet]] = {
    "identity is nobody's": (
        a_thing(metadata={"uid": "u", "resourceVersion": "1", "deletionTimestamp": "now"}),
        {},
    ),
    "entries of a map": (a_thing(data={"a": "1"}), {"f:data": {"f:a": {}}}),
    "an atomic list is one": (a_thing(spec={"modes": ["a"]}), {"f:spec": {"f:modes": {}}}),
    "an atomic list, even an empty one": (a_thing(spec={"modes": []}), {"f:spec": {"f:modes": {}}}),
    "an atomic map is one": (
        a_thing(spec={"selector": {"a": "1"}}),
        {"f:spec": {"f:selector": {}}},
    ),
    "an atomic message is one": (
        a_thing(spec={"target": {"name": "x"}}),
        {"f:spec": {"f:target": {}}},
    ),
    "the same message elsewhere is not": (
        a_thing(spec={"claim": {"name": "x"}}),
        {"f:spec": {"f:claim": {"f:name": {}}}},
    ),
    "a set per item": (
        a_thing(metadata={"finalizers": ["b", "a"]}),
        {"f:metadata": {"f:finalizers": {'v:"a"': {}, 'v:"b"': {}}}},
    ),
    "a keyed list per item": (
        a_thing(spec={"parts": [{"name": "x", "color": "red"}]}),
        {"f:spec": {"f:parts": {'k:{"name":"x"}': {".": {}, "f:color": {}, "f:name": {}}}}},
    ),
    "items of an atomic message are leaves": (
        a_thing(metadata={"owners": [{"uid": "u", "kind": "k"}]}),
        {"f:metadata": {"f:owners": {'k:{"uid":"u"}': {}}}},
    ),
    "an item without its required key has it empty": (
        a_thing(spec={"parts": [{"color": "red"}]}),
        {"f:spec": {"f:parts": {'k:{"name":""}': {".": {}, "f:color": {}}}}},
    ),
    "an item that stands there twice is one": (
        a_thing(spec={"parts": [{"name": "x"}, {"name": "x", "color": "red"}]}),
        {"f:spec": {"f:parts": {'k:{"name":"x"}': {}}}},
    ),
    "inline fields as their parent's": (
        a_thing(spec={"disk": {"path": "/"}}),
        {"f:spec": {"f:disk": {"f:path": {}}}},
    ),
    "an empty message or map is a leaf": (
        a_thing(spec={"disk": {}, "limits": {"most": {}}}),
        {"f:spec": {"f:disk": {}, "f:limits": {"f:most": {}}}},
    ),
    "an empty keyed list says nothing": (a_thing(spec={"parts": []}), {}),
    "an unknown field is a leaf": (a_thing(extra={"a": {"b": 1}}), {"f:extra": {}}),
    "anything at all is a leaf": (
        a_thing(spec={"anything": {"a": 1}}),
        {"f:spec": {"f:anything": {}}},
    ),
}


@pytest.mark.parametrize(("doc", "then"), SAID.values(), ids=SAID)
def test_what_a_document_says(doc: Doc, then: FieldSet) -> None:
    assert fields_of(doc, THING, SCHEMA) == then


def test_named_fields_that_lead_to_members_become_members() -> None:
    fields: FieldSet = {
        "f:spec": {"f:parts": {'k:{"name":"x"}': {"f:color": {}}}},
        "f:data": {"f:a": {}},
    }
    assert with_named_fields(fields, shape_of(THING, SCHEMA)) == {
        "f:spec": {".": {}, "f:parts": {".": {}, 'k:{"name":"x"}': {"f:color": {}}}},
        "f:data": {".": {}, "f:a": {}},
    }
