"""Resource quotas: what they may count, and in which scopes.

Only created: ours count them at once, and beside the other there is nobody who does.
"""

from typing import Any

from tests.conformance.asking import Cases, Doc, post
from tests.conformance.cases.objects import changed

_QUOTAS = "/api/v1/namespaces/$name/resourcequotas"
_QUOTA = {"metadata": {"name": "$name"}, "spec": {"hard": {"pods": "1"}}}


def _scoped(*scopes: str, counted: str = "pods") -> Doc:
    return {"spec": {"hard": {counted: "1"}, "scopes": list(scopes)}}


def _selected(*expressions: Doc, counted: str = "pods") -> Doc:
    selector = {"matchExpressions": list(expressions)}
    return {"spec": {"hard": {counted: "1"}, "scopeSelector": selector}}


def _scope(name: str, operator: str = "Exists", **more: Any) -> Doc:
    return {"scopeName": name, "operator": operator, **more}


_CHANGES: dict[str, Doc] = {
    "of a part of a pod": {"spec": {"hard": {"pods": "1500m"}}},
    "of parts of a processor": {"spec": {"hard": {"requests.cpu": "1500m"}}},
    "of fewer than nothing": {"spec": {"hard": {"count/widgets.example.com": "-1"}}},
    "of a name that is none": {"spec": {"hard": {"pvc": "1"}}},
    "in a scope": _scoped("Terminating"),
    "in two scopes": _scoped("NotTerminating", "NotBestEffort", counted="requests.cpu"),
    "in two that contradict each other": _scoped("Terminating", "NotTerminating"),
    "in a scope that is none": _scoped("Fridays"),
    "in a scope of pods, of claims": _scoped("BestEffort", counted="requests.storage"),
    "in a scope of pods, of a custom kind": _scoped("BestEffort", counted="count/a.b.c"),
    "in a scope without amounts": _scoped("BestEffort", counted="requests.cpu"),
    "in a scope of claims": _scoped("VolumeAttributesClass", counted="requests.storage"),
    "of pods of classes": _selected(_scope("PriorityClass", "In", values=["high"])),
    "of pods of no class": _selected(_scope("PriorityClass", "DoesNotExist")),
    "of pods of classes without names": _selected(_scope("PriorityClass", "NotIn")),
    "of pods of any class, with names": _selected(_scope("PriorityClass", values=["a"])),
    "with an operator that is none": _selected(_scope("PriorityClass", "Near")),
    "with an operator where there is no choice": _selected(_scope("Terminating", "In")),
    "of claims, by a scope of pods": _selected(
        _scope("Terminating"), counted="persistentvolumeclaims"
    ),
    "with expressions that contradict each other": _selected(
        _scope("BestEffort"), _scope("NotBestEffort")
    ),
}

CASES: Cases = {
    f"resource quota {words}": (post(_QUOTAS, changed(_QUOTA, change)),)
    for words, change in _CHANGES.items()
}
