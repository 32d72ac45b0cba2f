"""Defaults are put where a field is left out."""

from copy import deepcopy

import pytest
from hypothesis import given, settings

from mooring.apiserver.structural.defaults import fill_defaults
from mooring.apiserver.structural.parse import node_of
from mooring.model.document import Doc
from tests.unit.apiserver.structural.schemas import (
    a_list,
    a_text,
    an_integer,
    an_object,
    documents,
    root_schemas,
)


@pytest.mark.parametrize(
    ("schema", "doc", "filled"),
    [
        pytest.param(an_object(a=a_text(default="x")), {}, {"a": "x"}, id="absent"),
        pytest.param(an_object(a=a_text(default="x")), {"a": ""}, {"a": ""}, id="there"),
        pytest.param(an_object(a=a_text(default="x")), {"a": None}, {"a": "x"}, id="null"),
        pytest.param(
            an_object(a=a_text(default="x", nullable=True)), {"a": None}, {"a": None}, id="nullable"
        ),
        pytest.param(an_object(a=an_integer(default=0)), {}, {"a": 0}, id="zero is a default"),
        pytest.param(an_object(a=a_text(default=None)), {}, {}, id="null is no default"),
        pytest.param(
            an_object(a=an_object(b=a_text(default="x"))), {}, {}, id="not below an absent parent"
        ),
        pytest.param(
            an_object(a={**an_object(b=a_text(default="x")), "default": {}}),
            {},
            {"a": {"b": "x"}},
            id="below a parent that comes by default",
        ),
        pytest.param(
            an_object(l=a_list(an_object(b=a_text(default="x")))),
            {"l": [{}, {"b": "y"}, 5]},
            {"l": [{"b": "x"}, {"b": "y"}, 5]},
            id="items",
        ),
        pytest.param(
            an_object(l=a_list(a_text(default="x")), n=a_list(a_text())),
            {"l": [None, "y"], "n": [None]},
            {"l": ["x", "y"], "n": [None]},
            id="null items",
        ),
        pytest.param(
            an_object(
                m={"type": "object", "additionalProperties": an_object(b=a_text(default=""))}
            ),
            {"m": {"k": {}}},
            {"m": {"k": {"b": ""}}},
            id="values of maps",
        ),
        pytest.param(
            an_object(m={"type": "object", "additionalProperties": an_integer(default=3)}),
            {"m": {"k": None}},
            {"m": {"k": 3}},
            id="null values of maps",
        ),
    ],
)
def test_defaults_are_put(schema: Doc, doc: Doc, filled: Doc) -> None:
    fill_defaults(doc, node_of(schema))
    assert doc == filled


def test_each_document_has_a_default_of_its_own() -> None:
    node = node_of(an_object(a={**an_object(), "default": {"b": [1]}}))
    first: Doc = {}
    second: Doc = {}
    fill_defaults(first, node)
    first["a"]["b"].append(2)
    fill_defaults(second, node)
    assert second == {"a": {"b": [1]}}


def with_defaults(schema: Doc) -> Doc:
    """A drawn schema whose texts and objects have defaults."""
    kept = dict(schema)
    if kept.get("type") in ("string", "object"):
        kept["default"] = "d" if kept["type"] == "string" else {}
    if "properties" in kept:
        kept["properties"] = {k: with_defaults(s) for k, s in kept["properties"].items()}
    for word in ("items", "additionalProperties"):
        if isinstance(kept.get(word), dict):
            kept[word] = with_defaults(kept[word])
    return kept


@settings(max_examples=settings().max_examples // 4)
@given(schema=root_schemas.map(with_defaults), doc=documents)
def test_filling_again_changes_nothing(schema: Doc, doc: Doc) -> None:
    node = node_of(schema)
    fill_defaults(doc, node)
    once = deepcopy(doc)
    fill_defaults(doc, node)
    assert doc == once
    assert {name for name, held in node.properties.items() if held.type == "string"} <= doc.keys()
