"""Mutating admission policies with kubectl: explain, apply, get, and what they change."""

from tests.clients.kubectl import Kubectl, kubectls

SINCE = (1, 28)
GROUP = "admissionregistration.k8s.io/v1"


@kubectls(since=SINCE)
def test_a_policy_labels_what_is_applied(kubectl: Kubectl, unique: str) -> None:
    rule = {
        "operations": ["CREATE"],
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "resources": ["configmaps"],
        "resourceNames": [unique],
    }
    expression = 'Object{metadata: Object.metadata{labels: {"team": "storage"}}}'
    mutation = {
        "patchType": "ApplyConfiguration",
        "applyConfiguration": {"expression": expression},
    }
    policy = {
        "apiVersion": GROUP,
        "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": unique},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "mutations": [mutation],
            "reinvocationPolicy": "Never",
        },
    }
    binding = {
        "apiVersion": GROUP,
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": unique},
        "spec": {"policyName": unique},
    }
    explained = kubectl("explain", "mutatingadmissionpolicy.spec.mutations.applyConfiguration")
    assert "expression" in explained, explained
    try:
        kubectl("apply", "-f", "-", given=[policy, binding])
        listed = kubectl("get", "mutatingadmissionpolicies", unique).split()
        assert listed[:4] == ["NAME", "MUTATIONS", "PARAMKIND", "AGE"], listed
        made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": unique}}
        kubectl("apply", "-f", "-", given=[made])
        labels = kubectl.doc("configmaps", unique)["metadata"]["labels"]
        assert labels == {"team": "storage"}
    finally:
        kubectl("delete", "mutatingadmissionpolicybinding,mutatingadmissionpolicy", unique)
