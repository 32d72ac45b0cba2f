"""The scopes of a ResourceQuota: which there are, and which amounts each can be about."""

from collections.abc import Iterable
from typing import Any, Final

from mooring.apiserver.kinds.immutability import IMMUTABLE
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, invalid, required

TERMINATING, NOT_TERMINATING = "Terminating", "NotTerminating"
BEST_EFFORT, NOT_BEST_EFFORT = "BestEffort", "NotBestEffort"
PRIORITY_CLASS = "PriorityClass"
CROSS_NAMESPACE_AFFINITY = "CrossNamespacePodAffinity"
ATTRIBUTES_CLASS = "VolumeAttributesClass"

_OF_PODS: Final = frozenset(
    ("pods", "cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")
)
_AMOUNTS: Final = {
    TERMINATING: _OF_PODS,
    NOT_TERMINATING: _OF_PODS,
    NOT_BEST_EFFORT: _OF_PODS,
    PRIORITY_CLASS: _OF_PODS,
    CROSS_NAMESPACE_AFFINITY: _OF_PODS,
    BEST_EFFORT: frozenset(("pods",)),
    ATTRIBUTES_CLASS: frozenset(("persistentvolumeclaims", "requests.storage")),
}
_WITHOUT_VALUES: Final = _AMOUNTS.keys() - {PRIORITY_CLASS, ATTRIBUTES_CLASS}
_CONTRADICTIONS: Final = ({BEST_EFFORT, NOT_BEST_EFFORT}, {TERMINATING, NOT_TERMINATING})

_NOT_EXISTS = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "
    "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "
    "ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)
_NO_VALUES = (
    "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
    "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
)


def requirements_of(spec: Doc) -> tuple[Doc, ...]:
    """All that an object must be for the quota to count it, the two ways to say it as one."""
    named = ({"scopeName": each, "operator": "Exists"} for each in spec.get("scopes") or ())
    return (*named, *((spec.get("scopeSelector") or {}).get("matchExpressions") or ()))


def validate_scopes(spec: Doc, standard: Iterable[str]) -> Iterable[FieldError]:
    """`standard`: the counted names that Kubernetes defines; others may have any scope."""
    counted = sorted(standard)
    scopes = spec.get("scopes") or []
    for scope in scopes:
        if scope not in _AMOUNTS:
            yield invalid("spec.scopes", scopes, "unsupported scope")
        yield from _amounts_of(scope, counted, "spec.scopes", scopes)
    yield from _contradictions(set(scopes), "spec.scopes", scopes)
    if (selector := spec.get("scopeSelector")) is not None:
        yield from _validate_selector(selector, counted, scopes)


def _validate_selector(
    selector: Doc, counted: list[str], scopes: list[str]
) -> Iterable[FieldError]:
    path = "spec.scopeSelector.matchExpressions"
    expressions = selector.get("matchExpressions") or []
    for each in expressions:
        scope = each.get("scopeName", "")
        if scope not in _AMOUNTS:
            yield invalid(f"{path}.scopeName", scope, "unsupported scope")
        yield from _amounts_of(scope, counted, path, _as_printed(expressions))
        yield from _validate_operator(each, scope, path)
    named = {each.get("scopeName", "") for each in expressions}
    yield from _contradictions(named, path, scopes or None)


def _amounts_of(scope: str, counted: list[str], path: str, shown: Any) -> Iterable[FieldError]:
    for name in counted:
        if name not in _AMOUNTS.get(scope, counted):
            yield invalid(path, shown, "unsupported scope applied to resource")


def _validate_operator(expression: Doc, scope: str, path: str) -> Iterable[FieldError]:
    operator, values = expression.get("operator", ""), expression.get("values") or []
    if scope in _WITHOUT_VALUES and operator != "Exists":
        yield invalid(f"{path}.operator", operator, _NOT_EXISTS)
    match operator:
        case "In" | "NotIn":
            if not values:
                yield required(f"{path}.values", _NO_VALUES[0])
        case "Exists" | "DoesNotExist":
            if values:
                yield invalid(f"{path}.values", values, _NO_VALUES[1])
        case _:
            yield invalid(f"{path}.operator", operator, "not a valid selector operator")


def _contradictions(named: set[str], path: str, shown: Any) -> Iterable[FieldError]:
    for pair in _CONTRADICTIONS:
        if pair <= named:
            yield invalid(path, shown, "conflicting scopes")


def _as_printed(expressions: list[Doc]) -> Doc:
    """With the names that upstream's fields have inside."""
    return {
        "MatchExpressions": [
            {
                "ScopeName": each.get("scopeName", ""),
                "Operator": each.get("operator", ""),
                "Values": each.get("values"),
            }
            for each in expressions
        ]
    }


def validate_same_scopes(new: Doc, old: Doc) -> Iterable[FieldError]:
    scopes = new["spec"].get("scopes") or []
    if set(scopes) != set(old["spec"].get("scopes") or ()):
        yield invalid("spec.scopes", scopes or None, IMMUTABLE)
