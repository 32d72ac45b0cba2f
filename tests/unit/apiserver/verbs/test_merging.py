"""Merge patches from this process: on the short way and on the long one, the same document."""

import copy

import pytest

from mooring.apiserver.auth.user import ADMIN
from mooring.apiserver.kinds.volume import VOLUME
from mooring.apiserver.request.message import Request
from mooring.apiserver.request.negotiation import JSON
from mooring.apiserver.request.routes import Route
from mooring.apiserver.verbs.backend import Call
from mooring.apiserver.verbs.merging import merged
from mooring.errors import ApiError, BadRequest, Invalid
from mooring.model.document import Doc

CALL = Call(Request("PATCH", ""), Route("", "v1", "", VOLUME.plural, "x"), VOLUME, ADMIN, JSON)
OLD: Doc = {
    "apiVersion": "v1",
    "kind": "PersistentVolume",
    "metadata": {"name": "x", "annotations": {"a": "1"}, "labels": {"l": "1"}},
    "spec": {"capacity": {"storage": "1Gi"}, "hostPath": {"path": "/a"}},
    "status": {"phase": "Available"},
}

MERGED: dict[str, tuple[Doc, str, Doc]] = {
    "a value in place of another": (
        {"status": {"phase": "Bound"}},
        "status",
        {"phase": "Bound"},
    ),
    "an object that was not there": (
        {"spec": {"claimRef": {"name": "c"}}},
        "spec",
        {**OLD["spec"], "claimRef": {"name": "c"}},
    ),
    "entries beside others": (
        {"metadata": {"annotations": {"b": "2"}}},
        "metadata",
        {**OLD["metadata"], "annotations": {"a": "1", "b": "2"}},
    ),
    "null removes": (
        {"metadata": {"labels": None}},
        "metadata",
        {"name": "x", "annotations": {"a": "1"}},
    ),
    "a map goes with its last entry": (
        {"metadata": {"annotations": {"a": None}}},
        "metadata",
        {"name": "x", "labels": {"l": "1"}},
    ),
    "null where nothing is": ({"status": {"message": None}}, "status", {"phase": "Available"}),
    "an empty text is none": ({"status": {"message": ""}}, "status", {"phase": "Available"}),
    "an amount finds its one spelling": (
        {"spec": {"capacity": {"storage": "2048Mi"}}},
        "spec",
        {**OLD["spec"], "capacity": {"storage": "2Gi"}},
    ),
    "a tuple, of a caller's structs, is a list": (
        {"spec": {"accessModes": ("ReadWriteOnce",)}},
        "spec",
        {**OLD["spec"], "accessModes": ["ReadWriteOnce"]},
    ),
    "a field that is not known is left out": ({"spec": {"odd": 1}}, "spec", OLD["spec"]),
}
REFUSED: dict[str, tuple[Doc, type[ApiError]]] = {
    "a value of another type": ({"spec": {"hostPath": "/a"}}, Invalid),
    "another name": ({"metadata": {"name": "y"}}, BadRequest),
    "no name": ({"metadata": {"name": None}}, BadRequest),
}


@pytest.mark.parametrize(("change", "part", "then"), MERGED.values(), ids=MERGED)
def test_merged(change: Doc, part: str, then: Doc) -> None:
    old, given = copy.deepcopy(OLD), copy.deepcopy(change)
    new = merged(CALL, old, change)
    assert new == {**OLD, part: then}
    assert (old, change) == (OLD, given), "neither is changed"


@pytest.mark.parametrize(("change", "error"), REFUSED.values(), ids=REFUSED)
def test_refused(change: Doc, error: type[ApiError]) -> None:
    old = copy.deepcopy(OLD)
    with pytest.raises(error):
        merged(CALL, old, change)
    assert old == OLD


def test_what_is_filled_in_afterwards_stays_out_of_the_old_document() -> None:
    old = copy.deepcopy(OLD)
    new = merged(CALL, old, {"status": {"phase": "Bound"}})
    for part in ("metadata", "spec", "status"):
        new[part]["more"] = "1"
    assert old == OLD
