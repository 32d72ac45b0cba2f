"""The roles and bindings that a new cluster has: the same as Kubernetes'."""

from typing import Any

import pytest

from tests.conformance.asking import Client

GROUP = "/apis/rbac.authorization.k8s.io/v1"
PLURALS = ("clusterroles", "roles", "clusterrolebindings", "rolebindings")
DEFAULTS = "?labelSelector=kubernetes.io/bootstrapping%3Drbac-defaults"

NOT_BOUND = ("system:kube-controller-manager", "system:kube-scheduler")
"""Users with narrower fixed roles in Mooring."""


def shown(client: Client, plural: str) -> dict[str, Any]:
    """By name, what they give; bindings that give nothing are left out."""
    found = {}
    for doc in client.ask("GET", f"{GROUP}/{plural}{DEFAULTS}").doc["items"]:
        metadata = doc["metadata"]
        name = f"{metadata.get('namespace', '')}/{metadata['name']}"
        rules = [] if "aggregationRule" in doc else doc.get("rules") or []  # others fill them in
        subjects = [s for s in doc.get("subjects") or () if s["name"] not in NOT_BOUND]
        if "roleRef" in doc and not subjects:
            continue
        found[name] = (
            metadata["labels"],
            metadata["annotations"],
            rules,
            doc.get("aggregationRule"),
            doc.get("roleRef"),
            subjects,
        )
    return found


@pytest.mark.parametrize("plural", PLURALS)
def test_a_new_cluster_has_the_roles_and_bindings_of_kubernetes(
    ours: Client, theirs: Client, plural: str
) -> None:
    assert shown(ours, plural) == shown(theirs, plural)
