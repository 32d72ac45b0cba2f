"""Copies: equal, and nobody else's."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.apiserver.patching.copying import copied

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(),
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)


@given(value=VALUES)
def test_a_copy_is_the_same_to_the_last_type(value: Any) -> None:
    assert repr(copied(value)) == repr(value)


@pytest.mark.parametrize("text", ["plain", "\ud800"], ids=["a text", "half a character"])
def test_a_copy_shares_nothing(text: str) -> None:
    value = {"a": [{"b": text}], "c": {text: 1}}
    copy = copied(value)
    assert copy == value
    copy["a"][0]["b"] = copy["c"][text] = None
    copy["a"].append(1)
    assert value == {"a": [{"b": text}], "c": {text: 1}}
