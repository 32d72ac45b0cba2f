"""Which nodes can reach a volume: the rules for `spec.nodeAffinity`, and when it may change."""

from collections.abc import Iterable
from typing import Any

from mooring.apiserver.kinds.immutability import same
from mooring.apiserver.kinds.label_selector import validate_key_and_values, validate_operand
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, invalid, required
from mooring.model.names import dns_subdomain

_OPERATORS = frozenset(("In", "NotIn", "Exists", "DoesNotExist"))
_COMPARISONS = frozenset(("Gt", "Lt"))
_SUCCESSORS = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}
_DEPRECATED = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": (
        'deprecated since v1.17; use "topology.kubernetes.io/region" instead'
    ),
    "failure-domain.beta.kubernetes.io/zone": (
        'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
    ),
    "beta.kubernetes.io/instance-type": (
        'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'
    ),
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": (
        "deprecated since v1.22; use Taints and Tolerations instead"
    ),
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}


def validate_node_affinity(affinity: Doc, path: str) -> Iterable[FieldError]:
    selector = affinity.get("required")
    if selector is None:
        yield required(f"{path}.required", "must specify required node constraints")
        return
    terms = selector.get("nodeSelectorTerms")
    at = f"{path}.required.nodeSelectorTerms"
    if not terms:
        yield required(at, "must have at least one node selector term")
        return
    for index, term in enumerate(terms):
        for position, requirement in enumerate(term.get("matchExpressions") or ()):
            yield from _by_label(requirement, f"{at}[{index}].matchExpressions[{position}]")
        for position, requirement in enumerate(term.get("matchFields") or ()):
            yield from _by_field(requirement, f"{at}[{index}].matchFields[{position}]")


def _by_label(requirement: Doc, path: str) -> Iterable[FieldError]:
    operator = requirement.get("operator", "")
    if operator in _OPERATORS:
        yield from validate_operand(requirement, path)
    elif operator not in _COMPARISONS:
        yield invalid(f"{path}.operator", operator, "not a valid selector operator")
    elif len(requirement.get("values") or ()) != 1:
        yield required(
            f"{path}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'"
        )
    yield from validate_key_and_values(requirement, path)


def _by_field(requirement: Doc, path: str) -> Iterable[FieldError]:
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    if operator not in ("In", "NotIn"):
        yield invalid(f"{path}.operator", operator, "not a valid selector operator")
    elif len(values) != 1:
        yield required(
            f"{path}.values",
            "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
        )
    if (key := requirement.get("key", "")) != "metadata.name":
        yield invalid(f"{path}.key", key, "not a valid field selector key")
        return
    for index, name in enumerate(values):
        for problem in dns_subdomain(name):
            yield invalid(f"{path}.values[{index}]", name, problem)


def validate_affinity_update(new: Doc | None, old: Doc | None) -> Iterable[FieldError]:
    """An affinity may be given once; after that only old label names may become their new ones."""
    if old is not None and not _same_but_renamed(new, old):
        yield invalid(
            "nodeAffinity", new, "field is immutable, except for updating from beta label to GA"
        )


def _same_but_renamed(new: Any, old: Any) -> bool:
    if isinstance(new, dict) and isinstance(old, dict):
        return all(
            (key == "key" and new.get(key) == _SUCCESSORS.get(old.get(key, "")))
            or _same_but_renamed(new.get(key), old.get(key))
            for key in new.keys() | old.keys()
        )
    if isinstance(new, list) and isinstance(old, list):
        return len(new) == len(old) and all(map(_same_but_renamed, new, old))
    return same(new, old)


def deprecated_label(key: str) -> str | None:
    """What to say about a node label that has a successor, or None."""
    return _DEPRECATED.get(key)


def warn_of_labels(affinity: Doc, path: str) -> Iterable[str]:
    selector = affinity.get("required") or {}
    for index, term in enumerate(selector.get("nodeSelectorTerms") or ()):
        for position, requirement in enumerate(term.get("matchExpressions") or ()):
            key = requirement.get("key", "")
            if word := _DEPRECATED.get(key):
                at = f"{path}.required.nodeSelectorTerms[{index}].matchExpressions[{position}].key"
                yield f"{at}: {key} is {word}"
