import pytest

from mooring.apiserver.kinds.group_snapshot_content import (
    GROUP_SNAPSHOT_CONTENT,
    GROUP_SNAPSHOT_CONTENT_V1,
)
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
    "kind": "VolumeGroupSnapshotContent",
    "apiVersion": "groupsnapshot.storage.k8s.io/v1beta2",
    "metadata": {"name": "c", "creationTimestamp": BEFORE},
    "spec": {
        "deletionPolicy": "Delete",
        "driver": "hostpath.csi.k8s.io",
        "source": {"volumeHandles": ["v"]},
        "volumeGroupSnapshotRef": {"name": "g", "namespace": "default"},
    },
}
HANDLES = {"volumeGroupSnapshotHandle": "h", "volumeSnapshotHandles": ["s"]}
SKIPPED = (
    "<nil>: Invalid value: null: some validation rules were not checked because the object was "
    "invalid; correct the existing errors to complete validation"
)
ONE = (
    "spec.source: Invalid value: exactly one of volumeHandles and groupSnapshotHandles must be set"
)
REF = "spec.volumeGroupSnapshotRef: Invalid value: "
BOTH = f"{REF}both volumeGroupSnapshotRef.name and volumeGroupSnapshotRef.namespace must be set"
OTHER = f"{REF}volumeGroupSnapshotRef.name and volumeGroupSnapshotRef.namespace are immutable"

CREATED: dict[str, tuple[Doc, list[str]]] = {
    "a content is fine": ({}, []),
    "a content made elsewhere is fine": (
        {"spec": {"source": {"volumeHandles": None, "groupSnapshotHandles": HANDLES}}},
        [],
    ),
    "a spec is required": ({"spec": None}, ["spec: Required value", SKIPPED]),
    "policy, driver, source and snapshot are required": (
        {
            "spec": {
                "deletionPolicy": None,
                "driver": None,
                "source": None,
                "volumeGroupSnapshotRef": None,
            }
        },
        [
            "spec.deletionPolicy: Required value",
            "spec.driver: Required value",
            "spec.source: Required value",
            "spec.volumeGroupSnapshotRef: Required value",
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
    "the handles of a group are whole": (
        {"spec": {"source": {"volumeHandles": None, "groupSnapshotHandles": {}}}},
        [
            "spec.source.groupSnapshotHandles.volumeGroupSnapshotHandle: Required value",
            "spec.source.groupSnapshotHandles.volumeSnapshotHandles: Required value",
            SKIPPED,
        ],
    ),
    "a source says what": ({"spec": {"source": {"volumeHandles": None}}}, [ONE]),
    "a source is one thing": ({"spec": {"source": {"groupSnapshotHandles": HANDLES}}}, [ONE]),
    "a snapshot has a namespace": (
        {"spec": {"volumeGroupSnapshotRef": {"namespace": None}}},
        [BOTH],
    ),
}


@pytest.mark.parametrize(("patch", "complaints"), CREATED.values(), ids=CREATED)
def test_create(patch: Doc, complaints: list[str]) -> None:
    assert create(GROUP_SNAPSHOT_CONTENT, merged(CONTENT, patch)) == complaints


def test_a_new_content_has_no_status_whatever_the_client_says() -> None:
    given = {**CONTENT, "status": {"readyToUse": True}}
    assert "status" not in created(GROUP_SNAPSHOT_CONTENT, given)


OWNED = merged(
    CONTENT,
    {"spec": {"volumeGroupSnapshotRef": {"uid": "u"}, "volumeGroupSnapshotClassName": "fast"}},
)

UPDATED: dict[str, tuple[Doc, Doc, list[str]]] = {
    "the policy may change": (CONTENT, {"spec": {"deletionPolicy": "Retain"}}, []),
    "the class may be given": (CONTENT, {"spec": {"volumeGroupSnapshotClassName": "fast"}}, []),
    "the class may not change": (
        OWNED,
        {"spec": {"volumeGroupSnapshotClassName": "slow"}},
        [
            'spec.volumeGroupSnapshotClassName: Invalid value: "slow": '
            "volumeGroupSnapshotClassName is immutable once set"
        ],
    ),
    "the driver may not change": (
        CONTENT,
        {"spec": {"driver": "other"}},
        ['spec.driver: Invalid value: "other": driver is immutable once set'],
    ),
    "the handles may not change": (
        CONTENT,
        {"spec": {"source": {"volumeHandles": ["w"]}}},
        ["spec.source.volumeHandles: Invalid value: volumeHandles is immutable"],
    ),
    "the handles may not give way to others": (
        CONTENT,
        {"spec": {"source": {"volumeHandles": None, "groupSnapshotHandles": HANDLES}}},
        ["spec.source: Invalid value: volumeHandles is required once set"],
    ),
    "the snapshot's uid may be given": (
        CONTENT,
        {"spec": {"volumeGroupSnapshotRef": {"uid": "u"}}},
        [],
    ),
    "the snapshot's uid may not change": (
        OWNED,
        {"spec": {"volumeGroupSnapshotRef": {"uid": "w"}}},
        [f"{REF}volumeGroupSnapshotRef.uid is immutable once set"],
    ),
    "the snapshot may not be another": (
        CONTENT,
        {"spec": {"volumeGroupSnapshotRef": {"name": "other"}}},
        [OTHER],
    ),
}


@pytest.mark.parametrize(("old", "patch", "complaints"), UPDATED.values(), ids=UPDATED)
def test_update(old: Doc, patch: Doc, complaints: list[str]) -> None:
    assert update(GROUP_SNAPSHOT_CONTENT, old, patch) == complaints


def test_the_handle_of_the_group_is_given_once() -> None:
    field = "volumeGroupSnapshotHandle"
    assert update_status(GROUP_SNAPSHOT_CONTENT, CONTENT, {"status": {field: "h"}}) == []
    made = {**CONTENT, "status": {field: "h"}}
    assert update_status(GROUP_SNAPSHOT_CONTENT, made, {"status": {field: "i"}}) == [
        f'status.{field}: Invalid value: "i": {field} is immutable once set'
    ]


def test_a_row() -> None:
    assert printed(GROUP_SNAPSHOT_CONTENT, {**OWNED, "status": {"readyToUse": True}}) == {
        "Name": "c",
        "ReadyToUse": True,
        "DeletionPolicy": "Delete",
        "Driver": "hostpath.csi.k8s.io",
        "VolumeGroupSnapshotClass": "fast",
        "VolumeGroupSnapshotNamespace": "default",
        "VolumeGroupSnapshot": "g",
        "Age": "27h",
    }


def test_both_versions_show_the_same_objects() -> None:
    assert GROUP_SNAPSHOT_CONTENT.version == "v1beta2"
    assert GROUP_SNAPSHOT_CONTENT_V1.version == "v1"
    assert GROUP_SNAPSHOT_CONTENT.store_table == GROUP_SNAPSHOT_CONTENT_V1.store_table
