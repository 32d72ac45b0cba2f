import pytest

from mooring.apiserver.kinds.group_snapshot_class import (
    GROUP_SNAPSHOT_CLASS,
    GROUP_SNAPSHOT_CLASS_V1,
)
from mooring.model.document import Doc
from tests.unit.apiserver.kinds.writing import BEFORE, create, merged, printed, update

CLASS: Doc = {
    "kind": "VolumeGroupSnapshotClass",
    "apiVersion": "groupsnapshot.storage.k8s.io/v1beta2",
    "metadata": {"name": "fast", "creationTimestamp": BEFORE},
    "driver": "hostpath.csi.k8s.io",
    "deletionPolicy": "Delete",
    "parameters": {"a": "b"},
}
SKIPPED = (
    "<nil>: Invalid value: null: some validation rules were not checked because the object was "
    "invalid; correct the existing errors to complete validation"
)

CREATED: dict[str, tuple[Doc, list[str]]] = {
    "a class is fine": ({}, []),
    "policy and driver are required": (
        {"driver": None, "deletionPolicy": None},
        ["deletionPolicy: Required value", "driver: Required value", SKIPPED],
    ),
    "an unknown policy is named": (
        {"deletionPolicy": "Burn"},
        [
            'deletionPolicy: Unsupported value: "Burn": supported values: "Delete", "Retain"',
            SKIPPED,
        ],
    ),
}


@pytest.mark.parametrize(("patch", "complaints"), CREATED.values(), ids=CREATED)
def test_create(patch: Doc, complaints: list[str]) -> None:
    assert create(GROUP_SNAPSHOT_CLASS, merged(CLASS, patch)) == complaints


UPDATED: dict[str, tuple[Doc, list[str]]] = {
    "labels may change": ({"metadata": {"labels": {"a": "b"}}}, []),
    "the driver may not change": (
        {"driver": "other"},
        ['driver: Invalid value: "other": driver is immutable once set'],
    ),
    "the policy may not change": (
        {"deletionPolicy": "Retain"},
        ['deletionPolicy: Invalid value: "Retain": deletionPolicy is immutable once set'],
    ),
    "parameters may not change": (
        {"parameters": {"a": "c"}},
        ["parameters: Invalid value: parameters are immutable once set"],
    ),
}


@pytest.mark.parametrize(("patch", "complaints"), UPDATED.values(), ids=UPDATED)
def test_update(patch: Doc, complaints: list[str]) -> None:
    assert update(GROUP_SNAPSHOT_CLASS, CLASS, patch) == complaints


def test_a_row() -> None:
    assert printed(GROUP_SNAPSHOT_CLASS, CLASS) == {
        "Name": "fast",
        "Driver": "hostpath.csi.k8s.io",
        "DeletionPolicy": "Delete",
        "Age": "27h",
    }


def test_both_versions_show_the_same_objects() -> None:
    assert GROUP_SNAPSHOT_CLASS.version == "v1beta2"
    assert GROUP_SNAPSHOT_CLASS_V1.version == "v1"
    assert GROUP_SNAPSHOT_CLASS.store_table == GROUP_SNAPSHOT_CLASS_V1.store_table
