"""What an object was stored with beyond the schema stays, wherever its place can be told."""

from typing import Any

import pytest

from mooring.apiserver.verbs.carried_over import carried

Doc = dict[str, Any]

CASES: dict[str, tuple[Doc, Doc, Doc]] = {
    "a field of the object itself": ({"later": 1}, {"spec": {}}, {"spec": {}, "later": 1}),
    "a field of a part": (
        {"spec": {"nodeName": "a", "later": [1]}},
        {"spec": {"nodeName": "b"}},
        {"spec": {"nodeName": "b", "later": [1]}},
    ),
    "a part that is gone takes its fields with it": ({"status": {"later": 1}}, {}, {}),
    "a field that is known and gone is not brought back": (
        {"spec": {"nodeName": "a", "hostname": "h"}},
        {"spec": {"nodeName": "a"}},
        {"spec": {"nodeName": "a"}},
    ),
    "a field that is given anew": ({"later": 1}, {"later": 2}, {"later": 2}),
    "an item of a list, found by its key": (
        {"spec": {"containers": [{"name": "a", "later": 1}, {"name": "b", "later": 2}]}},
        {"spec": {"containers": [{"name": "b"}, {"name": "c"}]}},
        {"spec": {"containers": [{"name": "b", "later": 2}, {"name": "c"}]}},
    ),
    "an item without a key": (
        {"spec": {"imagePullSecrets": "odd"}},
        {"spec": {"imagePullSecrets": [{"name": "a"}]}},
        {"spec": {"imagePullSecrets": [{"name": "a"}]}},
    ),
    "an item with something else under its key": (
        {"spec": {"containers": [{"name": ["a"], "later": 1}, {"name": {}, "later": 2}]}},
        {"spec": {"containers": [{"name": "a"}]}},
        {"spec": {"containers": [{"name": "a"}]}},
    ),
    "labels are known, whatever their names": (
        {"metadata": {"labels": {"a": "b"}}},
        {"metadata": {"labels": {}}},
        {"metadata": {"labels": {}}},
    ),
    "a field of the metadata": (
        {"metadata": {"name": "x", "later": "y"}},
        {"metadata": {"name": "x"}},
        {"metadata": {"name": "x", "later": "y"}},
    ),
}


@pytest.mark.parametrize(("old", "new", "then"), CASES.values(), ids=CASES)
def test_carried(old: Doc, new: Doc, then: Doc) -> None:
    assert carried("core.v1.Pod", old, new) == then


def test_what_needs_nothing_is_the_same_object() -> None:
    new = {"spec": {"containers": [{"name": "a"}]}}
    assert carried("core.v1.Pod", {"spec": {"containers": [{"name": "a"}]}}, new) is new


def test_what_is_shared_with_the_stored_object_is_not_changed() -> None:
    spec: Doc = {"nodeName": "a"}
    new = {"spec": spec}
    found = carried("core.v1.Pod", {"spec": {"nodeName": "a", "later": 1}}, new)
    assert found["spec"]["later"] == 1
    assert (spec, new["spec"]) == ({"nodeName": "a"}, spec)


def test_a_release_knows_its_own_fields_only() -> None:
    old = {"spec": {"preventPodSchedulingIfMissing": True}}
    assert carried("storage.v1.CSIDriver", old, {"spec": {}}) == {"spec": {}}
    assert carried("storage.v1@35.CSIDriver", old, {"spec": {}}) == old
