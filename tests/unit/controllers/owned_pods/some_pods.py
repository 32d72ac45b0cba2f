"""Pods and an owner of pods, for tests of those who own pods."""

from datetime import datetime
from typing import Any

from mooring.model.document import Doc
from mooring.model.pod import Pod
from mooring.model.replication_controller import ReplicationController
from mooring.model.wire import read_document

NOW = datetime.fromisoformat("2026-01-02T03:04:05Z")
GONE: Doc = {"deletionTimestamp": "2026-01-02T03:04:05Z"}
OWNER: Doc = {
    "apiVersion": "v1",
    "kind": "ReplicationController",
    "name": "web",
    "uid": "u-web",
    "controller": True,
    "blockOwnerDeletion": True,
}
OTHER: Doc = {**OWNER, "kind": "ReplicaSet", "uid": "u-other"}


def an_owner(**metadata: Any) -> ReplicationController:
    spec = {"selector": {"app": "web"}}
    named = {"name": "web", "namespace": "ns", "uid": "u-web", **metadata}
    return read_document({"metadata": named, "spec": spec}, ReplicationController)


def a_pod(
    name: str,
    *,
    owner: Doc | None = OWNER,
    labels: Doc | None = None,
    phase: str = "Running",
    ready: bool = True,
    node: str = "n1",
    since: str = "2026-01-02T03:00:00Z",
    restarts: int = 0,
    **metadata: Any,
) -> Pod:
    condition = {"type": "Ready", "status": str(ready), "lastTransitionTime": since}
    return read_document(
        {
            "metadata": {
                "name": name,
                "namespace": "ns",
                "uid": f"u-{name}",
                "labels": {"app": "web"} if labels is None else labels,
                "ownerReferences": [owner] if owner else [],
                "creationTimestamp": since,
                **metadata,
            },
            "spec": {"nodeName": node},
            "status": {
                "phase": phase,
                "conditions": [condition],
                "containerStatuses": [{"name": "c", "restartCount": restarts}],
            },
        },
        Pod,
    )
