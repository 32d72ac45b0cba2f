"""Deployments and replica sets, for tests of what is decided about them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from mooring.controllers.deployment.decide.deployment import decide
from mooring.controllers.deployment.plan import (
    AdoptSet,
    AnnotateSet,
    CreateSet,
    DeleteSet,
    Plan,
    ReleaseSet,
    SaveStatus,
    ScaleSet,
    Step,
)
from mooring.controllers.deployment.view import DeploymentView
from mooring.model.deployment import Deployment
from mooring.model.document import Doc
from mooring.model.replica_set import ReplicaSet
from mooring.model.wire import read_document

NOW = datetime.fromisoformat("2026-01-02T03:04:05Z")
GONE: Doc = {"deletionTimestamp": "2026-01-02T03:04:05Z"}
OWNER: Doc = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "name": "web",
    "uid": "u-web",
    "controller": True,
    "blockOwnerDeletion": True,
}
PREFIX = "deployment.kubernetes.io"


def a_template(image: str = "new") -> Doc:
    containers = [{"name": "c", "image": image}]
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers}}


def a_deployment(
    replicas: int = 3,
    surge: int | str = "25%",
    unavailable: int | str = "25%",
    *,
    status: Doc | None = None,
    metadata: Doc | None = None,
    **spec: Any,
) -> Deployment:
    rolling = {"maxSurge": surge, "maxUnavailable": unavailable}
    document = {
        "metadata": {
            "name": "web",
            "namespace": "ns",
            "uid": "u-web",
            "generation": 1,
            **(metadata or {}),
        },
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": a_template(),
            "strategy": {"type": "RollingUpdate", "rollingUpdate": rolling},
            **spec,
        },
        "status": status or {},
    }
    return read_document(document, Deployment)


def a_set(
    image: str,
    replicas: int,
    available: int | None = None,
    *,
    revision: int = 1,
    desired: int = 3,
    most: int = 4,
    owner: Doc | None = OWNER,
    status: Doc | None = None,
    **metadata: Any,
) -> ReplicaSet:
    """A replica set of this image, which all its pods are there of."""
    ready = replicas if available is None else available
    template = a_template(image)
    template["metadata"]["labels"]["pod-template-hash"] = image
    shown = {"replicas": replicas, "readyReplicas": ready, "availableReplicas": ready}
    document = {
        "metadata": {
            "name": f"web-{image}",
            "namespace": "ns",
            "uid": f"u-{image}",
            "generation": 1,
            "labels": {"app": "web", "pod-template-hash": image},
            "ownerReferences": [owner] if owner else [],
            "creationTimestamp": f"2026-01-01T00:00:{revision:02}Z",
            "annotations": {
                f"{PREFIX}/revision": str(revision),
                f"{PREFIX}/desired-replicas": str(desired),
                f"{PREFIX}/max-replicas": str(most),
            },
            **metadata,
        },
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web", "pod-template-hash": image}},
            "template": template,
        },
        "status": {**shown, "observedGeneration": 1, **(status or {})},
    }
    return read_document(document, ReplicaSet)


def planned(
    deployment: Deployment, *sets: ReplicaSet, unfinished: Mapping[str, int] | None = None
) -> Plan:
    return decide(DeploymentView(deployment, sets, unfinished or {}, NOW))


def steps(
    deployment: Deployment, *sets: ReplicaSet, unfinished: Mapping[str, int] | None = None
) -> list[str]:
    """What is done to replica sets; the status apart."""
    plan = planned(deployment, *sets, unfinished=unfinished)
    return [told(step) for step in plan.steps if not isinstance(step, SaveStatus)]


def saved(deployment: Deployment, *sets: ReplicaSet) -> SaveStatus:
    (found,) = [s for s in planned(deployment, *sets).steps if isinstance(s, SaveStatus)]
    return found


def told(step: Step) -> str:
    match step:
        case AdoptSet(_, each):
            return f"adopt {each.name}"
        case ReleaseSet(_, each):
            return f"release {each.name}"
        case CreateSet():
            return f"create {step.replicas}"
        case AnnotateSet(each, annotations, _):
            said = ",".join(f"{k.rpartition('/')[2]}={v}" for k, v in sorted(annotations.items()))
            return f"annotate {each.name} {said}"
        case ScaleSet(_, each, replicas, _):
            return f"scale {each.name} {each.spec.replicas}->{replicas}"
        case DeleteSet(each):
            return f"delete {each.name}"
        case SaveStatus():
            return "status"
