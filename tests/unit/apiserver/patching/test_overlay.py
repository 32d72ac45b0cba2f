"""Laying one document over another, and taking fields out of it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.apiserver.patching.field_set import FieldSet
from mooring.apiserver.patching.overlay import overlaid, removed, settled
from mooring.apiserver.patching.shape import shape_of
from mooring.model.document import Doc
from tests.unit.apiserver.patching.things import SCHEMA, THING, a_thing

ROOT = shape_of(THING, SCHEMA)

ORDERS: dict[str, tuple[str, str, str]] = {
    "nothing applied, nothing moved": ("ab", "", "ab"),
    "nothing live, all as applied": ("", "ba", "ba"),
    "shared items come in the applied order": ("abc", "cba", "cba"),
    "live items of their own come before what they stood before": ("xab", "ab", "xab"),
    "live items of their own come after what they stood after": ("axb", "ab", "axb"),
    "live items of their own follow the neighbour they stood behind": ("abx", "ba", "bxa"),
    "new items come where they are applied": ("ab", "anb", "anb"),
    "new items come after live ones before the next shared": ("xa", "na", "xna"),
    "new items without neighbours come last": ("ab", "nm", "abnm"),
    "an item that stood there twice stands there once": ("aab", "a", "ab"),
}


@pytest.mark.parametrize(("live", "applied", "then"), ORDERS.values(), ids=ORDERS)
def test_order_of_items(live: str, applied: str, then: str) -> None:
    result = overlaid(_with(list(live)), _with(list(applied)), ROOT)
    assert result["metadata"]["finalizers"] == list(then)


def _with(finalizers: list[str]) -> Doc:
    return a_thing(metadata={"finalizers": finalizers})


_SOME = st.permutations("abcdef").flatmap(lambda p: st.integers(0, 6).map(lambda n: p[:n]))


@given(live=_SOME, applied=_SOME)
def test_all_items_are_there_once_and_applied_ones_in_order(
    live: list[str], applied: list[str]
) -> None:
    result = overlaid(_with(live), _with(applied), ROOT)["metadata"]["finalizers"]
    assert sorted(result) == sorted({*live, *applied})
    if applied:
        assert [item for item in result if item in applied] == applied
    mine = [item for item in live if item not in applied]
    assert [item for item in result if item not in applied] == mine


TAKEN: dict[str, tuple[Doc, FieldSet, Any]] = {
    "an entry": ({"data": {"a": "1", "b": "1"}}, {"f:data": {"f:a": {}}}, {"data": {"b": "1"}}),
    "a map with all its entries": ({"data": {"a": "1"}}, {"f:data": {".": {}, "f:b": {}}}, None),
    "the last entry leaves null": ({"data": {"a": "1"}}, {"f:data": {"f:a": {}}}, {"data": None}),
    "an item of a set": (
        {"metadata": {"finalizers": ["a", "b"]}},
        {"f:metadata": {"f:finalizers": {'v:"a"': {}}}},
        {"metadata": {"finalizers": ["b"]}},
    ),
    "an item of a keyed list": (
        {"spec": {"parts": [{"name": "a"}, {"name": "b"}]}},
        {"f:spec": {"f:parts": {'k:{"name":"a"}': {".": {}, "f:name": {}}}}},
        {"spec": {"parts": [{"name": "b"}]}},
    ),
    "a field of an item": (
        {"spec": {"parts": [{"name": "a", "color": "red"}]}},
        {"f:spec": {"f:parts": {'k:{"name":"a"}': {"f:color": {}}}}},
        {"spec": {"parts": [{"name": "a"}]}},
    ),
    "an atomic list": ({"spec": {"modes": ["a"]}}, {"f:spec": {"f:modes": {}}}, {"spec": None}),
    "what is not there": (
        {"data": {"a": "1"}},
        {"f:data": {"f:z": {}}, "f:q": {}},
        {"data": {"a": "1"}},
    ),
}


@pytest.mark.parametrize(("doc", "fields", "then"), TAKEN.values(), ids=TAKEN)
def test_taking_out(doc: Doc, fields: FieldSet, then: Any) -> None:
    assert removed(doc, fields, ROOT) == then


def test_null_is_dropped_wherever_the_schema_knows_the_place() -> None:
    doc = a_thing(
        data=None,
        spec={
            "disk": {"path": None},
            "parts": [None, {"name": "a", "color": None}],
            "target": {"kind": None},
        },
    )
    assert settled(doc, ROOT) == a_thing(spec={"disk": {}, "parts": [{"name": "a"}], "target": {}})


def test_null_stays_in_what_may_be_anything() -> None:
    doc = a_thing(spec={"anything": {"a": None}}, unknown={"b": None})
    assert settled(doc, ROOT) == doc
