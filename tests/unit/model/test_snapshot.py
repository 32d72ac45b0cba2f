"""VolumeSnapshots, contents and classes as controllers read them."""

from typing import Any

import pytest

from mooring.model.keys import Key
from mooring.model.snapshot import DeletionPolicy, Snapshot, SnapshotClass, SnapshotContent
from mooring.model.storage_terms import VolumeMode
from tests.unit.model.reading import read

SNAPSHOT: dict[str, Any] = {
    "apiVersion": "snapshot.storage.k8s.io/v1",
    "kind": "VolumeSnapshot",
    "metadata": {"name": "snap", "namespace": "ns", "uid": "u-snap", "generation": 1},
    "spec": {
        "source": {"persistentVolumeClaimName": "data"},
        "volumeSnapshotClassName": "daily",
    },
    "status": {
        "boundVolumeSnapshotContentName": "snapcontent-u-snap",
        "creationTime": "2026-01-01T00:00:00Z",
        "readyToUse": True,
        "restoreSize": "8Gi",
        "error": {"time": "2026-01-01T00:00:00Z", "message": "slow"},
    },
}
CONTENT: dict[str, Any] = {
    "apiVersion": "snapshot.storage.k8s.io/v1",
    "kind": "VolumeSnapshotContent",
    "metadata": {
        "name": "snapcontent-u-snap",
        "annotations": {
            "snapshot.storage.kubernetes.io/volumesnapshot-being-created": "yes",
            "snapshot.storage.kubernetes.io/volumesnapshot-being-deleted": "yes",
        },
    },
    "spec": {
        "driver": "ebs.csi.example.com",
        "deletionPolicy": "Delete",
        "source": {"volumeHandle": "vol-1"},
        "sourceVolumeMode": "Block",
        "volumeSnapshotClassName": "daily",
        "volumeSnapshotRef": {"kind": "VolumeSnapshot", "namespace": "ns", "name": "snap"},
    },
    "status": {
        "snapshotHandle": "snap-1",
        "creationTime": 1767225600000000000,
        "restoreSize": 8589934592,
        "readyToUse": True,
    },
}


def test_a_ready_snapshot() -> None:
    snapshot = read(SNAPSHOT, Snapshot)
    assert snapshot.is_ready
    assert snapshot.content_name == "snapcontent-u-snap"
    assert snapshot.spec.source.persistent_volume_claim_name == "data"
    assert snapshot.spec.volume_snapshot_class_name == "daily"
    assert snapshot.status is not None
    assert snapshot.status.restore_size == "8Gi"
    assert snapshot.status.error is not None
    assert snapshot.status.error.message == "slow"


@pytest.mark.parametrize("status", [None, {}, {"readyToUse": False}], ids=["none", "empty", "no"])
def test_a_snapshot_is_not_ready_until_it_says_so(status: dict[str, Any] | None) -> None:
    snapshot = read(SNAPSHOT | {"status": status}, Snapshot)
    assert not snapshot.is_ready
    assert snapshot.content_name == ""


def test_a_content_taken_by_the_driver() -> None:
    content = read(CONTENT, SnapshotContent)
    assert content.is_ready
    assert content.snapshot_handle == "snap-1"
    assert content.spec.deletion_policy is DeletionPolicy.DELETE
    assert content.spec.source_volume_mode is VolumeMode.BLOCK
    assert content.spec.volume_snapshot_ref.key == Key("ns", "snap")
    assert content.status is not None
    assert content.status.restore_size == 8 * 1024**3
    assert content.is_being_created
    assert content.is_being_deleted


def test_a_content_made_by_hand_knows_its_handle_from_the_start() -> None:
    spec = CONTENT["spec"] | {"source": {"snapshotHandle": "snap-9"}}
    content = read(
        CONTENT | {"metadata": {"name": "c"}, "spec": spec, "status": None}, SnapshotContent
    )
    assert content.snapshot_handle == "snap-9"
    assert not content.is_ready
    assert not content.is_being_created
    assert not content.is_being_deleted


def test_a_class() -> None:
    document = {
        "apiVersion": "snapshot.storage.k8s.io/v1",
        "kind": "VolumeSnapshotClass",
        "metadata": {
            "name": "daily",
            "annotations": {"snapshot.storage.kubernetes.io/is-default-class": "true"},
        },
        "driver": "ebs.csi.example.com",
        "deletionPolicy": "Retain",
        "parameters": {"tier": "cold"},
    }
    daily = read(document, SnapshotClass)
    assert daily.is_default
    assert daily.deletion_policy is DeletionPolicy.RETAIN
    assert daily.parameters == {"tier": "cold"}
    assert not read(document | {"metadata": {"name": "other"}}, SnapshotClass).is_default
