"""What a field selector proves."""

import pytest

from mooring.apiserver.auth.attempt import Attempt, find_required, with_name

SELECTORS = {
    "equal": ("spec.nodeName=n1", "n1"),
    "equal, written twice": ("spec.nodeName==n1", "n1"),
    "one of several terms": ("status.phase=Running,spec.nodeName=n1", "n1"),
    "equal to nothing": ("spec.nodeName=", ""),
    "another field": ("metadata.name=n1", None),
    "not equal": ("spec.nodeName!=n1", None),
    "no selector": ("", None),
    "a value that only looks like a term": ("metadata.name=a\\,spec.nodeName=n1", None),
    "an escaped value proves nothing": ("spec.nodeName=n\\=1", None),
}


@pytest.mark.parametrize(("selector", "value"), SELECTORS.values(), ids=SELECTORS)
def test_what_spec_node_name_must_be(selector: str, value: str | None) -> None:
    assert find_required(selector, "spec.nodeName") == value


NAMED = {
    "a list of one": (Attempt("list", field_selector="metadata.name=a"), "a"),
    "a watch of one": (Attempt("watch", field_selector="metadata.name=a,x=y"), "a"),
    "a list of all": (Attempt("list"), ""),
    "a list of some": (Attempt("list", field_selector="status.phase=Running"), ""),
    "a get has its name": (Attempt("get", name="b", field_selector="metadata.name=a"), "b"),
    "a collection is not deleted by one name": (
        Attempt("deletecollection", field_selector="metadata.name=a"),
        "",
    ),
}


@pytest.mark.parametrize(("attempt", "name"), NAMED.values(), ids=NAMED)
def test_the_name_that_an_attempt_is_about(attempt: Attempt, name: str) -> None:
    assert with_name(attempt).name == name
