"""Kinds that are stored for clients that bring them along."""

import pytest

from mooring.apiserver.kinds.network_policy import NETWORK_POLICY
from mooring.apiserver.kinds.service import SERVICE
from mooring.model.document import Doc
from tests.fakes.objects import a_network_policy
from tests.unit.apiserver.kinds.writing import create, created, warned

POLICIES: dict[str, tuple[Doc, list[str]]] = {
    "a policy is fine": ({}, []),
    "a peer that is nobody": (
        {"ingress": [{"from": [{}]}]},
        ["spec.ingress[0].from[0]: Required value: must specify a peer"],
    ),
    "addresses and pods at once": (
        {"ingress": [{"from": [{"podSelector": {}, "ipBlock": {"cidr": "10.0.0.0/8"}}]}]},
        [
            "spec.ingress[0].from[0]: Forbidden: may not specify both ipBlock and another peer",
        ],
    ),
    "a type that nobody knows": (
        {"policyTypes": ["Sideways"]},
        [
            'spec.policyTypes[0]: Unsupported value: "Sideways": supported values: "Egress", '
            '"Ingress"'
        ],
    ),
}


@pytest.mark.parametrize(("spec", "errors"), POLICIES.values(), ids=POLICIES)
def test_network_policies(spec: Doc, errors: list[str]) -> None:
    assert create(NETWORK_POLICY, a_network_policy(**spec)) == errors


def test_who_stores_a_policy_is_told_that_it_is_only_stored() -> None:
    (warning,) = warned(NETWORK_POLICY, a_network_policy())
    assert "enforces none" in warning
    assert created(NETWORK_POLICY, a_network_policy())["spec"]["policyTypes"] == ["Ingress"]


SERVICE_TYPES = {"ClusterIP": 0, "ExternalName": 0, "NodePort": 1, "LoadBalancer": 1}


@pytest.mark.parametrize(("kind", "warnings"), SERVICE_TYPES.items(), ids=SERVICE_TYPES)
def test_who_asks_for_a_network_of_services_is_told_that_there_is_none(
    kind: str, warnings: int
) -> None:
    spec = {"type": kind, "externalName": "example.com", "ports": [{"port": 80}]}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": spec}
    told = list(warned(SERVICE, service))
    assert len(told) == warnings
    assert all(f"{kind} has no effect" in each for each in told)
