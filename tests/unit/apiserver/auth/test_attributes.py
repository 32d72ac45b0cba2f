"""What a field selector proves."""

import pytest

from mooring.apiserver.auth.attributes import AccessAttributes, find_required, with_name

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
    "a list of one": (AccessAttributes("list", field_selector="metadata.name=a"), "a"),
    "a watch of one": (AccessAttributes("watch", field_selector="metadata.name=a,x=y"), "a"),
    "a list of all": (AccessAttributes("list"), ""),
    "a list of some": (AccessAttributes("list", field_selector="status.phase=Running"), ""),
    "a get has its name": (
        AccessAttributes("get", name="b", field_selector="metadata.name=a"),
        "b",
    ),
    "a collection is not deleted by one name": (
        AccessAttributes("deletecollection", field_selector="metadata.name=a"),
        "",
    ),
}


@pytest.mark.parametrize(("attributes", "name"), NAMED.values(), ids=NAMED)
def test_the_name_that_an_attempt_is_about(attributes: AccessAttributes, name: str) -> None:
    assert with_name(attributes).name == name
