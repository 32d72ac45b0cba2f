"""Outlines: what documents have in common that came from one template."""

import pytest
from hypothesis import given

from mooring.apiserver.patching.changes import compare
from mooring.apiserver.patching.field_set import ordered
from mooring.apiserver.patching.outline import outline, size_of
from mooring.apiserver.patching.shape import shape_of
from mooring.model.document import Doc
from tests.unit.apiserver.patching.things import SCHEMA, THING, a_thing, things

SHAPE = shape_of(THING, SCHEMA)
DISK = {"disk": {"path": "/a", "options": {"x": "1"}}}

SAME: dict[str, tuple[Doc, Doc]] = {
    "other values": (
        a_thing(data={"a": "1"}, spec={"size": 1}),
        a_thing(data={"a": "2"}, spec={"size": 2}),
    ),
    "other values deep down": (
        a_thing(spec=DISK),
        a_thing(spec={"disk": {"path": "/b", "options": {"x": "2"}}}),
    ),
    "other items of a list that is replaced whole": (
        a_thing(spec={"modes": ["a"]}),
        a_thing(spec={"modes": ["b", "c"]}),
    ),
    "whatever is in the part left out": (
        a_thing(status={"phase": "a"}),
        a_thing(status={"conditions": [{"type": "x"}]}),
    ),
}
OTHER: dict[str, tuple[Doc, Doc]] = {
    "a field more": (a_thing(spec={"size": 1}), a_thing(spec={"size": 1, "modes": ["a"]})),
    "another entry of a map": (a_thing(data={"a": "1"}), a_thing(data={"b": "1"})),
    "another entry deep down": (
        a_thing(spec=DISK),
        a_thing(spec={"disk": {"path": "/a", "options": {"y": "1"}}}),
    ),
    "the same names on another level": (
        a_thing(spec={"disk": {"path": "/a"}, "size": 1}),
        a_thing(spec={"disk": {"path": "/a", "options": {"size": "1"}}}),
    ),
    "an empty map": (a_thing(data={}), a_thing(data={"a": "1"})),
}
NONE: dict[str, Doc] = {
    "a set": a_thing(metadata={"finalizers": ["a"]}),
    "a list with keys": a_thing(spec={"parts": [{"name": "x"}]}),
}


@pytest.mark.parametrize(("one", "another"), SAME.values(), ids=SAME)
def test_the_same_outline_in_spite_of(one: Doc, another: Doc) -> None:
    assert outline(one, SHAPE, "status") == outline(another, SHAPE, "status") is not None


@pytest.mark.parametrize(("one", "another"), OTHER.values(), ids=OTHER)
def test_another_outline_for(one: Doc, another: Doc) -> None:
    assert outline(one, SHAPE, "status") != outline(another, SHAPE, "status")


@pytest.mark.parametrize("doc", NONE.values(), ids=NONE)
def test_names_do_not_tell_all_of(doc: Doc) -> None:
    assert outline(doc, SHAPE, "status") is None


@given(one=things(), another=things())
def test_of_one_outline_the_same_fields_are_owned(one: Doc, another: Doc) -> None:
    known = outline(one, SHAPE, "status")
    if known is not None and known == outline(another, SHAPE, "status"):
        assert _written(one) == _written(another)


def test_the_size_of_an_outline_is_that_of_its_names() -> None:
    small, large = a_thing(data={"a": "1"}), a_thing(data={"a" * 100: "1"})
    sizes = [size_of(found) for doc in (small, large) if (found := outline(doc, SHAPE, ""))]
    assert sizes[1] - sizes[0] == 99


def _written(doc: Doc) -> object:
    return ordered(compare({}, doc, SHAPE, "").written)
