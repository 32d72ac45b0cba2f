"""What a node may do: only what concerns it.

An object concerns a node when a pod bound to the node leads to it: the pod's secrets, config maps,
service account and claims, the volumes of these claims, the secrets that a node needs to use those
volumes; and an attachment that names the node. Names of objects that a node is about to write are
not known here: `admission/node_restriction.py` checks them.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

import msgspec

from mooring.apiserver.auth.attributes import (
    ALLOWED,
    NO_OPINION,
    AccessAttributes,
    Verdict,
    find_required,
)
from mooring.apiserver.auth.pod_references import References, references, volume_secrets
from mooring.apiserver.auth.roles import NODE
from mooring.apiserver.auth.rules import covers_resource
from mooring.model.document import Doc

LEASE_NAMESPACE = "kube-node-lease"

_MOST_REMEMBERED = 20_000  # pods, and witnesses

_FIELDS = {
    "secrets": "secrets",
    "configmaps": "config_maps",
    "serviceaccounts": "service_accounts",
    "persistentvolumeclaims": "claims",
}
"""The part of a pod's references that names objects of a resource."""


class _Asked(msgspec.Struct, frozen=True, gc=False):
    """An object that a node asks for."""

    node: str
    resource: str
    namespace: str
    name: str


class NodeObjects(Protocol):
    """The newest readable version of each object; None when there is none."""

    def pods_on_node(self, node: str) -> Iterable[Doc]:
        """Every pod whose spec.nodeName is `node`; an index, not a search."""
        ...

    def pod(self, namespace: str, name: str) -> Doc | None: ...

    def claim(self, namespace: str, name: str) -> Doc | None: ...

    def volume(self, name: str) -> Doc | None: ...

    def attachment(self, name: str) -> Doc | None: ...

    def node(self, name: str) -> Doc | None: ...

    def csi_driver(self, name: str) -> Doc | None: ...


class NodeAuthorizer:
    def __init__(self, objects: NodeObjects) -> None:
        self._objects = objects
        self._remembered: dict[tuple[str, int], References] = {}
        self._witnesses: dict[_Asked, str] = {}  # the pod that led to it when it was last asked for
        self._rules: Mapping[tuple[str, str], Callable[[str, AccessAttributes], Verdict]] = {
            ("", "secrets"): self._read_namespaced,
            ("", "configmaps"): self._read_namespaced,
            ("", "persistentvolumeclaims"): self._claim,
            ("", "persistentvolumes"): self._get,
            ("", "serviceaccounts"): self._service_account,
            ("", "nodes"): _own_node,
            ("", "pods"): self._pod,
            ("storage.k8s.io", "volumeattachments"): self._get,
            ("storage.k8s.io", "csinodes"): _own_csi_node,
            ("coordination.k8s.io", "leases"): _own_lease,
        }

    def authorize(self, node: str, attributes: AccessAttributes) -> Verdict:
        """The verdict on what `node` tries; a refusal says which rule it missed."""
        rule = self._rules.get((attributes.group, attributes.resource))
        if rule is not None:
            return rule(node, attributes)
        asked = attributes.verb, attributes.group, attributes.resource, attributes.subresource
        allowed = any(covers_resource(rule, *asked) for rule in NODE.rules)
        return ALLOWED if allowed else NO_OPINION

    def _read_namespaced(self, node: str, attributes: AccessAttributes) -> Verdict:
        if attributes.verb not in {"get", "list", "watch"}:
            return _no("can only read resources of this type")
        if attributes.subresource:
            return _no("cannot read subresource")
        if not attributes.namespace:
            return _no("can only read namespaced object of this type")
        return self._related(node, attributes)

    def _get(self, node: str, attributes: AccessAttributes) -> Verdict:
        if attributes.verb != "get":
            return _no("can only get individual resources of this type")
        if attributes.subresource:
            return _no("cannot get subresource")
        return self._related(node, attributes)

    def _claim(self, node: str, attributes: AccessAttributes) -> Verdict:
        by_name = attributes.verb in {"list", "watch"} and attributes.name
        if by_name and not attributes.subresource:  # Kubernetes has a node poll its claims
            return self._related(node, attributes)
        if attributes.subresource != "status":
            return self._get(node, attributes)
        if attributes.verb not in {"update", "patch"}:
            return _no("can only get/update/patch this type")
        return self._related(node, attributes)

    def _service_account(self, node: str, attributes: AccessAttributes) -> Verdict:
        if attributes.verb == "get" and not attributes.subresource:
            return self._read_namespaced(node, attributes)
        if attributes.verb != "create" or not attributes.name:
            return _no("can only create tokens for individual service accounts")
        if attributes.subresource != "token":
            return _no("can only create token subresource of serviceaccount")
        return self._related(node, attributes)

    def _pod(self, node: str, attributes: AccessAttributes) -> Verdict:
        # Writes are allowed here; admission limits them to the node's own pods.
        match attributes.subresource, attributes.verb:
            case "", "get":
                return self._get(node, attributes)
            case "", "list" | "watch":
                if find_required(attributes.field_selector, "spec.nodeName") == node:
                    return ALLOWED
                if attributes.name:
                    return self._related(node, attributes)
                return _no("can only list/watch pods with spec.nodeName field selector")
            case (
                ("", "create" | "delete") | ("status", "update" | "patch") | ("eviction", "create")
            ):
                return ALLOWED
            case _:
                return NO_OPINION

    def _related(self, node: str, attributes: AccessAttributes) -> Verdict:
        if not attributes.name:
            return _no("No Object name found")
        if self._leads_to(node, attributes):
            return ALLOWED
        return _no(f"no relationship found between node '{node}' and this object")

    def _leads_to(self, node: str, attributes: AccessAttributes) -> bool:
        namespace, name = attributes.namespace, attributes.name
        match attributes.resource:
            case "secrets":
                asked = _Asked(node, "secrets", namespace, name)
                return self._is_referred_to(asked) or self._volume_needs_secret(asked)
            case "configmaps" | "serviceaccounts" | "persistentvolumeclaims" as resource:
                return self._is_referred_to(_Asked(node, resource, namespace, name))
            case "persistentvolumes":
                volume = self._objects.volume(name)
                return volume is not None and self._is_referred_to(
                    _Asked(node, "persistentvolumeclaims", *_claim_of(volume))
                )
            case "volumeattachments":
                attachment = self._objects.attachment(name)
                return attachment is not None and _spec(attachment).get("nodeName") == node
            case "pods":
                pod = self._objects.pod(namespace, name)
                return pod is not None and _spec(pod).get("nodeName") == node
            case _:
                return False

    def _is_referred_to(self, asked: _Asked) -> bool:
        """Whether a pod on the node, as it is now, names the object.

        The pod that did so the last time is looked at first: most nodes ask again and again.
        """
        witness = self._witnesses.get(asked)
        if witness is not None:
            pod = self._objects.pod(asked.namespace, witness)
            if pod is not None and self._names(pod, asked):
                return True
            del self._witnesses[asked]
        for pod in self._objects.pods_on_node(asked.node):
            if pod["metadata"]["namespace"] == asked.namespace and self._names(pod, asked):
                if len(self._witnesses) >= _MOST_REMEMBERED:
                    self._witnesses.clear()
                self._witnesses[asked] = pod["metadata"]["name"]
                return True
        return False

    def _names(self, pod: Doc, asked: _Asked) -> bool:
        if _spec(pod).get("nodeName") != asked.node:
            return False
        return asked.name in getattr(self._remember(pod), _FIELDS[asked.resource])

    def _remember(self, pod: Doc) -> References:
        """A pod's references; they change only when its generation does."""
        meta = pod["metadata"]
        key = meta.get("uid", ""), meta.get("generation", 0)
        if not all(key):
            return references(pod)
        known = self._remembered.get(key)
        if known is None:
            if len(self._remembered) >= _MOST_REMEMBERED:
                self._remembered.clear()
            known = self._remembered[key] = references(pod)
        return known

    def _volume_needs_secret(self, asked: _Asked) -> bool:
        """Is it a secret of a volume whose claim some pod on the node uses?"""
        for pod in self._objects.pods_on_node(asked.node):
            claim_namespace = pod["metadata"]["namespace"]
            for claim_name in self._remember(pod).claims:
                volume = self._volume_of(claim_namespace, claim_name)
                if volume is not None and (asked.namespace, asked.name) in volume_secrets(volume):
                    return True
        return False

    def _volume_of(self, namespace: str, claim_name: str) -> Doc | None:
        claim = self._objects.claim(namespace, claim_name)
        volume = self._objects.volume(_spec(claim).get("volumeName") or "") if claim else None
        # A claim can name any volume; only the volume's own word makes the pair.
        return volume if volume and _claim_of(volume) == (namespace, claim_name) else None


def _own_node(node: str, attributes: AccessAttributes) -> Verdict:
    match attributes.subresource, attributes.verb:
        case ("", "create" | "update" | "patch") | ("status", "update" | "patch"):
            return ALLOWED  # admission limits these to the node's own object
        case "", "get" | "list" | "watch":
            # By name, not by what exists: a node looks for itself before it registers.
            if attributes.name == node:
                return ALLOWED
            what = f"'{attributes.name}'" if attributes.name else "all nodes"
            return _no(f"node '{node}' cannot read {what}, only its own Node object")
        case _:
            return NO_OPINION


def _own_csi_node(node: str, attributes: AccessAttributes) -> Verdict:
    if attributes.subresource == "status":
        if attributes.verb not in {"get", "update", "patch"}:
            return _no("can only get, update, or patch a CSINode status")
    elif attributes.subresource:
        return _no("cannot authorize CSINode subresources")
    if attributes.verb not in {"get", "create", "update", "patch", "delete"}:
        return _no("can only get, create, update, patch, or delete a CSINode")
    if attributes.verb != "create" and attributes.name != node:
        return _no("can only access CSINode with the same name as the requesting node")
    return ALLOWED


def _own_lease(node: str, attributes: AccessAttributes) -> Verdict:
    if attributes.verb not in {"get", "create", "update", "patch", "delete"}:
        return _no("can only get, create, update, patch, or delete a node lease")
    if attributes.namespace != LEASE_NAMESPACE:
        return _no(f'can only access leases in the "{LEASE_NAMESPACE}" system namespace')
    if attributes.verb != "create" and attributes.name != node:
        return _no("can only access node lease with the same name as the requesting node")
    return ALLOWED


def _claim_of(volume: Doc) -> tuple[str, str]:
    ref = _spec(volume).get("claimRef") or {}
    return ref.get("namespace", ""), ref.get("name", "")


def _spec(document: Doc) -> Doc:
    return document.get("spec") or {}


def _no(reason: str) -> Verdict:
    return Verdict(allowed=False, reason=reason)
