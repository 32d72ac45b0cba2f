"""Which objects a quota with scopes counts."""

import pytest

from mooring.apiserver.admission.quota_scopes import is_within, standing_of
from mooring.apiserver.kinds.claim import CLAIM
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.kinds.pod.pod import POD
from mooring.apiserver.kinds.quota_scopes import requirements_of
from mooring.apiserver.kinds.secret import SECRET
from mooring.model.document import Doc

PLAIN: Doc = {"spec": {"containers": [{"name": "main"}]}}
CLASSED: Doc = {"spec": {"containers": [], "priorityClassName": "high"}}


def with_affinity(**term: object) -> Doc:
    when = "preferredDuringSchedulingIgnoredDuringExecution"
    weighted = {"weight": 1, "podAffinityTerm": {"topologyKey": "zone", **term}}
    return {"spec": {"containers": [], "affinity": {"podAntiAffinity": {when: [weighted]}}}}


def a_claim(name: str | None = None, **status: object) -> Doc:
    return {"spec": {"volumeAttributesClassName": name}, "status": status}


def chosen(scope: str, operator: str = "Exists", *values: str) -> Doc:
    expression = {"scopeName": scope, "operator": operator, "values": list(values)}
    return {"scopeSelector": {"matchExpressions": [expression]}}


WITHIN: dict[str, tuple[Doc, Kind, Doc, bool]] = {
    "no scopes: all objects": ({}, SECRET, {}, True),
    "scopes of pods: no other objects": ({"scopes": ["BestEffort"]}, SECRET, {}, False),
    "no requests are best effort": ({"scopes": ["BestEffort"]}, POD, PLAIN, True),
    "all scopes must hold": ({"scopes": ["BestEffort", "Terminating"]}, POD, PLAIN, False),
    "a deadline makes a pod terminating": (
        {"scopes": ["Terminating"]},
        POD,
        {"spec": {"containers": [], "activeDeadlineSeconds": 0}},
        True,
    ),
    "a pod of the class": (chosen("PriorityClass", "In", "high"), POD, CLASSED, True),
    "a pod of another class": (chosen("PriorityClass", "NotIn", "high"), POD, CLASSED, False),
    "a pod of no class is in no other": (
        chosen("PriorityClass", "NotIn", "high"),
        POD,
        PLAIN,
        True,
    ),
    "a pod of no class": (chosen("PriorityClass", "DoesNotExist"), POD, PLAIN, True),
    "a claim has no class of priority": (
        chosen("PriorityClass", "DoesNotExist"),
        CLAIM,
        a_claim(),
        False,
    ),
    "affinity to its own namespace": (
        {"scopes": ["CrossNamespacePodAffinity"]},
        POD,
        with_affinity(),
        False,
    ),
    "affinity to all namespaces": (
        {"scopes": ["CrossNamespacePodAffinity"]},
        POD,
        with_affinity(namespaceSelector={}),
        True,
    ),
    "attributes that a volume has": (
        chosen("VolumeAttributesClass", "In", "gold"),
        CLAIM,
        a_claim("silver", currentVolumeAttributesClassName="gold"),
        True,
    ),
    "attributes that a volume gets": (
        chosen("VolumeAttributesClass", "In", "gold"),
        CLAIM,
        a_claim(modifyVolumeStatus={"targetVolumeAttributesClassName": "gold"}),
        True,
    ),
    "attributes of nobody": (chosen("VolumeAttributesClass"), CLAIM, a_claim(), False),
}


@pytest.mark.parametrize(("spec", "kind", "doc", "within"), WITHIN.values(), ids=WITHIN)
def test_what_is_within(spec: Doc, kind: Kind, doc: Doc, *, within: bool) -> None:
    assert is_within(requirements_of(spec), standing_of(kind, doc)) is within
