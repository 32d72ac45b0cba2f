"""Demands that the scheduler does not look at are told."""

from typing import Any

import msgspec
import pytest

from mooring.model.pod import Pod
from mooring.scheduling.decide.ignored import find_ignored

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
TERM = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {}}
OTHERS = "has no effect: this scheduler does not look at other pods"
CASES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "nothing is demanded": ({}, []),
    "nodes are looked at": ({"affinity": {"nodeAffinity": {}}}, []),
    "a pod that wants none beside it": (
        {"affinity": {"podAntiAffinity": {REQUIRED: [TERM]}}},
        [f"affinity.podAntiAffinity {OTHERS}"],
    ),
    "a pod that wants some beside it": (
        {"affinity": {"podAffinity": {REQUIRED: [TERM]}}},
        [f"affinity.podAffinity {OTHERS}"],
    ),
    "a pod that would rather": (
        {"affinity": {"podAffinity": {PREFERRED: [{"weight": 1, "podAffinityTerm": TERM}]}}},
        [],
    ),
    "a pod that must be spread": (
        {"topologySpreadConstraints": [{"whenUnsatisfiable": "DoNotSchedule"}]},
        ["topologySpreadConstraints have no effect: this scheduler does not look at other pods"],
    ),
    "a pod that would rather be spread": (
        {"topologySpreadConstraints": [{"whenUnsatisfiable": "ScheduleAnyway"}]},
        [],
    ),
}


@pytest.mark.parametrize(("spec", "expected"), CASES.values(), ids=CASES)
def test_ignored(spec: dict[str, Any], expected: list[str]) -> None:
    pod = msgspec.convert({"metadata": {"name": "web"}, "spec": spec}, Pod)
    assert list(find_ignored(pod)) == expected
