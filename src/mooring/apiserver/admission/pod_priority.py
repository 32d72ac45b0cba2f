"""Pods without a priority class have priority 0; there are two classes built in."""

from mooring.apiserver.admission.contract import Attempt, Objects
from mooring.apiserver.refusals import forbidden

BUILT_IN = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


def give(attempt: Attempt, objects: Objects) -> None:
    if attempt.new is None:
        return
    spec = attempt.new["spec"]
    name = spec.get("priorityClassName", "")
    if name and name not in BUILT_IN:
        raise forbidden(attempt.kind, attempt.name, f"no PriorityClass with name {name} was found")
    spec["priority"] = BUILT_IN.get(name, 0)
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
