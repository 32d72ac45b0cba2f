"""Short hashes of documents."""

import re

from hypothesis import given
from hypothesis import strategies as st

from mooring.model.safe_hash import safe_hash

TEMPLATE = {"spec": {"containers": [{"name": "c", "image": "x"}]}}


def test_the_same_content_has_the_same_hash_in_whatever_order() -> None:
    assert safe_hash({"a": 1, "b": {"c": 2, "d": 3}}) == safe_hash({"b": {"d": 3, "c": 2}, "a": 1})


def test_it_never_changes_between_releases() -> None:
    """Were it to change, every revision of a stateful set would be rolled out anew."""
    assert (safe_hash(TEMPLATE), safe_hash(TEMPLATE, 1)) == ("545dc66b67", "764ddd4df8")


@given(st.text(max_size=20), st.integers(0, 9))
def test_it_is_fit_for_names_and_labels(text: str, collisions: int) -> None:
    assert re.fullmatch("[bcdfghjklmnpqrstvwxz2456789]{1,10}", safe_hash({"a": text}, collisions))
