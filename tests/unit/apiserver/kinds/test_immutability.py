from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mooring.apiserver.kinds.immutability import changes, same, validate_unchanged
from mooring.model.document import Doc

EMPTY: st.SearchStrategy[Any] = (
    st.sampled_from(["", 0, False, None]) | st.builds(list) | st.builds(dict)
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    EMPTY | st.text(max_size=3) | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=2), VALUES), st.text(max_size=2), EMPTY)
def test_an_empty_field_more_changes_nothing(doc: Doc, field: str, empty: Any) -> None:
    if field not in doc:
        assert same({**doc, field: empty}, doc)
        assert same(doc, {**doc, field: empty})


@given(VALUES, VALUES)
def test_sameness_does_not_depend_on_the_order(one: Any, other: Any) -> None:
    assert same(one, other) == same(other, one)


@given(VALUES, VALUES)
def test_there_is_something_to_tell_exactly_when_something_changed(new: Any, old: Any) -> None:
    assert bool(changes(new, old, "spec")) != same(new, old)


def test_lists_differ_by_length_and_by_order() -> None:
    assert not same(["a"], ["a", ""])
    assert not same(["a", "b"], ["b", "a"])
    assert same([{"a": ""}], [{}])


def test_changes_are_told_by_path() -> None:
    new = {"a": {"b": 2, "c": "same"}, "d": ["x"]}
    old = {"a": {"b": 1, "c": "same"}}
    assert changes(new, old, "spec") == 'spec.a.b: 1 -> 2\nspec.d: null -> ["x"]'


def test_a_changed_value_is_shown_as_it_is_now() -> None:
    (error,) = validate_unchanged("spec.mode", "new", "old")
    assert str(error) == 'spec.mode: Invalid value: "new": field is immutable'
    assert list(validate_unchanged("spec.mode", "", None)) == []
