"""JSON merge patches: the cases of RFC 7386, and the laws behind them."""

import copy
from typing import Any

import pytest
from hypothesis import given

from mooring import errors
from mooring.apiserver.patching.merge import merge_patch
from mooring.model.document import Doc
from tests.unit.apiserver.patching.things import json_objects, spoil

CASES: dict[str, tuple[Doc, Doc, Doc]] = {
    "a member is replaced": ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    "a member is added": ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    "null removes a member": ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    "null for what is not there does nothing": ({"a": "b"}, {"x": None}, {"a": "b"}),
    "a list is replaced whole": ({"a": ["b", "c"]}, {"a": ["x"]}, {"a": ["x"]}),
    "a list replaces a scalar": ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    "objects merge": ({"a": {"b": "c", "x": 1}}, {"a": {"b": "d"}}, {"a": {"b": "d", "x": 1}}),
    "an object replaces a list": ({"a": [1]}, {"a": {"b": 1}}, {"a": {"b": 1}}),
    "nulls within a new object are left out": ({}, {"a": {"b": {"c": None}}}, {"a": {"b": {}}}),
    "nulls within a list stay": ({"a": 1}, {"a": [1, None]}, {"a": [1, None]}),
}


@pytest.mark.parametrize(("doc", "patch", "then"), CASES.values(), ids=CASES)
def test_merge(doc: Doc, patch: Doc, then: Doc) -> None:
    assert merge_patch(doc, patch) == then


@pytest.mark.parametrize(("patch", "found"), [([], "array"), ("x", "string")])
def test_what_is_no_object_is_a_bad_request(patch: Any, found: str) -> None:
    with pytest.raises(errors.BadRequest) as refusal:
        merge_patch({}, patch)
    assert refusal.value.message == (
        f"error decoding patch: json: cannot unmarshal {found}"
        " into Go value of type map[string]interface {}"
    )


def test_a_patch_too_deep_to_follow_is_a_bad_request() -> None:
    patch: Doc = {}
    for _ in range(5000):
        patch = {"a": patch}
    with pytest.raises(errors.BadRequest):
        merge_patch({}, patch)


@given(doc=json_objects())
def test_an_empty_patch_is_the_identity(doc: Doc) -> None:
    assert merge_patch(doc, {}) == doc


@given(doc=json_objects(), patch=json_objects())
def test_a_patch_twice_is_the_patch_once(doc: Doc, patch: Doc) -> None:
    once = merge_patch(doc, patch)
    assert merge_patch(once, patch) == once


@given(doc=json_objects(), patch=json_objects())
def test_members_are_as_the_patch_says_or_as_they_were(doc: Doc, patch: Doc) -> None:
    result = merge_patch(doc, patch)
    for name in {*doc, *patch, *result}:
        if name not in patch:
            assert result[name] == doc[name]
        elif patch[name] is None:
            assert name not in result
        elif not isinstance(patch[name], dict):
            assert result[name] == patch[name]


@given(doc=json_objects(), patch=json_objects())
def test_arguments_are_neither_changed_nor_shared(doc: Doc, patch: Doc) -> None:
    before = copy.deepcopy((doc, patch))
    result = merge_patch(doc, patch)
    assert (doc, patch) == before
    spoil(result)
    assert (doc, patch) == before


def test_null_is_no_patch() -> None:
    with pytest.raises(errors.BadRequest, match="Invalid JSON Patch"):
        merge_patch({}, None)
