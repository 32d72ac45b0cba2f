"""What an answer always shows, though nobody said it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.apiserver.schema.fill import fill
from mooring.apiserver.schema.json_fields import list_form
from mooring.apiserver.schema.parse import load

Doc = dict[str, Any]

MESSAGES = sorted(name for name in load().messages if list_form(name) is None)

FILLED: dict[str, tuple[str, Doc, Doc]] = {
    "parts that are no pointers are empty objects": (
        "core.v1.PersistentVolumeClaim",
        {},
        {"metadata": {}, "spec": {"resources": {}}, "status": {}},
    ),
    "times that are not known are null": (
        "core.v1.PersistentVolumeClaimCondition",
        {"type": "Resizing", "status": "True"},
        {
            "type": "Resizing",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": None,
        },
    ),
    "the items of lists are filled, too": (
        "core.v1.PodStatus",
        {"containerStatuses": [{"name": "c"}]},
        {
            "containerStatuses": [
                {
                    "name": "c",
                    "state": {},
                    "lastState": {},
                    "ready": False,
                    "restartCount": 0,
                    "image": "",
                    "imageID": "",
                }
            ]
        },
    ),
    "what stands there stays": (
        "core.v1.ResourceFieldSelector",
        {"resource": "limits.cpu", "divisor": "1m"},
        {"resource": "limits.cpu", "divisor": "1m"},
    ),
    "an amount of nothing is a zero": (
        "core.v1.ResourceFieldSelector",
        {"resource": "limits.cpu"},
        {"resource": "limits.cpu", "divisor": "0"},
    ),
    "lists that are required are empty, not null": (
        "storage.v1.CSINode",
        {"metadata": {"name": "n"}},
        {"metadata": {"name": "n"}, "spec": {"drivers": []}, "status": {}},
    ),
    "some pointers are shown as null": (
        "core.v1.TypedLocalObjectReference",
        {"kind": "PersistentVolumeClaim", "name": "c"},
        {"apiGroup": None, "kind": "PersistentVolumeClaim", "name": "c"},
    ),
    "the metadata of templates are empty": (
        "core.v1.PersistentVolumeClaimTemplate",
        {},
        {"metadata": {}, "spec": {"resources": {}}},
    ),
    "a container has resources, if none": (
        "core.v1.Container",
        {"name": "c"},
        {"name": "c", "resources": {}},
    ),
}


@pytest.mark.parametrize(("message", "doc", "then"), FILLED.values(), ids=FILLED)
def test_fill(message: str, doc: Doc, then: Doc) -> None:
    fill(doc, message)
    assert doc == then


@given(message=st.sampled_from(MESSAGES))
def test_filling_again_changes_nothing(message: str) -> None:
    doc: Doc = {}
    fill(doc, message)
    once = repr(doc)
    fill(doc, message)
    assert repr(doc) == once


def test_two_documents_share_nothing() -> None:
    one: Doc = {}
    other: Doc = {}
    for doc in (one, other):
        fill(doc, "storage.v1.CSINode")
    one["spec"]["drivers"].append({"name": "a"})
    assert other["spec"]["drivers"] == []
