"""Snapshots, contents, claims and volumes to decide about."""

from typing import Any

from mooring.model.claim import Claim
from mooring.model.group_snapshot import GroupSnapshot, GroupSnapshotClass, GroupSnapshotContent
from mooring.model.snapshot import Snapshot, SnapshotClass, SnapshotContent
from mooring.model.volume import Volume
from mooring.model.wellknown import Finalizer
from mooring.model.wire import read_document

NOW = "2026-01-02T03:04:05Z"
GONE = "2026-01-02T03:00:00Z"
DRIVER = "d.example.com"


def a_snapshot(
    *finalizers: str, deleting: bool = False, status: Any = None, **source: str
) -> Snapshot:
    metadata: dict[str, Any] = {
        **{"name": "snap", "namespace": "ns", "uid": "u"},
        "finalizers": finalizers,
        "deletionTimestamp": GONE if deleting else None,
    }
    spec = {
        "source": source or {"persistentVolumeClaimName": "data"},
        "volumeSnapshotClassName": "c",
    }
    doc = {"metadata": metadata, "spec": spec, "status": status}
    return read_document(doc, Snapshot)


def a_content(
    snapshot_uid: str = "u", policy: str = "Delete", status: Any = None, **more: Any
) -> SnapshotContent:
    metadata = {
        "name": "snapcontent-u",
        "uid": "content-uid",
        "finalizers": [Finalizer.SNAPSHOT_CONTENT],
    }
    spec = {
        "driver": DRIVER,
        "deletionPolicy": policy,
        "source": more.pop("source", {"volumeHandle": "h"}),
        "volumeSnapshotRef": {"namespace": "ns", "name": "snap", "uid": snapshot_uid},
    }
    return read_document(
        {"metadata": metadata | more, "spec": spec, "status": status}, SnapshotContent
    )


def a_claim(phase: str = "Bound", **metadata: Any) -> Claim:
    known = {"name": "data", "namespace": "ns", "uid": "claim-uid"}
    doc = {
        "metadata": known | metadata,
        "spec": {"volumeName": "pv"},
        "status": {"phase": phase},
    }
    return read_document(doc, Claim)


def a_volume(uid: str = "claim-uid", driver: str = DRIVER, **source: Any) -> Volume:
    spec = {
        "claimRef": {"namespace": "ns", "name": "data", "uid": uid},
        **(source or {"csi": {"driver": driver, "volumeHandle": "h"}}),
    }
    return read_document({"metadata": {"name": "pv"}, "spec": spec}, Volume)


def a_class(name: str = "c", driver: str = DRIVER, policy: str = "Delete") -> SnapshotClass:
    doc = {"metadata": {"name": name}, "driver": driver, "deletionPolicy": policy}
    return read_document(doc, SnapshotClass)


def a_group(*finalizers: str, deleting: bool = False, status: Any = None) -> GroupSnapshot:
    metadata = {
        **{"name": "group", "namespace": "ns", "uid": "g"},
        "finalizers": finalizers,
        "deletionTimestamp": GONE if deleting else None,
    }
    spec = {"source": {"selector": {}}, "volumeGroupSnapshotClassName": "c"}
    return read_document({"metadata": metadata, "spec": spec, "status": status}, GroupSnapshot)


def a_group_content(
    policy: str = "Delete", status: Any = None, **more: Any
) -> GroupSnapshotContent:
    metadata = {
        "name": "groupsnapcontent-g",
        "uid": "group-content-uid",
        "finalizers": [Finalizer.GROUP_SNAPSHOT_CONTENT],
    }
    spec = {
        "driver": DRIVER,
        "deletionPolicy": policy,
        "source": {"volumeHandles": ["h1", "h2"]},
        "volumeGroupSnapshotRef": {"namespace": "ns", "name": "group", "uid": "g"},
    }
    doc = {"metadata": metadata | more, "spec": spec, "status": status}
    return read_document(doc, GroupSnapshotContent)


def a_group_class(driver: str = DRIVER) -> GroupSnapshotClass:
    doc = {"metadata": {"name": "c"}, "driver": driver, "deletionPolicy": "Delete"}
    return read_document(doc, GroupSnapshotClass)
