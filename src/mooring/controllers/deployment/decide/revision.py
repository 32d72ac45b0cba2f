"""What a replica set has from its deployment: its document, its revision, its annotations."""

from collections.abc import Mapping
from typing import Final

from mooring.controllers.deployment.decide.limits import most_pods
from mooring.controllers.deployment.decide.sets import Sets, revision_of
from mooring.controllers.owned_pods.ownership import reference_of
from mooring.model.deployment import Deployment
from mooring.model.document import Doc
from mooring.model.replica_set import ReplicaSet
from mooring.model.safe_hash import safe_hash
from mooring.model.wellknown import Annotation, Label

MOST_HISTORY: Final = 2000  # characters of earlier revisions
_LONGEST_NAME: Final = 253
_OWN: Final = frozenset(
    {
        *(Annotation.LAST_APPLIED, Annotation.REVISION, Annotation.REVISION_HISTORY),
        *(Annotation.DESIRED_REPLICAS, Annotation.MAX_REPLICAS, Annotation.ROLLBACK_TO),
    }
)
"""Annotations that are not copied from a deployment to its replica sets."""


def next_revision(sets: Sets) -> int:
    return max(map(revision_of, sets.old), default=0) + 1


def sizes(deployment: Deployment) -> dict[str, str]:
    """What every replica set says of the size of the deployment that it was scaled for."""
    return {
        Annotation.DESIRED_REPLICAS: str(deployment.spec.replicas),
        Annotation.MAX_REPLICAS: str(most_pods(deployment)),
    }


def new_set(deployment: Deployment, sets: Sets, replicas: int) -> Doc:
    """The replica set of the present template, which there is none of yet."""
    spec = deployment.spec
    template = dict(spec.template)
    collisions = deployment.status.collision_count or 0
    label = {Label.POD_TEMPLATE_HASH: safe_hash(template, collisions)}
    metadata = dict(template.get("metadata") or {})
    metadata["labels"] = {**(metadata.get("labels") or {}), **label}
    room = _LONGEST_NAME - 1 - len(label[Label.POD_TEMPLATE_HASH])
    return {
        "kind": "ReplicaSet",
        "apiVersion": "apps/v1",
        "metadata": {
            "name": f"{deployment.name[:room]}-{label[Label.POD_TEMPLATE_HASH]}",
            "namespace": deployment.namespace,
            "labels": metadata["labels"],
            "annotations": {
                **_copied(deployment),
                **sizes(deployment),
                Annotation.REVISION: str(next_revision(sets)),
            },
            "ownerReferences": [reference_of(deployment)],
        },
        "spec": {
            "replicas": replicas,
            "minReadySeconds": spec.min_ready_seconds,
            "selector": _with_label(deployment, label),
            "template": {**template, "metadata": metadata},
        },
    }


def missing_annotations(deployment: Deployment, sets: Sets) -> Mapping[str, str]:
    """What the new replica set does not say yet; its former revisions are kept as history."""
    new = sets.new
    if new is None:
        return {}
    present = new.metadata.annotations
    wanted = _copied(deployment)
    if revision_of(new) < (revision := next_revision(sets)):
        wanted[Annotation.REVISION] = str(revision)
        if former := present.get(Annotation.REVISION):
            history = present.get(Annotation.REVISION_HISTORY, "")
            wanted[Annotation.REVISION_HISTORY] = _appended(history, former)
    return {key: value for key, value in wanted.items() if present.get(key) != value}


def told_size(each: ReplicaSet, annotation: str) -> int | None:
    """A size that it was scaled for, if it says one."""
    text = each.metadata.annotations.get(annotation, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 10 else None


def _copied(deployment: Deployment) -> dict[str, str]:
    return {k: v for k, v in deployment.metadata.annotations.items() if k not in _OWN}


def _with_label(deployment: Deployment, label: Mapping[str, str]) -> Doc:
    selector = deployment.spec.selector
    document: Doc = {"matchLabels": {**(selector.match_labels or {}), **label}}
    if selector.match_expressions:
        document["matchExpressions"] = [
            {"key": each.key, "operator": each.operator}
            | ({"values": list(each.values)} if each.values else {})
            for each in selector.match_expressions
        ]
    return document


def _appended(history: str, former: str) -> str:
    """The oldest make room for the newest."""
    revisions = [*filter(None, history.split(",")), former]
    while len(revisions) > 1 and len(",".join(revisions)) > MOST_HISTORY:
        revisions.pop(0)
    return ",".join(revisions)
