import pytest

from mooring.apiserver.kinds.group_snapshot import GROUP_SNAPSHOT, GROUP_SNAPSHOT_V1
from mooring.model.document import Doc
from tests.unit.apiserver.kinds.writing import (
    BEFORE,
    create,
    created,
    merged,
    printed,
    update,
    update_status,
)

TAKEN: Doc = {
    "kind": "VolumeGroupSnapshot",
    "apiVersion": "groupsnapshot.storage.k8s.io/v1beta2",
    "metadata": {"name": "g", "namespace": "default", "creationTimestamp": BEFORE},
    "spec": {"source": {"selector": {"matchLabels": {"a": "b"}}}},
}
SKIPPED = (
    "<nil>: Invalid value: null: some validation rules were not checked because the object was "
    "invalid; correct the existing errors to complete validation"
)
ONE = (
    "spec.source: Invalid value: exactly one of selector and volumeGroupSnapshotContentName "
    "must be set"
)
CONTENT = "volumeGroupSnapshotContentName"

CREATED: dict[str, tuple[Doc, list[str]]] = {
    "claims by their labels are fine": ({}, []),
    "a content that exists already is fine": (
        {"spec": {"source": {"selector": None, CONTENT: "c"}}},
        [],
    ),
    "a spec is required": ({"spec": None}, ["spec: Required value", SKIPPED]),
    "a source is required": (
        {"spec": {"source": None}},
        ["spec.source: Required value", SKIPPED],
    ),
    "an expression has a key and an operator": (
        {"spec": {"source": {"selector": {"matchExpressions": [{"values": ["a"]}]}}}},
        [
            "spec.source.selector.matchExpressions[0].key: Required value",
            "spec.source.selector.matchExpressions[0].operator: Required value",
            SKIPPED,
        ],
    ),
    "a source says what": ({"spec": {"source": {"selector": None}}}, [ONE]),
    "a source is one thing": ({"spec": {"source": {CONTENT: "c"}}}, [ONE]),
    "a class is not empty": (
        {"spec": {"volumeGroupSnapshotClassName": ""}},
        [
            'spec.volumeGroupSnapshotClassName: Invalid value: "": '
            "volumeGroupSnapshotClassName must not be the empty string when set"
        ],
    ),
}


@pytest.mark.parametrize(("patch", "complaints"), CREATED.values(), ids=CREATED)
def test_create(patch: Doc, complaints: list[str]) -> None:
    assert create(GROUP_SNAPSHOT, merged(TAKEN, patch)) == complaints


def test_a_new_one_has_no_status_whatever_the_client_says() -> None:
    assert "status" not in created(GROUP_SNAPSHOT, {**TAKEN, "status": {"readyToUse": True}})


UPDATED: dict[str, tuple[Doc, list[str]]] = {
    "the class may change": ({"spec": {"volumeGroupSnapshotClassName": "fast"}}, []),
    "the selector may not change": (
        {"spec": {"source": {"selector": {"matchLabels": {"a": "c"}}}}},
        ["spec.source.selector: Invalid value: selector is immutable"],
    ),
    "the selector may not give way to a content": (
        {"spec": {"source": {"selector": None, CONTENT: "c"}}},
        ["spec.source: Invalid value: selector is required once set"],
    ),
}


@pytest.mark.parametrize(("patch", "complaints"), UPDATED.values(), ids=UPDATED)
def test_update(patch: Doc, complaints: list[str]) -> None:
    assert update(GROUP_SNAPSHOT, TAKEN, patch) == complaints


def test_it_is_bound_once() -> None:
    field = "boundVolumeGroupSnapshotContentName"
    assert update_status(GROUP_SNAPSHOT, TAKEN, {"status": {field: "c"}}) == []
    bound = {**TAKEN, "status": {field: "c"}}
    assert update_status(GROUP_SNAPSHOT, bound, {"status": {field: "d"}}) == [
        f'status.{field}: Invalid value: "d": {field} is immutable once set'
    ]


def test_a_row() -> None:
    doc = merged(
        {**TAKEN, "status": {"readyToUse": True, "creationTime": BEFORE}},
        {"spec": {"volumeGroupSnapshotClassName": "fast"}},
    )
    assert printed(GROUP_SNAPSHOT, doc) == {
        "Name": "g",
        "ReadyToUse": True,
        "VolumeGroupSnapshotClass": "fast",
        "VolumeGroupSnapshotContent": None,
        "CreationTime": "27h",
        "Age": "27h",
    }


def test_both_versions_show_the_same_objects() -> None:
    assert (GROUP_SNAPSHOT.version, GROUP_SNAPSHOT_V1.version) == ("v1beta2", "v1")
    assert GROUP_SNAPSHOT.store_table == GROUP_SNAPSHOT_V1.store_table
    assert GROUP_SNAPSHOT_V1.message == "groupsnapshot.v1.VolumeGroupSnapshot"
