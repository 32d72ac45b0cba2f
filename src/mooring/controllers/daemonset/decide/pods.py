"""The pods of a daemon set: bound to a node by their affinity, and hard to drive away."""

from collections.abc import Iterable

from mooring.controllers.daemonset.decide.nodes import added_tolerations
from mooring.controllers.daemonset.view import NAME_FIELD
from mooring.controllers.owned_pods.plan import pod_of
from mooring.model.daemon_set import DaemonSet
from mooring.model.document import Doc
from mooring.model.pod import Pod
from mooring.model.wellknown import Annotation, Label

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def pod_document(set_: DaemonSet, node: str, hashed: str) -> Doc:
    """The pod of the template for one node; the scheduler puts it there, or says why not."""
    document: Doc = pod_of(set_, set_.spec.template)
    metadata, spec = document["metadata"], dict(document["spec"])
    labels = {**metadata.get("labels", {}), Label.CONTROLLER_REVISION: hashed}
    if generation := _template_generation(set_):
        labels[Label.TEMPLATE_GENERATION] = generation
    metadata["labels"] = labels
    spec["affinity"] = _bound_to(node, spec.get("affinity") or {})
    added = added_tolerations(bool(spec.get("hostNetwork")))
    spec["tolerations"] = _with(spec.get("tolerations") or (), added)
    return {**document, "spec": spec}


def is_updated(set_: DaemonSet, pod: Pod, hashed: str) -> bool:
    """Whether the pod is made from the template that the set has now."""
    labels, generation = pod.metadata.labels, _template_generation(set_)
    return labels.get(Label.CONTROLLER_REVISION) == hashed or (
        bool(generation) and labels.get(Label.TEMPLATE_GENERATION) == generation
    )


def _template_generation(set_: DaemonSet) -> str:
    return set_.metadata.annotations.get(Annotation.TEMPLATE_GENERATION, "")


def _bound_to(node: str, affinity: Doc) -> Doc:
    """What the template requires of nodes has been looked at; what it prefers stays."""
    by_name = {"key": NAME_FIELD, "operator": "In", "values": [node]}
    required = {"nodeSelectorTerms": [{"matchFields": [by_name]}]}
    return {
        **affinity,
        "nodeAffinity": {**(affinity.get("nodeAffinity") or {}), _REQUIRED: required},
    }


def _with(tolerations: Iterable[Doc], added: Iterable[Doc]) -> list[Doc]:
    """One that says the same for a limited time is replaced: daemons stay."""
    kept = list(tolerations)
    for one in added:
        found = [index for index, each in enumerate(kept) if _says(each) == _says(one)]
        if found:
            kept[found[0]] = one
        else:
            kept.append(one)
    return kept


def _says(toleration: Doc) -> tuple[str, ...]:
    return tuple(toleration.get(field, "") for field in ("key", "operator", "effect", "value"))
