"""Unknown fields go, and nulls that mean nothing."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings

from mooring.apiserver.structural.contract import Trail
from mooring.apiserver.structural.parse import node_of
from mooring.apiserver.structural.prune import MOST_TRAILS, drop_nulls, prune
from mooring.apiserver.structural.validate import validate
from mooring.model.document import Doc
from tests.unit.apiserver.structural.schemas import (
    a_list,
    a_text,
    an_integer,
    an_object,
    documents,
    root_schemas,
)

PRESERVE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = {"x-kubernetes-embedded-resource": True}
OPEN = {"type": "object", PRESERVE: True}
META = {"apiVersion": "v1", "kind": "X", "metadata": {"name": "x", "any": 1}}


@pytest.mark.parametrize(
    ("schema", "doc", "left", "unknown"),
    [
        pytest.param(an_object(), dict(META), META, [], id="type and metadata stay at the root"),
        pytest.param(
            an_object(spec=an_object(a=a_text())),
            {"spec": {"a": "1", "z": 1, "b": {"c": 1}}, "status": {}},
            {"spec": {"a": "1"}},
            [["spec", "b"], ["spec", "z"], ["status"]],
            id="in the order of their spelling",
        ),
        pytest.param(
            an_object(spec=an_object(l=a_list(an_object(a=a_text())))),
            {"spec": {"l": [{"a": "1", "b": 2}, {}, {"b": 3}]}},
            {"spec": {"l": [{"a": "1"}, {}, {}]}},
            [["spec", "l", 0, "b"], ["spec", "l", 2, "b"]],
            id="in lists",
        ),
        pytest.param(
            an_object(spec={**OPEN, "properties": {"known": an_object(a=a_text())}}),
            {"spec": {"x": {"y": 1}, "known": {"a": "1", "b": 2}}},
            {"spec": {"x": {"y": 1}, "known": {"a": "1"}}},
            [["spec", "known", "b"]],
            id="what is specified below preserve-unknown is pruned again",
        ),
        pytest.param(
            an_object(m={"type": "object", "additionalProperties": True}),
            {"m": {"a": {"b": 1}, "c": 2, "d": [{"e": 1}, [[{"f": 1}]]]}},
            {"m": {"a": {}, "c": 2, "d": [{}, [[{}]]]}},
            [["m", "a", "b"], ["m", "d", 0, "e"], ["m", "d", 1, 0, 0, "f"]],
            id="additionalProperties true keeps keys and nothing below",
        ),
        pytest.param(
            an_object(m={"type": "object", "additionalProperties": an_object(a=a_text())}),
            {"m": {"k": {"a": "1", "b": 2}}},
            {"m": {"k": {"a": "1"}}},
            [["m", "k", "b"]],
            id="values of maps",
        ),
        pytest.param(
            an_object(l={"type": "array", PRESERVE: True, "items": an_object(a=an_object())}),
            {"l": [{"x": 1, "a": {"y": 1}}, [1]]},
            {"l": [{"x": 1, "a": {}}, [1]]},
            [["l", 0, "a", "y"]],
            id="items below preserve-unknown keep what they do not know",
        ),
        pytest.param(
            an_object(t={**an_object(spec=an_object()), **EMBEDDED}),
            {"t": {**META, "spec": {"a": 1}, "x": 1}},
            {"t": {**META, "spec": {}}},
            [["t", "spec", "a"], ["t", "x"]],
            id="type and metadata stay in embedded resources",
        ),
        pytest.param(
            an_object(a=a_text(), b=a_list(a_text())),
            {"a": {"x": 1}, "b": [{"y": 1}]},
            {"a": {}, "b": [{}]},
            [["a", "x"], ["b", 0, "y"]],
            id="values of a wrong type too",
        ),
        pytest.param({}, {"a": 1}, {}, [["a"]], id="an empty schema knows nothing"),
        pytest.param(OPEN, {"a": {"b": None}}, {"a": {"b": None}}, [], id="an open root"),
    ],
)
def test_unknown_fields_are_dropped_and_told(
    schema: Doc, doc: Doc, left: Doc, unknown: list[Trail]
) -> None:
    assert prune(doc, node_of(schema)) == unknown
    assert doc == left


def test_metadata_goes_where_no_resource_is() -> None:
    doc = {"metadata": {}, "a": "x"}
    assert prune(doc, node_of(an_object(a=a_text())), is_root=False) == [["metadata"]]
    assert doc == {"a": "x"}


def test_a_value_that_nothing_is_known_of_may_be_deep_and_wide() -> None:
    deep: Any = [{"x": 1}]
    for _ in range(5_000):
        deep = [deep]
    node = node_of(an_object(m={"type": "object", "additionalProperties": True}))
    assert len(prune({"m": {"a": deep}}, node)) == 1
    wide: Doc = {"m": {"a": {str(number): 1 for number in range(20_000)}}}
    assert len(prune(wide, node)) == MOST_TRAILS
    assert wide == {"m": {"a": {}}}


NULLS = an_object(
    plain=a_text(),
    nullable=a_text(nullable=True),
    defaulted=a_text(default=""),
    l=a_list(an_object(a=a_text())),
    texts=a_list(a_text()),
    m={"type": "object", "additionalProperties": an_integer()},
    inner=an_object(a=a_text()),
)


def test_nulls_stay_where_they_mean_something() -> None:
    doc: Doc = {
        "plain": None,
        "nullable": None,
        "defaulted": None,
        "l": [{"a": None}],
        "texts": [None],
        "m": {"a": None, "b": 1},
        "inner": {"a": None},
        "unknown": None,
    }
    drop_nulls(doc, node_of(NULLS))
    assert doc == {
        "nullable": None,
        "defaulted": None,
        "l": [{}],
        "texts": [None],
        "m": {"b": 1},
        "inner": {},
        "unknown": None,
    }


@settings(max_examples=settings().max_examples // 4)
@given(schema=root_schemas, doc=documents)
def test_pruning_again_finds_nothing(schema: Doc, doc: Doc) -> None:
    node = node_of(schema)
    prune(doc, node)
    drop_nulls(doc, node)
    once = deepcopy(doc)
    assert prune(doc, node) == []
    drop_nulls(doc, node)
    assert doc == once


@settings(max_examples=settings().max_examples // 4)
@given(schema=root_schemas, doc=documents)
def test_a_pruned_document_has_no_unknown_field(schema: Doc, doc: Doc) -> None:
    """A validator that takes no field but the known ones has nothing to say of them."""
    prune(doc, node_of(schema))
    errors = validate(
        doc, node_of(closed({**schema, "properties": {**schema["properties"], "kind": {}}}))
    )
    assert not [str(error) for error in errors if "forbidden property" in error.text]


def closed(schema: Doc) -> Doc:
    kept = {word: held for word, held in schema.items() if word not in ("anyOf", "oneOf", "not")}
    is_open = kept.get("additionalProperties") is not None or kept.get(PRESERVE)
    if kept.get("type") == "object" and not is_open:
        kept["additionalProperties"] = False
    kept["properties"] = {k: closed(s) for k, s in (kept.get("properties") or {}).items()}
    if isinstance(kept.get("additionalProperties"), dict):
        kept["additionalProperties"] = closed(kept["additionalProperties"])
    if "items" in kept:
        kept["items"] = closed(kept["items"])
    return kept
