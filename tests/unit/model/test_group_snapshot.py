"""VolumeGroupSnapshots, contents and classes as controllers read them."""

from typing import Any

from mooring.model.group_snapshot import (
    GroupHandles,
    GroupSnapshot,
    GroupSnapshotClass,
    GroupSnapshotContent,
    MemberSnapshot,
)
from mooring.model.keys import Key
from mooring.model.snapshot import DeletionPolicy
from tests.unit.model.reading import read

API = "groupsnapshot.storage.k8s.io/v1"

SNAPSHOT: dict[str, Any] = {
    "apiVersion": API,
    "kind": "VolumeGroupSnapshot",
    "metadata": {"name": "all", "namespace": "ns"},
    "spec": {
        "source": {"selector": {"matchLabels": {"app": "db"}}},
        "volumeGroupSnapshotClassName": "nightly",
    },
    "status": {
        "boundVolumeGroupSnapshotContentName": "groupsnapcontent-1",
        "creationTime": "2026-01-01T00:00:00Z",
        "readyToUse": True,
    },
}
CONTENT: dict[str, Any] = {
    "apiVersion": API,
    "kind": "VolumeGroupSnapshotContent",
    "metadata": {
        "name": "groupsnapcontent-1",
        "annotations": {
            "groupsnapshot.storage.kubernetes.io/volumegroupsnapshot-being-created": "yes"
        },
    },
    "spec": {
        "driver": "ebs.csi.example.com",
        "deletionPolicy": "Retain",
        "source": {"volumeHandles": ["vol-1", "vol-2"]},
        "volumeGroupSnapshotRef": {"namespace": "ns", "name": "all"},
    },
    "status": {
        "volumeGroupSnapshotHandle": "group-1",
        "readyToUse": True,
        "volumeSnapshotInfoList": [
            {
                "volumeHandle": "vol-1",
                "snapshotHandle": "snap-1",
                "creationTime": 5,
                "readyToUse": True,
                "restoreSize": 1024,
            }
        ],
    },
}


def test_a_ready_group() -> None:
    group = read(SNAPSHOT, GroupSnapshot)
    assert group.is_ready
    assert group.content_name == "groupsnapcontent-1"
    assert group.spec.source.selector is not None
    assert group.spec.source.selector.selector().matches({"app": "db"})
    assert group.spec.volume_group_snapshot_class_name == "nightly"


def test_a_new_group() -> None:
    group = read(SNAPSHOT | {"status": None}, GroupSnapshot)
    assert not group.is_ready
    assert group.content_name == ""


def test_a_content_with_its_members() -> None:
    content = read(CONTENT, GroupSnapshotContent)
    assert content.is_ready
    assert content.is_being_created
    assert content.spec.deletion_policy is DeletionPolicy.RETAIN
    assert content.spec.source.volume_handles == ("vol-1", "vol-2")
    assert content.spec.volume_group_snapshot_ref.key == Key("ns", "all")
    assert content.status is not None
    assert content.status.volume_snapshot_info_list == (
        MemberSnapshot("vol-1", "snap-1", 5, ready_to_use=True, restore_size=1024),
    )


def test_a_content_made_by_hand() -> None:
    handles = {"volumeGroupSnapshotHandle": "group-9", "volumeSnapshotHandles": ["snap-9"]}
    spec = CONTENT["spec"] | {"source": {"groupSnapshotHandles": handles}}
    document = CONTENT | {"metadata": {"name": "c"}, "spec": spec, "status": None}
    content = read(document, GroupSnapshotContent)
    assert content.spec.source.group_snapshot_handles == GroupHandles("group-9", ("snap-9",))
    assert not content.is_ready
    assert not content.is_being_created


def test_a_class() -> None:
    document = {
        "apiVersion": API,
        "kind": "VolumeGroupSnapshotClass",
        "metadata": {
            "name": "nightly",
            "annotations": {"groupsnapshot.storage.kubernetes.io/is-default-class": "true"},
        },
        "driver": "ebs.csi.example.com",
        "deletionPolicy": "Delete",
    }
    assert read(document, GroupSnapshotClass).is_default
    assert not read(document | {"metadata": {"name": "other"}}, GroupSnapshotClass).is_default
