import pytest

from mooring.apiserver.kinds.snapshot_content import SNAPSHOT_CONTENT
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

CONTENT: Doc = {
    "kind": "VolumeSnapshotContent",
    "apiVersion": "snapshot.storage.k8s.io/v1",
    "metadata": {"name": "c", "creationTimestamp": BEFORE},
    "spec": {
        "deletionPolicy": "Delete",
        "driver": "hostpath.csi.k8s.io",
        "source": {"volumeHandle": "v"},
        "volumeSnapshotRef": {"name": "s", "namespace": "default"},
    },
}
SKIPPED = (
    "<nil>: Invalid value: null: some validation rules were not checked because the object was "
    "invalid; correct the existing errors to complete validation"
)
ONE = "spec.source: Invalid value: exactly one of volumeHandle and snapshotHandle must be set"
BOTH = (
    "spec.volumeSnapshotRef: Invalid value: both spec.volumeSnapshotRef.name and "
    "spec.volumeSnapshotRef.namespace must be set"
)

CREATED: dict[str, tuple[Doc, list[str]]] = {
    "a content is fine": ({}, []),
    "a content made elsewhere is fine": (
        {"spec": {"source": {"volumeHandle": None, "snapshotHandle": "s"}}},
        [],
    ),
    "a spec is required": ({"spec": None}, ["spec: Required value", SKIPPED]),
    "policy, driver, source and snapshot are required": (
        {
            "spec": {
                "deletionPolicy": None,
                "driver": None,
                "source": None,
                "volumeSnapshotRef": None,
            }
        },
        [
            "spec.deletionPolicy: Required value",
            "spec.driver: Required value",
            "spec.source: Required value",
            "spec.volumeSnapshotRef: Required value",
            SKIPPED,
        ],
    ),
    "an unknown policy is named": (
        {"spec": {"deletionPolicy": "Burn"}},
        [
            'spec.deletionPolicy: Unsupported value: "Burn": supported values: "Delete", "Retain"',
            SKIPPED,
        ],
    ),
    "a source says what": ({"spec": {"source": {"volumeHandle": None}}}, [ONE]),
    "a source is one thing": ({"spec": {"source": {"snapshotHandle": "s"}}}, [ONE]),
    "a snapshot has a name": ({"spec": {"volumeSnapshotRef": {"name": None}}}, [BOTH]),
    "a snapshot has a namespace": ({"spec": {"volumeSnapshotRef": {"namespace": None}}}, [BOTH]),
}


@pytest.mark.parametrize(("patch", "complaints"), CREATED.values(), ids=CREATED)
def test_create(patch: Doc, complaints: list[str]) -> None:
    assert create(SNAPSHOT_CONTENT, merged(CONTENT, patch)) == complaints


def test_a_new_content_has_no_status_whatever_the_client_says() -> None:
    assert "status" not in created(SNAPSHOT_CONTENT, {**CONTENT, "status": {"readyToUse": True}})


MODED = merged(CONTENT, {"spec": {"sourceVolumeMode": "Block"}})

UPDATED: dict[str, tuple[Doc, Doc, list[str]]] = {
    "the policy may change": (CONTENT, {"spec": {"deletionPolicy": "Retain"}}, []),
    "the snapshot's uid may be given": (
        CONTENT,
        {"spec": {"volumeSnapshotRef": {"uid": "u"}}},
        [],
    ),
    "the handle may not change": (
        CONTENT,
        {"spec": {"source": {"volumeHandle": "w"}}},
        ['spec.source.volumeHandle: Invalid value: "w": volumeHandle is immutable'],
    ),
    "the handle may not give way to another": (
        CONTENT,
        {"spec": {"source": {"volumeHandle": None, "snapshotHandle": "s"}}},
        ["spec.source: Invalid value: volumeHandle is required once set"],
    ),
    "the volume's mode may be given": (CONTENT, {"spec": {"sourceVolumeMode": "Block"}}, []),
    "the volume's mode may not change": (
        MODED,
        {"spec": {"sourceVolumeMode": "Filesystem"}},
        ['spec.sourceVolumeMode: Invalid value: "Filesystem": sourceVolumeMode is immutable'],
    ),
    "the volume's mode may not go": (
        MODED,
        {"spec": {"sourceVolumeMode": None}},
        ["spec: Invalid value: sourceVolumeMode is required once set"],
    ),
    "a source may not go": (
        CONTENT,
        {"spec": {"source": None}},
        ["spec.source: Required value", SKIPPED],
    ),
}


@pytest.mark.parametrize(("old", "patch", "complaints"), UPDATED.values(), ids=UPDATED)
def test_update(old: Doc, patch: Doc, complaints: list[str]) -> None:
    assert update(SNAPSHOT_CONTENT, old, patch) == complaints


def test_a_size_is_not_negative() -> None:
    assert update_status(SNAPSHOT_CONTENT, CONTENT, {"status": {"restoreSize": 0}}) == []
    assert update_status(SNAPSHOT_CONTENT, CONTENT, {"status": {"restoreSize": -1}}) == [
        "status.restoreSize: Invalid value: -1: "
        "status.restoreSize in body should be greater than or equal to 0"
    ]


def test_a_row() -> None:
    doc = {**CONTENT, "status": {"readyToUse": False, "restoreSize": 1024}}
    assert printed(SNAPSHOT_CONTENT, doc) == {
        "Name": "c",
        "ReadyToUse": False,
        "RestoreSize": 1024,
        "DeletionPolicy": "Delete",
        "Driver": "hostpath.csi.k8s.io",
        "VolumeSnapshotClass": None,
        "VolumeSnapshot": "s",
        "VolumeSnapshotNamespace": "default",
        "Age": "27h",
    }
