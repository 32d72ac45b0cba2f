"""Stateful sets, their pods and claims as values, and a world that carries plans out."""

from datetime import datetime
from typing import Any

import msgspec

from mooring.controllers.owned_pods.plan import Adopt, CreatePods, DeletePod, Release
from mooring.controllers.revisions.plan import (
    AdoptRevision,
    CreateRevision,
    DeleteRevision,
    RaiseRevision,
)
from mooring.controllers.statefulset.plan import (
    CreateClaim,
    GrowClaim,
    LabelPod,
    SaveStatus,
    SetClaimOwners,
    Step,
)
from mooring.controllers.statefulset.view import StatefulSetView
from mooring.model.claim import Claim
from mooring.model.controller_revision import ControllerRevision
from mooring.model.document import Doc
from mooring.model.pod import Pod
from mooring.model.stateful_set import StatefulSet
from mooring.model.steps import Emit
from mooring.model.storage_class import StorageClass
from mooring.model.wire import read_document

NOW = datetime.fromisoformat("2026-01-02T03:04:05Z")
LONG_AGO = "2026-01-02T03:00:00Z"
GOING: Doc = {"deletionTimestamp": LONG_AGO}
UID = "u-web"


def reference(kind: str, name: str, uid: str, api_version: str = "apps/v1", **fields: Any) -> Doc:
    usual = {"controller": True, "blockOwnerDeletion": True}
    return {"apiVersion": api_version, "kind": kind, "name": name, "uid": uid, **usual, **fields}


OF_SET = reference("StatefulSet", "web", UID)


def of_pod(ordinal: int, uid: str = "") -> Doc:
    return reference("Pod", f"web-{ordinal}", uid or f"u-web-{ordinal}", "v1")


def template(image: str = "x") -> Doc:
    return {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "c", "image": image}]},
    }


def claim_template(storage: str = "1Gi") -> Doc:
    return {"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": storage}}}}


def a_set(
    replicas: int = 3, *, status: Doc | None = None, metadata: Doc | None = None, **spec: Any
) -> StatefulSet:
    usual = {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": "web"}},
        "template": template(),
        "serviceName": "web",
        "volumeClaimTemplates": [claim_template()],
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
    }
    named = {"name": "web", "namespace": "ns", "uid": UID, "generation": 1, **(metadata or {})}
    doc = {"metadata": named, "spec": {**usual, **spec}, "status": status or {}}
    return read_document(doc, StatefulSet)


def a_pod(
    ordinal: int,
    revision: str = "web-1",
    *,
    phase: str = "Running",
    ready: bool = True,
    since: str = LONG_AGO,
    **metadata: Any,
) -> Pod:
    name = f"web-{ordinal}"
    labels = {
        "app": "web",
        "statefulset.kubernetes.io/pod-name": name,
        "apps.kubernetes.io/pod-index": str(ordinal),
        "controller-revision-hash": revision,
    }
    ready_since = {"type": "Ready", "status": str(ready), "lastTransitionTime": since}
    doc: Doc = {
        "metadata": {
            "name": name,
            "namespace": "ns",
            "uid": f"u-{name}",
            "labels": labels,
            "ownerReferences": [OF_SET],
            **metadata,
        },
        "spec": {
            "nodeName": "n1",
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": f"data-{name}"}}],
        },
        "status": {"phase": phase, "conditions": [ready_since]},
    }
    return read_document(doc, Pod)


def a_claim(ordinal: int, *owners: Doc, storage: str = "1Gi", **metadata: Any) -> Claim:
    doc = {
        "metadata": {
            "name": f"data-web-{ordinal}",
            "namespace": "ns",
            "uid": f"u-data-{ordinal}",
            "ownerReferences": list(owners),
            **metadata,
        },
        "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": storage}}},
        "status": {"phase": "Bound", "capacity": {"storage": storage}},
    }
    return read_document(doc, Claim)


def a_class(*, expands: bool = True) -> StorageClass:
    doc = {"metadata": {"name": "fast"}, "allowVolumeExpansion": expands}
    return read_document(doc, StorageClass)


def a_revision(number: int = 1, image: str = "x") -> ControllerRevision:
    data = {"spec": {"template": {**template(image), "$patch": "replace"}}}
    metadata = {"name": f"web-{number}", "namespace": "ns", "ownerReferences": [OF_SET]}
    doc = {"metadata": metadata, "data": data, "revision": number}
    return read_document(doc, ControllerRevision)


def a_view(
    set_: StatefulSet,
    *pods: Pod,
    claims: tuple[Claim, ...] | None = None,
    revisions: tuple[ControllerRevision, ...] = (a_revision(),),
    doomed: frozenset[str] = frozenset(),
    expands: bool = True,
) -> StatefulSetView:
    """With a claim for each pod, and each that is wanted, unless others are given."""
    if claims is None:
        numbers = {*set_.ordinals, *(set_.find_ordinal(pod.name) or 0 for pod in pods)}
        claims = tuple(a_claim(number) for number in numbers)
    return StatefulSetView(
        set_,
        pods,
        {claim.name: claim for claim in claims},
        revisions,
        {"fast": a_class(expands=expands)},
        doomed,
        NOW,
    )


def told(step: Step) -> str:
    """A step in a few words."""
    match step:
        case SaveStatus():
            return "status"
        case CreatePods(_, documents):
            (pod,) = documents
            revision = pod["metadata"]["labels"]["controller-revision-hash"]
            return f"create {pod['metadata']['name']} of {revision}"
        case DeletePod(_, pod):
            return f"delete {pod.name}"
        case CreateClaim(_, _, document):
            return f"claim {document['metadata']['name']}"
        case SetClaimOwners(_, claim, owners):
            return f"{claim.name} of {','.join(owner['kind'] for owner in owners) or 'nobody'}"
        case GrowClaim(_, claim, storage):
            return f"grow {claim.name} to {storage}"
        case LabelPod(_, pod, _):
            return f"label {pod.name}"
        case Adopt(_, pod) | Release(_, pod):
            return f"{type(step).__name__.lower()} {pod.name}"
        case CreateRevision(_, _, number, _, _, _):
            return f"new revision {number}"
        case RaiseRevision(seen, number):
            return f"{seen.name} becomes revision {number}"
        case AdoptRevision(_, seen):
            return f"adopt {seen.name}"
        case DeleteRevision(seen):
            return f"forget {seen.name}"
        case Emit(_, _, reason, _):
            return f"event {reason}"


class World:
    """What there is of one set. Plans are carried out step by step, and may be cut short."""

    def __init__(self, set_: StatefulSet) -> None:
        self.set = set_
        self.pods: dict[str, Pod] = {}
        self.claims: dict[str, Claim] = {}
        self.revisions: dict[str, ControllerRevision] = {}
        self._born = 0

    def view(self) -> StatefulSetView:
        return StatefulSetView(
            self.set,
            tuple(self.pods.values()),
            dict(self.claims),
            tuple(self.revisions.values()),
            {"fast": a_class()},
            frozenset(),
            NOW,
        )

    def carry_out(self, step: Step) -> None:
        match step:
            case SaveStatus(_, status):
                self.set = msgspec.structs.replace(self.set, status=status)
            case CreatePods(_, documents):
                for document in documents:
                    self._create(document)
            case DeletePod(_, pod):
                going = msgspec.structs.replace(pod.metadata, deletion_timestamp=LONG_AGO)
                self.pods[pod.name] = msgspec.structs.replace(pod, metadata=going)
            case CreateClaim(_, _, document):
                claim = read_document(document, Claim)
                assert claim.name not in self.claims
                self.claims[claim.name] = claim
            case SetClaimOwners(_, claim, owners):
                meta = msgspec.to_builtins(claim.metadata) | {"ownerReferences": list(owners)}
                doc = msgspec.to_builtins(claim) | {"metadata": meta}
                self.claims[claim.name] = read_document(doc, Claim)
            case CreateRevision():
                document = step.document()
                self.revisions[step.name] = read_document(document, ControllerRevision)
            case RaiseRevision(seen, number):
                self.revisions[seen.name] = msgspec.structs.replace(seen, revision=number)
            case DeleteRevision(seen):
                del self.revisions[seen.name]
            case other:
                raise AssertionError(f"unexpected here: {other}")

    def _create(self, document: Doc) -> None:
        self._born += 1
        meta = {**document["metadata"], "uid": f"u{self._born}"}
        pod = read_document({**document, "metadata": meta, "status": {"phase": "Pending"}}, Pod)
        assert pod.name not in self.pods, f"{pod.name} is there already"
        assert all(name in self.claims for name in pod.claim_names()), "its claims come first"
        self.pods[pod.name] = pod

    def say(self, name: str, phase: str, *, ready: bool) -> None:
        """What its node says of a pod."""
        pod = self.pods[name]
        condition = {"type": "Ready", "status": str(ready), "lastTransitionTime": LONG_AGO}
        doc = msgspec.to_builtins(pod)
        doc["status"] = {"phase": phase, "conditions": [condition]}
        self.pods[name] = read_document(doc, Pod)
