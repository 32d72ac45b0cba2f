"""Small schemas that ask for much: what they cost is bounded, and said."""

import random

import pytest

from mooring.apiserver.structural.defaults import TooManyDefaults, fill_defaults
from mooring.apiserver.structural.parse import node_of
from mooring.apiserver.structural.validate import validate
from mooring.model.document import Doc

EXPLODING = "|".join(f"[ab]*a[ab]{{{times}}}c" for times in range(300, 330))


def doubling(levels: int) -> Doc:
    """A schema whose defaults bring about two more on each level."""
    schema: Doc = {"type": "object", "properties": {"x": {"type": "string", "default": "x"}}}
    for _ in range(levels):
        items = {"type": "array", "default": [{}, {}], "items": schema}
        schema = {"type": "object", "properties": {"x": items}}
    return schema


def test_defaults_that_bring_about_defaults_end_at_what_can_be_stored() -> None:
    with pytest.raises(TooManyDefaults):
        fill_defaults({}, node_of(doubling(45)))
    doc: Doc = {}
    fill_defaults(doc, node_of(doubling(3)))
    assert doc == {"x": [{"x": [{"x": [{"x": "x"}] * 2}] * 2}] * 2}


def test_a_long_default_of_many_items_ends_at_what_can_be_stored() -> None:
    item = {"type": "object", "properties": {"x": {"type": "string", "default": "x" * 10_000}}}
    node = node_of({"type": "array", "items": item})
    with pytest.raises(TooManyDefaults):
        fill_defaults([{} for _ in range(1000)], node)  # type: ignore[arg-type]


def test_a_text_that_is_too_long_for_its_pattern_is_refused_without_a_try() -> None:
    node = node_of({"type": "string", "pattern": EXPLODING})
    text = "".join(random.Random(1).choices("ab", k=1_000_000))  # noqa: S311  any text
    (error,) = validate(text, node)
    assert "too long for the patterns" in str(error)
    (error,) = validate("abc", node)
    assert "should match" in str(error)


def test_a_long_text_and_a_common_pattern_are_compared() -> None:
    node = node_of({"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])*$"})
    assert validate("a" * 200_000, node) == []
