"""What a client is told of a pod that is legal and yet hardly meant."""

import pytest

from mooring.apiserver.kinds.pod.warnings import warnings
from mooring.model.document import Doc
from tests.unit.apiserver.kinds.pods import a_container, a_pod

NO_SELECTOR = "a null labelSelector results in matching no pod"
HIDES = 'hides previous definition of "A", which may be dropped when using apply'
TERM = {"topologyKey": "zone"}
CHOSEN = {"matchLabels": {"a": "b"}}
TEMPLATE = {"spec": {"resources": {"requests": {"storage": "1500m"}}}}

WARNED: dict[str, tuple[Doc, list[str]]] = {
    "an ordinary pod": (a_pod(), []),
    "a volume of a kind that was removed": (
        a_pod(volumes=[{"name": "v", "cephfs": {"monitors": ["m"]}}]),
        ["spec.volumes[0].cephfs: deprecated in v1.28, non-functional in v1.31+"],
    ),
    "half a byte in the template of a claim": (
        a_pod(volumes=[{"name": "v", "ephemeral": {"volumeClaimTemplate": TEMPLATE}}]),
        [
            "spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.requests[storage]: "
            'fractional byte value "1500m" is invalid, must be an integer'
        ],
    ),
    "pull secrets twice and without a name": (
        a_pod(imagePullSecrets=[{"name": "a"}, {"name": "a"}, {}]),
        [
            'spec.imagePullSecrets[1].name: duplicate name "a"',
            'spec.imagePullSecrets[2].name: invalid empty name ""',
        ],
    ),
    "half a byte of memory": (
        a_pod(a_container(resources={"limits": {"memory": "100m"}})),
        [
            'spec.containers[0].resources.limits[memory]: fractional byte value "100m" '
            "is invalid, must be an integer"
        ],
    ),
    "a variable twice": (
        a_pod(a_container(env=[{"name": "A", "value": "x"}, {"name": "A", "value": "y"}])),
        [f"spec.containers[0].env[1]: {HIDES}"],
    ),
    "a variable that extends itself": (
        a_pod(a_container(env=[{"name": "A", "value": "x"}, {"name": "A", "value": "$(A):y"}])),
        [],
    ),
    "a variable that only repeats itself": (
        a_pod(a_container(env=[{"name": "A", "value": "x"}, {"name": "A", "value": "$(A)"}])),
        [f"spec.containers[0].env[1]: {HIDES}"],
    ),
    "a spread over no pods": (
        a_pod(topologySpreadConstraints=[{"topologyKey": "zone"}]),
        [f"spec.topologySpreadConstraints[0].labelSelector: {NO_SELECTOR}"],
    ),
    "near no pods": (
        a_pod(
            affinity={
                "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]},
                "podAntiAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {"weight": 1, "podAffinityTerm": TERM},
                        {"weight": 1, "podAffinityTerm": {**TERM, "labelSelector": CHOSEN}},
                    ]
                },
            }
        ),
        [
            "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"
            f".labelSelector: {NO_SELECTOR}",
            "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]"
            f".podAffinityTerm.labelSelector: {NO_SELECTOR}",
        ],
    ),
}


@pytest.mark.parametrize(("pod", "words"), WARNED.values(), ids=WARNED)
def test_warnings(pod: Doc, words: list[str]) -> None:
    assert list(warnings(pod)) == words
