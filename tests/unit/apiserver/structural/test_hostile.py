"""Documents and schemas at the edge of what is let in: nothing recurses too far."""

from collections.abc import Callable
from typing import Any

import pytest

from mooring.apiserver.structural.defaults import fill_defaults
from mooring.apiserver.structural.embedded import embedded_problems, unchecked
from mooring.apiserver.structural.list_types import list_type_problems
from mooring.apiserver.structural.parse import node_of
from mooring.apiserver.structural.prune import drop_nulls, prune
from mooring.apiserver.structural.schema_problems import schema_problems
from mooring.apiserver.structural.schema_shape import MOST_DEPTH
from mooring.apiserver.structural.validate import validate
from mooring.model.document import Doc
from mooring.model.field_error import FieldError
from tests.unit.apiserver.structural.schemas import a_list, a_text, an_integer, an_object

FRAMES = 250  # that a request has been through before it comes here


def after(frames: int, act: Callable[[], Any]) -> Any:
    return act() if frames == 0 else after(frames - 1, act)


def deep(leaf: Any, wrap: Callable[[Any], Any], levels: int) -> Any:
    for _ in range(levels):
        leaf = wrap(leaf)
    return leaf


def in_list(schema: Doc) -> Doc:
    return {"type": "array", "items": schema, "x-kubernetes-list-type": "atomic"}


def in_object(schema: Doc) -> Doc:
    return {**an_object(p=schema), "nullable": True}


def in_map(schema: Doc) -> Doc:
    return {"type": "object", "additionalProperties": schema}


def in_junctors(schema: Doc) -> Doc:
    part = {"properties": {"p": {"minimum": 1}}}
    return {**an_object(p=schema), "anyOf": [part, {"not": part}], "oneOf": [{}]}


@pytest.mark.parametrize("wrap", [in_list, in_object, in_map, in_junctors])
@pytest.mark.parametrize("value", [5, "wrong"])
def test_a_schema_as_deep_as_allowed_is_walked(wrap: Callable[[Doc], Doc], value: Any) -> None:
    levels = MOST_DEPTH - 4
    schema = an_object(spec=deep(an_integer(default=1), wrap, levels))
    doc: Doc = {"spec": deep(value, lambda v: [v] if wrap is in_list else {"p": v}, levels)}
    assert after(FRAMES, lambda: schema_problems(schema, "x")) == []
    node = node_of(schema)

    def write() -> int:
        prune(doc, node)
        drop_nulls(doc, node)
        fill_defaults(doc, node)
        list_type_problems(doc, node)
        return len(validate(doc, node, old={"spec": None}))

    assert (after(FRAMES, write) > 0) == (value == "wrong")


def test_a_document_that_is_deep_where_anything_goes_is_compared_without_a_crash() -> None:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "maxProperties": 0}
    node = node_of(an_object(spec=anything, n=a_text()))
    value: Any = 1
    for _ in range(900):
        value = [value]
    doc, old = {"spec": {"a": value}}, {"spec": {"a": [value[0]]}, "n": ""}
    found = after(FRAMES, lambda: validate(doc, node, old=old))
    assert [str(error) for error in found] in (["spec: Too many: 1: must have at most 0 items"], [])


ANYTHING = {"x-kubernetes-preserve-unknown-fields": True}
DEEP_PLACES = {
    "set": a_list(ANYTHING, **{"x-kubernetes-list-type": "set"}),
    "map": a_list(
        an_object(k=a_text()),
        **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]},
    ),
    "enum": {**ANYTHING, "enum": [1]},
    "embedded": {**ANYTHING, "type": "object", "x-kubernetes-embedded-resource": True},
}


@pytest.mark.parametrize("place", sorted(DEEP_PLACES))
@pytest.mark.parametrize("wrap", [lambda held: [held], lambda held: {"k": held}])
def test_a_value_that_is_deep_is_compared_and_shown_without_a_crash(
    place: str, wrap: Callable[[Any], Any]
) -> None:
    node = node_of(an_object(f=DEEP_PLACES[place]))
    value = deep(1, wrap, 900)
    held = {
        "set": [value, value],
        "map": [{"k": value}, {"k": value}],
        "enum": value,
        "embedded": {"apiVersion": value, "metadata": [value]},
    }[place]
    doc: Doc = {"f": held}

    def write() -> list[FieldError]:
        return [
            *validate(doc, node, old={"f": deep(1, wrap, 901)}),
            *list_type_problems(doc, node, old={}),
            *embedded_problems(doc, node, unchecked),
        ]

    errors = after(FRAMES, write)
    assert errors
    assert all(len(str(error)) < 20_000 for error in errors)
