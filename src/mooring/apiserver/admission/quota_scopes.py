"""Whether a quota that has scopes counts an object; pure."""

from collections.abc import Iterable, Mapping

from mooring.apiserver.kinds import quota_scopes as scopes
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.kinds.pod.pod import quality_of_service
from mooring.model.document import Doc

Standing = Mapping[str, frozenset[str]]
"""By each scope that is about objects of this kind: what it finds. Empty: it does not hold."""

_HOLDS = frozenset(("",))
_NOT = frozenset[str]()
_AFFINITIES = ("podAffinity", "podAntiAffinity")
_WHENS = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)


def standing_of(kind: Kind, doc: Doc) -> Standing:
    match kind.resource:
        case "pods":
            return _of_pod(doc["spec"])
        case "persistentvolumeclaims":
            return {scopes.ATTRIBUTES_CLASS: frozenset(_attributes_classes(doc))}
        case _:
            return {}


def is_within(requirements: Iterable[Doc], standing: Standing) -> bool:
    """Whether all of them hold; one that is not about this kind never does."""
    return all(_holds(each, standing.get(each["scopeName"])) for each in requirements)


def _holds(requirement: Doc, found: frozenset[str] | None) -> bool:
    if found is None:
        return False
    values = frozenset(requirement.get("values") or ())
    match requirement["operator"]:
        case "In":
            return bool(found & values)
        case "NotIn":
            return not found or bool(found - values)
        case "DoesNotExist":
            return not found
        case _:
            return bool(found)


def _of_pod(spec: Doc) -> Standing:
    ends = spec.get("activeDeadlineSeconds") is not None
    best_effort = quality_of_service(spec) == "BestEffort"
    name = spec.get("priorityClassName")
    return {
        scopes.TERMINATING: _HOLDS if ends else _NOT,
        scopes.NOT_TERMINATING: _NOT if ends else _HOLDS,
        scopes.BEST_EFFORT: _HOLDS if best_effort else _NOT,
        scopes.NOT_BEST_EFFORT: _NOT if best_effort else _HOLDS,
        scopes.PRIORITY_CLASS: frozenset((name,)) if name else _NOT,
        scopes.CROSS_NAMESPACE_AFFINITY: _HOLDS if _looks_elsewhere(spec) else _NOT,
    }


def _looks_elsewhere(spec: Doc) -> bool:
    """Whether a term of its affinity is about pods of other namespaces."""
    affinity = spec.get("affinity") or {}
    terms = (
        term.get("podAffinityTerm", term)
        for side in _AFFINITIES
        for when in _WHENS
        for term in (affinity.get(side) or {}).get(when) or ()
    )
    return any(
        term.get("namespaces") or term.get("namespaceSelector") is not None for term in terms
    )


def _attributes_classes(claim: Doc) -> Iterable[str]:
    """All that its volume has, or may have soon."""
    status = claim.get("status") or {}
    names = (
        claim["spec"].get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
    )
    return filter(None, names)
