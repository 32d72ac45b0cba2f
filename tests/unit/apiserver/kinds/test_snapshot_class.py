import pytest

from mooring.apiserver.kinds.snapshot_class import SNAPSHOT_CLASS
from mooring.model.document import Doc
from tests.unit.apiserver.kinds.writing import BEFORE, create, merged, printed, update

CLASS: Doc = {
    "kind": "VolumeSnapshotClass",
    "apiVersion": "snapshot.storage.k8s.io/v1",
    "metadata": {"name": "fast", "creationTimestamp": BEFORE},
    "driver": "hostpath.csi.k8s.io",
    "deletionPolicy": "Delete",
}

CREATED: dict[str, tuple[Doc, list[str]]] = {
    "a class is fine": ({}, []),
    "policy and driver are required": (
        {"driver": None, "deletionPolicy": None},
        ["deletionPolicy: Required value", "driver: Required value"],
    ),
    "an unknown policy is named": (
        {"deletionPolicy": "Burn"},
        ['deletionPolicy: Unsupported value: "Burn": supported values: "Delete", "Retain"'],
    ),
}


@pytest.mark.parametrize(("patch", "complaints"), CREATED.values(), ids=CREATED)
def test_create(patch: Doc, complaints: list[str]) -> None:
    assert create(SNAPSHOT_CLASS, merged(CLASS, patch)) == complaints


def test_every_field_may_change() -> None:
    other = {"driver": "other", "deletionPolicy": "Retain", "parameters": {"a": "b"}}
    assert update(SNAPSHOT_CLASS, CLASS, other) == []


def test_a_row() -> None:
    assert printed(SNAPSHOT_CLASS, CLASS) == {
        "Name": "fast",
        "Driver": "hostpath.csi.k8s.io",
        "DeletionPolicy": "Delete",
        "Age": "27h",
    }
