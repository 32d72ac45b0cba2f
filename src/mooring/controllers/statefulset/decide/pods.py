"""The pods of a stateful set: which template each has, and what it adds to that."""

from typing import Any

from mooring.controllers.owned_pods.plan import pod_of
from mooring.controllers.revisions.decide import History, template_of
from mooring.controllers.statefulset.decide.claims import claim_names
from mooring.model.document import Doc
from mooring.model.pod import Pod
from mooring.model.pod_owner import Template
from mooring.model.stateful_set import StatefulSet, UpdateType
from mooring.model.wellknown import Label


def current_revision(set_: StatefulSet, history: History) -> str:
    """The revision that pods below the partition have; at first it is that of the template."""
    known = history.find(set_.status.current_revision)
    return history.update if known is None else known.name


def pod_document(set_: StatefulSet, history: History, ordinal: int) -> Doc:
    revision, template = _version(set_, history, ordinal)
    document: Doc = pod_of(set_, template)
    metadata, spec = document["metadata"], dict(document["spec"])
    metadata["name"] = set_.pod_name(ordinal)
    metadata["labels"] = {
        **metadata.get("labels", {}),
        **identity(set_, ordinal),
        Label.CONTROLLER_REVISION: revision,
    }
    spec["hostname"] = set_.pod_name(ordinal)
    if set_.spec.service_name:
        spec["subdomain"] = set_.spec.service_name
    else:
        spec.pop("subdomain", None)
    if claims := claim_names(set_, ordinal):
        others = [v for v in spec.get("volumes") or () if v.get("name") not in claims]
        spec["volumes"] = [*map(_volume, claims, claims.values()), *others]
    return {**document, "spec": spec}


def identity(set_: StatefulSet, ordinal: int) -> dict[str, str]:
    """The labels that say which pod of the set it is."""
    return {Label.POD_NAME: set_.pod_name(ordinal), Label.POD_INDEX: str(ordinal)}


def wrong_volumes(set_: StatefulSet, ordinal: int, pod: Pod) -> list[str]:
    """The claim templates for which a pod has another volume, or none."""
    held = {
        volume.name: volume.persistent_volume_claim.claim_name
        for volume in pod.spec.volumes
        if volume.persistent_volume_claim is not None
    }
    return [name for name, claim in claim_names(set_, ordinal).items() if held.get(name) != claim]


def _version(set_: StatefulSet, history: History, ordinal: int) -> tuple[str, Template]:
    """The revision that a new pod gets: the former one below the partition."""
    strategy, start = set_.spec.update_strategy, set_.spec.ordinals.start
    current = history.find(set_.status.current_revision)
    below = 0
    if strategy.rolling_update is not None:
        below = strategy.rolling_update.partition
    elif strategy.type is UpdateType.ROLLING_UPDATE:
        below = set_.status.current_replicas
    if current is not None and ordinal < start + below:
        return current.name, template_of(current)
    return history.update, set_.spec.template


def _volume(name: str, claim: str) -> dict[str, Any]:
    return {"name": name, "persistentVolumeClaim": {"claimName": claim}}
