from typing import Any

import pytest

from mooring.model.document import Doc
from mooring.model.names import qualified_name
from tests.unit.apiserver.kinds.pods import complaints
from tests.unit.apiserver.kinds.writing import NO_KEY, NO_SUBDOMAIN, NO_VALUE

T = "spec.tolerations[0]"
TOLERATIONS: dict[str, tuple[Doc, list[str]]] = {
    "a taint by key and value": ({"key": "a", "value": "b", "effect": "NoSchedule"}, []),
    "all taints": ({"operator": "Exists"}, []),
    "all taints, but only by that word": (
        {"value": "b"},
        [
            f'{T}.operator: Invalid value: "": operator must be Exists when `key` is empty, '
            'which means "match all values and all keys"'
        ],
    ),
    "a key is qualified": (
        {"key": "not a key"},
        [f'{T}.key: Invalid value: "not a key": {NO_KEY}'],
    ),
    "a value is one word": (
        {"key": "a", "value": "not a value"},
        [f'{T}.operator: Invalid value: "not a value": {NO_VALUE}'],
    ),
    "what exists has no value": (
        {"key": "a", "operator": "Exists", "value": "b"},
        [f"{T}.operator: Invalid value: \"b\": value must be empty when `operator` is 'Exists'"],
    ),
    "there are two operators": (
        {"key": "a", "operator": "Like"},
        [f'{T}.operator: Unsupported value: "Like": supported values: "Equal", "Exists"'],
    ),
    "for a while": ({"key": "a", "effect": "NoExecute", "tolerationSeconds": 5}, []),
    "only what would end it": (
        {"key": "a", "effect": "NoSchedule", "tolerationSeconds": 5},
        [
            f'{T}.effect: Invalid value: "NoSchedule": '
            "effect must be 'NoExecute' when `tolerationSeconds` is set"
        ],
    ),
    "there are three effects": (
        {"key": "a", "effect": "Never"},
        [
            f'{T}.effect: Unsupported value: "Never": '
            'supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"'
        ],
    ),
}


@pytest.mark.parametrize(("toleration", "expected"), TOLERATIONS.values(), ids=TOLERATIONS)
def test_tolerations(toleration: Doc, expected: list[str]) -> None:
    assert complaints(tolerations=[toleration]) == expected


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
NODE = "spec.affinity.nodeAffinity"
NEAR = "spec.affinity.podAffinity"
ZONE = "topology.kubernetes.io/zone"


def nodes(**rules: Any) -> Doc:
    return {"nodeAffinity": rules}


def near(**rules: Any) -> Doc:
    return {"podAffinity": rules}


EMPTY_KEY = [f'{{}}.topologyKey: Invalid value: "": {text}' for text in qualified_name("")]
AFFINITY: dict[str, tuple[Doc, list[str]]] = {
    "on some nodes": (
        nodes(
            **{
                REQUIRED: {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}
                    ]
                }
            }
        ),
        [],
    ),
    "on some at all": (
        nodes(**{REQUIRED: {}}),
        [
            f"{NODE}.{REQUIRED}.nodeSelectorTerms: Required value: "
            "must have at least one node selector term"
        ],
    ),
    "by known operators": (
        nodes(
            **{
                REQUIRED: {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Like"}]}]
                }
            }
        ),
        [
            f"{NODE}.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0].operator: "
            'Invalid value: "Like": not a valid selector operator'
        ],
    ),
    "rather there than elsewhere": (
        nodes(**{PREFERRED: [{"weight": 100, "preference": {}}]}),
        [],
    ),
    "by so much": (
        nodes(**{PREFERRED: [{"weight": 0, "preference": {}}]}),
        [f"{NODE}.{PREFERRED}[0].weight: Invalid value: 0: must be in the range 1-100"],
    ),
    "by known operators, too": (
        nodes(
            **{
                PREFERRED: [
                    {
                        "weight": 1,
                        "preference": {"matchExpressions": [{"key": "a", "operator": "In"}]},
                    }
                ]
            }
        ),
        [
            f"{NODE}.{PREFERRED}[0].preference.matchExpressions[0].values: Required value: "
            "must be specified when `operator` is 'In' or 'NotIn'"
        ],
    ),
    "near other pods": (
        near(**{REQUIRED: [{"topologyKey": ZONE, "labelSelector": {"matchLabels": {"a": "b"}}}]}),
        [],
    ),
    "in some sense of near": (
        near(**{REQUIRED: [{}]}),
        [
            f"{NEAR}.{REQUIRED}[0].topologyKey: Required value: can not be empty",
            *(text.replace("{}", f"{NEAR}.{REQUIRED}[0]") for text in EMPTY_KEY),
        ],
    ),
    "told by proper labels": (
        near(
            **{
                PREFERRED: [
                    {
                        "weight": 1,
                        "podAffinityTerm": {
                            "topologyKey": ZONE,
                            "labelSelector": {"matchLabels": {"a": "not a value"}},
                        },
                    }
                ]
            }
        ),
        [
            f"{NEAR}.{PREFERRED}[0].podAffinityTerm.labelSelector.matchLabels: "
            f'Invalid value: "not a value": {NO_VALUE}'
        ],
    ),
}


@pytest.mark.parametrize(("affinity", "expected"), AFFINITY.values(), ids=AFFINITY)
def test_affinity(affinity: Doc, expected: list[str]) -> None:
    assert complaints(affinity=affinity) == expected


def spread(**fields: Any) -> Doc:
    return {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"a": "b"}},
        **fields,
    }


S = "spec.topologySpreadConstraints"
PLACES: dict[str, tuple[Doc, list[str]]] = {
    "nodes with labels": ({"nodeSelector": {"disk": "fast"}}, []),
    "good labels": (
        {"nodeSelector": {"disk": "not a value"}},
        [f'spec.nodeSelector: Invalid value: "not a value": {NO_VALUE}'],
    ),
    "a node with a proper name": (
        {"nodeName": "Not_A_Name"},
        [f'spec.nodeName: Invalid value: "Not_A_Name": {NO_SUBDOMAIN}'],
    ),
    "gates with proper names": (
        {"schedulingGates": [{"name": "not a key"}]},
        [f'spec.schedulingGates[0]: Invalid value: "not a key": {NO_KEY}'],
    ),
    "no gate twice": (
        {"schedulingGates": [{"name": "a"}, {"name": "a"}]},
        ['spec.schedulingGates[1]: Duplicate value: "a"'],
    ),
    "no node before all gates are open": (
        {"nodeName": "n1", "schedulingGates": [{"name": "a"}]},
        ["spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"],
    ),
    "spread over zones": ({"topologySpreadConstraints": [spread()]}, []),
    "somewhat evenly": (
        {"topologySpreadConstraints": [spread(maxSkew=0)]},
        [f"{S}[0].maxSkew: Invalid value: 0: must be greater than zero"],
    ),
    "over something": (
        {"topologySpreadConstraints": [spread(topologyKey="")]},
        [f"{S}[0].topologyKey: Required value: can not be empty"],
    ),
    "or else": (
        {"topologySpreadConstraints": [spread(whenUnsatisfiable="Cry")]},
        [
            f'{S}[0].whenUnsatisfiable: Unsupported value: "Cry": '
            'supported values: "DoNotSchedule", "ScheduleAnyway"'
        ],
    ),
    "one rule for each": (
        {"topologySpreadConstraints": [spread(), spread(maxSkew=2)]},
        [
            f"{S}[1].{{topologyKey, whenUnsatisfiable}}: "
            f'Duplicate value: "{{{ZONE}, DoNotSchedule}}"'
        ],
    ),
    "told by proper labels": (
        {
            "topologySpreadConstraints": [
                spread(labelSelector={"matchLabels": {"a": "not a value"}})
            ]
        },
        [f'{S}[0].labelSelector.matchLabels: Invalid value: "not a value": {NO_VALUE}'],
    ),
}


@pytest.mark.parametrize(("spec", "expected"), PLACES.values(), ids=PLACES)
def test_places(spec: Doc, expected: list[str]) -> None:
    assert complaints(**spec) == expected
