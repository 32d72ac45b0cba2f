import pytest

from mooring.apiserver.kinds.snapshot import SNAPSHOT
from mooring.model.document import Doc
from tests.unit.apiserver.kinds.writing import (
    BEFORE,
    create,
    created,
    merged,
    printed,
    status_updated,
    update,
    update_status,
    updated,
)

TAKEN: Doc = {
    "kind": "VolumeSnapshot",
    "apiVersion": "snapshot.storage.k8s.io/v1",
    "metadata": {"name": "s", "namespace": "default", "creationTimestamp": BEFORE},
    "spec": {"source": {"persistentVolumeClaimName": "data"}},
}
SKIPPED = (
    "<nil>: Invalid value: null: some validation rules were not checked because the object was "
    "invalid; correct the existing errors to complete validation"
)
ONE = (
    "spec.source: Invalid value: exactly one of volumeSnapshotContentName and "
    "persistentVolumeClaimName must be set"
)
CLAIM, CONTENT = "persistentVolumeClaimName", "volumeSnapshotContentName"

CREATED: dict[str, tuple[Doc, list[str]]] = {
    "a snapshot of a claim is fine": ({}, []),
    "a snapshot that exists already is fine": (
        {"spec": {"source": {CLAIM: None, CONTENT: "c"}}},
        [],
    ),
    "a spec is required": ({"spec": None}, ["spec: Required value", SKIPPED]),
    "a source is required": (
        {"spec": {"source": None}},
        ["spec.source: Required value", SKIPPED],
    ),
    "a source says what": ({"spec": {"source": {CLAIM: None}}}, [ONE]),
    "a source is one thing": ({"spec": {"source": {CONTENT: "c"}}}, [ONE]),
    "a class is fine": ({"spec": {"volumeSnapshotClassName": "fast"}}, []),
    "a class is not empty": (
        {"spec": {"volumeSnapshotClassName": ""}},
        [
            'spec.volumeSnapshotClassName: Invalid value: "": '
            "volumeSnapshotClassName must not be the empty string when set"
        ],
    ),
}


@pytest.mark.parametrize(("patch", "complaints"), CREATED.values(), ids=CREATED)
def test_create(patch: Doc, complaints: list[str]) -> None:
    assert create(SNAPSHOT, merged(TAKEN, patch)) == complaints


def test_a_new_snapshot_has_no_status_whatever_the_client_says() -> None:
    assert "status" not in created(SNAPSHOT, {**TAKEN, "status": {"readyToUse": True}})


UPDATED: dict[str, tuple[Doc, list[str]]] = {
    "nothing changed is fine": ({}, []),
    "a class may be given": ({"spec": {"volumeSnapshotClassName": "fast"}}, []),
    "the claim may not change": (
        {"spec": {"source": {CLAIM: "other"}}},
        [f'spec.source.{CLAIM}: Invalid value: "other": {CLAIM} is immutable'],
    ),
    "the claim may not go": (
        {"spec": {"source": {CLAIM: None}}},
        [ONE, f"spec.source: Invalid value: {CLAIM} is required once set"],
    ),
    "the claim may not give way to a content": (
        {"spec": {"source": {CLAIM: None, CONTENT: "c"}}},
        [f"spec.source: Invalid value: {CLAIM} is required once set"],
    ),
    "a spec may not go": ({"spec": None}, ["spec: Required value", SKIPPED]),
}


@pytest.mark.parametrize(("patch", "complaints"), UPDATED.values(), ids=UPDATED)
def test_update(patch: Doc, complaints: list[str]) -> None:
    assert update(SNAPSHOT, TAKEN, patch) == complaints


def test_each_path_keeps_to_its_own_part() -> None:
    ready = {"readyToUse": True}
    assert "status" not in updated(SNAPSHOT, TAKEN, {**TAKEN, "status": ready})
    new = status_updated(SNAPSHOT, TAKEN, {**TAKEN, "spec": {}, "status": ready})
    assert (new["spec"], new["status"]) == (TAKEN["spec"], ready)
    stored = {**TAKEN, "status": ready}
    assert updated(SNAPSHOT, stored, TAKEN)["status"] == ready


STATUS: dict[str, tuple[object, bool]] = {
    "an amount is a size": ("1Gi", True),
    "a number is a size": (5, True),
    "a word is no size": ("large", False),
}


@pytest.mark.parametrize(("size", "fine"), STATUS.values(), ids=STATUS)
def test_status(size: object, *, fine: bool) -> None:
    complaints = update_status(SNAPSHOT, TAKEN, {"status": {"restoreSize": size}})
    assert (complaints == []) is fine
    for complaint in complaints:
        assert complaint.startswith(
            'status.restoreSize: Invalid value: "large": status.restoreSize in body should match '
        )


def test_a_row_of_a_snapshot_that_is_ready() -> None:
    status = {
        "readyToUse": True,
        "restoreSize": "1Gi",
        "boundVolumeSnapshotContentName": "content",
        "creationTime": BEFORE,
    }
    doc = merged({**TAKEN, "status": status}, {"spec": {"volumeSnapshotClassName": "fast"}})
    assert printed(SNAPSHOT, doc) == {
        "Name": "s",
        "ReadyToUse": True,
        "SourcePVC": "data",
        "SourceSnapshotContent": None,
        "RestoreSize": "1Gi",
        "SnapshotClass": "fast",
        "SnapshotContent": "content",
        "CreationTime": "27h",
        "Age": "27h",
    }


def test_what_is_not_known_yet_is_blank() -> None:
    row = printed(SNAPSHOT, TAKEN)
    assert {name for name, cell in row.items() if cell is None} == {
        "ReadyToUse",
        "SourceSnapshotContent",
        "RestoreSize",
        "SnapshotClass",
        "SnapshotContent",
        "CreationTime",
    }
