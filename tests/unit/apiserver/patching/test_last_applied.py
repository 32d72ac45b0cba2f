"""Moving from client-side to server-side apply, by the annotation that the client left."""

import json
from typing import Any

import pytest

from mooring import errors
from mooring.apiserver.patching.apply import apply
from mooring.apiserver.patching.last_applied import ANNOTATION
from mooring.apiserver.patching.managed_fields import after_update
from mooring.apiserver.patching.shape import shape_of
from mooring.model.document import Doc
from tests.unit.apiserver.patching.things import NOW, SCHEMA, THING, a_thing

SAID: dict[str, Any] = {
    "api_version": "test/v1",
    "now": NOW,
    "subresource": "",
    "shape": shape_of(THING, SCHEMA),
}


def _live(data: Doc, last: Any) -> Doc:
    """A document that `kubectl apply` wrote on the client's side, and what it left in it."""
    text = last if isinstance(last, str) else json.dumps(last)
    doc = a_thing(metadata={"annotations": {ANNOTATION: text}}, data=data)
    entries = after_update(None, doc, manager="kubectl-client-side-apply", **SAID)
    doc["metadata"]["managedFields"] = entries
    return doc


def _applied(live: Doc, applied: Doc, manager: str = "kubectl") -> Doc:
    return apply(live, applied, manager=manager, force=False, **SAID)


def test_what_the_annotation_says_is_no_conflict() -> None:
    live = _live({"a": "1"}, a_thing(data={"a": "1"}))
    result = _applied(live, a_thing(data={"a": "2"}))
    assert result["data"] == {"a": "2"}
    owners = {e["manager"]: e["fieldsV1"] for e in result["metadata"]["managedFields"]}
    assert owners["kubectl"] == {"f:data": {"f:a": {}}}
    assert "f:a" not in owners["kubectl-client-side-apply"]["f:data"]


def test_another_manager_is_not_trusted() -> None:
    live = _live({"a": "1"}, a_thing(data={"a": "1"}))
    with pytest.raises(errors.Conflict):
        _applied(live, a_thing(data={"a": "2"}), "somebody")


def test_what_changed_since_is_a_conflict() -> None:
    live = _live({"a": "1", "b": "1"}, a_thing(data={"a": "1", "b": "0"}))
    with pytest.raises(errors.Conflict) as refusal:
        _applied(live, a_thing(data={"a": "2", "b": "2"}))
    assert [cause["field"] for cause in refusal.value.details["causes"]] == [".data.b"]


UNTRUSTED: dict[str, Any] = {
    "no JSON": "{",
    "too deep": "[" * 100_000,
    "no object": "[]",
    "another version": {**a_thing(data={"a": "1"}), "apiVersion": "test/v0"},
    "not of the schema": {**a_thing(data={"a": "1"}), "dat": {}},
    "empty": "",
}


@pytest.mark.parametrize("last", UNTRUSTED.values(), ids=UNTRUSTED)
def test_an_annotation_that_cannot_be_understood_helps_nobody(last: Any) -> None:
    with pytest.raises(errors.Conflict):
        _applied(_live({"a": "1"}, last), a_thing(data={"a": "2"}))


def test_the_annotation_is_kept_up_to_date() -> None:
    live = _live({"a": "1"}, a_thing(data={"a": "1"}))
    sent_back = live["metadata"]["annotations"]
    applied = a_thing(metadata={"annotations": {"k": "v", **sent_back}}, data={"a": "2"})
    annotations = _applied(live, applied)["metadata"]["annotations"]
    assert annotations["k"] == "v"
    assert annotations[ANNOTATION].endswith("\n")
    assert json.loads(annotations[ANNOTATION]) == a_thing(
        metadata={"annotations": {"k": "v"}}, data={"a": "2"}
    )


def test_no_annotation_is_made() -> None:
    result = apply(None, a_thing(data={"a": "1"}), manager="kubectl", force=False, **SAID)
    assert "annotations" not in result["metadata"]


def test_an_annotation_that_would_be_too_large_is_dropped() -> None:
    live = _live({"a": "1"}, a_thing(data={"a": "1"}))
    result = _applied(live, a_thing(data={"a": "x" * 300_000}))
    assert result["metadata"].get("annotations", {}) == {}
