"""`mooring sidecar rbac`: what the sidecars may do on a Kubernetes API server, as YAML to apply."""

from collections.abc import Iterable, Sequence

from mooring.apiserver.auth.roles import rules_of_sidecars
from mooring.apiserver.auth.rules import Rule
from mooring.model.document import Doc

NAME = "mooring-sidecars"
_API = "rbac.authorization.k8s.io"


def rbac_yaml(sidecars: Sequence[str], namespace: str) -> str:
    """A ServiceAccount in the namespace, one ClusterRole, and its binding."""
    import yaml

    documents = (_account(namespace), _role(sidecars), _binding(namespace))
    return str(yaml.safe_dump_all(documents, sort_keys=False)).rstrip()


def _account(namespace: str) -> Doc:
    meta = {"name": NAME, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta}


def _role(sidecars: Iterable[str]) -> Doc:
    return {
        "apiVersion": f"{_API}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": NAME},
        "rules": [rule_document(rule) for rule in rules_of_sidecars(sidecars)],
    }


def rule_document(rule: Rule) -> Doc:
    return {
        "apiGroups": list(rule.groups),
        "resources": list(rule.resources),
        "verbs": list(rule.verbs),
    }


def _binding(namespace: str) -> Doc:
    return {
        "apiVersion": f"{_API}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": NAME},
        "roleRef": {"apiGroup": _API, "kind": "ClusterRole", "name": NAME},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": namespace}],
    }
