"""Worlds for tests, made of documents."""

from datetime import UTC, datetime
from typing import Any

from mooring.model.attachment import Attachment
from mooring.model.claim import Claim
from mooring.model.csi_driver import CsiDriver
from mooring.model.csi_node import CsiNode
from mooring.model.daemon_set import DaemonSet
from mooring.model.deployment import Deployment
from mooring.model.event import Event
from mooring.model.lease import Lease
from mooring.model.meta import ApiObject
from mooring.model.namespace import Namespace
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.replica_set import ReplicaSet
from mooring.model.snapshot import Snapshot, SnapshotClass, SnapshotContent
from mooring.model.stateful_set import StatefulSet
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume
from mooring.model.wire import read_document
from mooring.why.world import World, world_of

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
KINDS: tuple[type[ApiObject], ...] = (
    *(Claim, Volume, Pod, Node, StorageClass, CsiDriver, CsiNode, Event),
    *(Snapshot, SnapshotClass, SnapshotContent, Attachment, Lease),
    *(DaemonSet, Deployment, ReplicaSet, StatefulSet, Namespace),
)
_BY_NAME = {kind.resource.kind: kind for kind in KINDS}


def typed(doc: dict[str, Any]) -> ApiObject:
    return read_document(doc, _BY_NAME[doc["kind"]])


def whole_world(*docs: dict[str, Any]) -> World:
    """All there is in the cluster."""
    return world_of((typed(doc) for doc in docs), whole=KINDS)


def doc(kind: str, name: str, namespace: str = "", **more: Any) -> dict[str, Any]:
    metadata = {"name": name, "uid": f"uid-{name}", **more.pop("metadata", {})}
    if namespace:
        metadata["namespace"] = namespace
    return {"kind": kind, "metadata": metadata, **more}


def claim(name: str = "data", phase: str = "Pending", **more: Any) -> dict[str, Any]:
    status = {"phase": phase, **more.pop("status", {})}
    metadata = more.pop("metadata", {})
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "",
        "resources": {"requests": {"storage": "1Gi"}},
        **more,
    }
    return doc("PersistentVolumeClaim", name, "shop", spec=spec, status=status, metadata=metadata)


def bound_claim(name: str = "data", **more: Any) -> dict[str, Any]:
    done = {"pv.kubernetes.io/bind-completed": "yes"}
    metadata = {"annotations": done, **more.pop("metadata", {})}
    status = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}
    return claim(
        name,
        phase="Bound",
        volumeName="disk",
        metadata=metadata,
        status={**status, **more.pop("status", {})},
        **more,
    )


def volume(name: str = "disk", phase: str = "Available", **spec: Any) -> dict[str, Any]:
    has = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "",
        **spec,
    }
    return doc("PersistentVolume", name, spec=has, status={"phase": phase})


def bound_volume(**spec: Any) -> dict[str, Any]:
    reference = {
        "kind": "PersistentVolumeClaim",
        "namespace": "shop",
        "name": "data",
        "uid": "uid-data",
    }
    return volume(phase="Bound", claimRef=reference, **spec)
