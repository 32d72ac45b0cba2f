"""NodeRestriction: a kubelet writes only its own Node, CSINode and Lease, and its own pods.

`auth/node_authorizer.py` decides what a node may read. This plugin checks its writes: the names and
contents in the body, which the authorizer does not see.
"""

from collections.abc import Iterable, Iterator

from mooring.apiserver.admission.contract import AdmissionAttributes, Operation
from mooring.apiserver.auth.node_authorizer import LEASE_NAMESPACE, NodeObjects
from mooring.apiserver.auth.pod_references import (
    MIRROR_ANNOTATION,
    claims,
    find_api_reference,
    is_mirror,
)
from mooring.apiserver.auth.user import find_node
from mooring.apiserver.request.refusals import forbidden, not_found_as, replaced
from mooring.errors import Forbidden
from mooring.model.document import Doc
from mooring.model.field_error import show

_RESTRICTED_LABELS = "node-restriction.kubernetes.io"
_NODE_LABEL_NAMESPACES = ("kubelet.kubernetes.io", "node.kubernetes.io")
_NODE_LABELS = frozenset(
    {
        "kubernetes.io/hostname",
        "kubernetes.io/os",
        "kubernetes.io/arch",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/arch",
        "beta.kubernetes.io/instance-type",
        "node.kubernetes.io/instance-type",
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
    }
)

# What a node reports about a claim: how far its expansion has come.
_CLAIM_STATUS_FIELDS = frozenset(
    {"capacity", "conditions", "allocatedResources", "allocatedResourceStatuses"}
)
_VOLATILE_METADATA = frozenset({"resourceVersion", "managedFields"})

_CLAIM_STATUSES = (
    ("resourceClaimStatuses", "resource claim statues"),  # sic
    ("extendedResourceClaimStatus", "extended resource claim status"),
)


def check_attempt(attributes: AdmissionAttributes, nodes: NodeObjects) -> None:
    """Let a write of anyone but a node pass; of a node, only what is its own business.

    Raises: Forbidden; NotFound when what the write refers to is gone.
    """
    node = find_node(attributes.user)
    if node is None:
        return
    if not node:
        raise _refused(
            attributes, f"could not determine node from user {show(attributes.user.name)}"
        )
    match attributes.kind.group, attributes.kind.plural, attributes.subresource:
        case "", "pods", "":
            _check_pod(node, attributes, nodes)
        case "", "pods", "status":
            _check_pod_status(node, attributes)
        case "", "pods", "eviction":
            _check_eviction(node, attributes, nodes)
        case "", "pods", other:
            allowed = "only 'status' and 'eviction' are allowed"
            raise _refused(attributes, f"unexpected pod subresource {show(other)}, {allowed}")
        case "", "nodes", _:
            _check_node(node, attributes)
        case "", "persistentvolumeclaims", "status":
            _check_claim_status(node, attributes)
        case "", "persistentvolumeclaims", _:
            raise _refused(attributes, "may only update PVC status")
        case "", "serviceaccounts", "token" if attributes.operation is Operation.CREATE:
            _check_token_request(node, attributes, nodes)
        case "coordination.k8s.io", "leases", _:
            _check_lease(node, attributes)
        case "storage.k8s.io", "csinodes", _:
            if _name(attributes) != node:
                why = "can only access CSINode with the same name as the requesting node"
                raise _refused(attributes, why)
        case _:
            return


def _check_pod(node: str, attributes: AdmissionAttributes, nodes: NodeObjects) -> None:
    who = f"node {show(node)}"
    match attributes.operation:
        case Operation.CREATE:
            _check_new_pod(who, node, attributes, nodes)
        case Operation.DELETE:
            pod = attributes.old or _get_pod(attributes.namespace, attributes.name, nodes)
            if _spec(pod).get("nodeName") != node:
                why = f"{who} can only delete pods with spec.nodeName set to itself"
                raise _refused(attributes, why)
        case other:
            allowed = f"{who} can only create and delete mirror pods"
            raise _refused(attributes, f"unexpected operation {show(other.value)}, {allowed}")


def _check_new_pod(
    who: str, node: str, attributes: AdmissionAttributes, nodes: NodeObjects
) -> None:
    pod = attributes.new or {}
    if not is_mirror(pod):
        why = f"pod does not have {show(MIRROR_ANNOTATION)} annotation"
        raise _refused(attributes, f"{why}, {who} can only create mirror pods")
    if _spec(pod).get("nodeName") != node:
        raise _refused(attributes, f"{who} can only create pods with spec.nodeName set to itself")
    owners = _meta(pod).get("ownerReferences") or []
    if len(owners) > 1:
        why = f"{who} can only create pods with a single owner reference set to itself"
        raise _refused(attributes, why)
    if [(o.get("apiVersion"), o.get("kind"), o.get("name")) for o in owners] != [
        ("v1", "Node", node)
    ]:
        raise _refused(
            attributes, f"{who} can only create pods with an owner reference set to itself"
        )
    owner = owners[0]
    if not owner.get("controller"):
        why = f"{who} can only create pods with a controller owner reference set to itself"
        raise _refused(attributes, why)
    if owner.get("blockOwnerDeletion"):
        raise _refused(attributes, f"{who} must not set blockOwnerDeletion on an owner reference")
    known = nodes.node(node)
    if known is None:
        raise not_found_as("", "nodes", node)
    given, recorded = owner.get("uid", ""), _meta(known).get("uid", "")
    if given != recorded:
        raise _refused(attributes, f"node {node} UID mismatch: expected {given} got {recorded}")
    if what := find_api_reference(pod):
        raise _refused(attributes, f"{who} can not create pods that reference {what}")


def _check_pod_status(node: str, attributes: AdmissionAttributes) -> None:
    if attributes.operation is not Operation.UPDATE:
        raise _refused(attributes, f"unexpected operation {show(attributes.operation.value)}")
    who, old, new = f"node {show(node)}", attributes.old or {}, attributes.new or {}
    if _spec(old).get("nodeName") != node:
        own = "pods with spec.nodeName set to itself"
        why = f"{who} can only update pod status for {own}"
        raise _refused(attributes, why)
    if (_meta(old).get("labels") or {}) != (_meta(new).get("labels") or {}):
        raise _refused(attributes, f"{who} cannot update labels through pod status")
    for field, words in _CLAIM_STATUSES:
        if _status(old).get(field) != _status(new).get(field):
            raise _refused(attributes, f"{who} cannot update {words}")


def _check_eviction(node: str, attributes: AdmissionAttributes, nodes: NodeObjects) -> None:
    if attributes.operation is not Operation.CREATE:
        raise _refused(attributes, f"unexpected operation {attributes.operation.value}")
    name = _name(attributes)
    if not name:
        raise _refused(attributes, "could not determine pod from request data")
    if _spec(_get_pod(attributes.namespace, name, nodes)).get("nodeName") != node:
        raise _refused(
            attributes, f"node {node} can only evict pods with spec.nodeName set to itself"
        )


def _check_node(node: str, attributes: AdmissionAttributes) -> None:
    who, name = f"node {show(node)}", _name(attributes)
    if name != node:
        raise _refused(attributes, f"{who} is not allowed to modify node {show(name)}")
    if attributes.operation is Operation.DELETE:
        return
    new, old = attributes.new or {}, attributes.old or {}
    was, will_be = _meta(old).get("labels") or {}, _meta(new).get("labels") or {}
    changed = {key for key, _ in was.items() ^ will_be.items()}
    labels = ", ".join(sorted(filter(_is_out_of_reach, changed)))
    if attributes.operation is Operation.CREATE:
        if _spec(new).get("configSource") is not None:
            why = f"{who} is not allowed to create pods with a non-nil configSource"
            raise _refused(attributes, why)
        if labels:
            raise _refused(
                attributes, f"{who} is not allowed to set the following labels: {labels}"
            )
        return
    source = _spec(new).get("configSource")
    if source is not None and source != _spec(old).get("configSource"):
        why = f"{who} is not allowed to update configSource to a new non-nil configSource"
        raise _refused(attributes, why)
    if (_spec(new).get("taints") or []) != (_spec(old).get("taints") or []):
        raise _refused(attributes, f"{who} is not allowed to modify taints")
    if (_meta(new).get("ownerReferences") or []) != (_meta(old).get("ownerReferences") or []):
        raise _refused(attributes, f"{who} is not allowed to modify ownerReferences")
    if labels:
        raise _refused(attributes, f"is not allowed to modify labels: {labels}")


def _is_out_of_reach(label: str) -> bool:
    """Could workloads be steered by this label? Then a node may not put it on itself."""
    namespace = label.partition("/")[0] if "/" in label else ""
    if _is_within(namespace, (_RESTRICTED_LABELS,)):
        return True
    return (
        _is_within(namespace, ("kubernetes.io", "k8s.io"))
        and label not in _NODE_LABELS
        and not _is_within(namespace, _NODE_LABEL_NAMESPACES)
    )


def _is_within(namespace: str, domains: Iterable[str]) -> bool:
    return any(namespace == domain or namespace.endswith(f".{domain}") for domain in domains)


def _check_claim_status(node: str, attributes: AdmissionAttributes) -> None:
    if attributes.operation is not Operation.UPDATE:
        raise _refused(attributes, f"unexpected operation {show(attributes.operation.value)}")
    new, old = attributes.new or {}, attributes.old or {}
    changed = [
        *(f"metadata.{key}" for key in _changed(_meta(new), _meta(old), _VOLATILE_METADATA)),
        *(f"spec.{key}" for key in _changed(_spec(new), _spec(old))),
        *(f"status.{key}" for key in _changed(_status(new), _status(old), _CLAIM_STATUS_FIELDS)),
    ]
    if changed:
        why = "is not allowed to update fields other than status.quantity and status.conditions"
        raise _refused(attributes, f"node {show(node)} {why}: {', '.join(sorted(changed))}")


def _check_lease(node: str, attributes: AdmissionAttributes) -> None:
    if attributes.namespace != LEASE_NAMESPACE:
        raise _refused(
            attributes, f"can only access leases in the {show(LEASE_NAMESPACE)} system namespace"
        )
    if _name(attributes) != node:
        raise _refused(
            attributes, "can only access node lease with the same name as the requesting node"
        )


def _check_token_request(node: str, attributes: AdmissionAttributes, nodes: NodeObjects) -> None:
    spec = _spec(attributes.new or {})
    ref = spec.get("boundObjectRef") or {}
    if (ref.get("apiVersion"), ref.get("kind")) != ("v1", "Pod") or not ref.get("name"):
        raise _refused(attributes, "node requested token not bound to a pod")
    if not ref.get("uid"):
        raise _refused(attributes, "node requested token with a pod binding without a uid")
    pod = _get_pod(attributes.namespace, ref["name"], nodes)
    if ref["uid"] != _meta(pod).get("uid"):
        raise _refused(attributes, replaced(ref["uid"]))
    if _spec(pod).get("nodeName") != node:
        raise _refused(
            attributes, "node requested token bound to a pod scheduled on a different node"
        )
    audiences = spec.get("audiences") or [""]
    if len(audiences) > 1:
        raise _refused(attributes, "node may only request 0 or 1 audiences")
    if audiences[0] not in set(_audiences(pod, nodes)):
        why = f"is not authorized to request tokens for audience {show(audiences[0])}"
        raise _refused(attributes, f"{attributes.user.name} {why}")


def _audiences(pod: Doc, nodes: NodeObjects) -> Iterator[str]:
    """The audiences for which the pod's volumes need tokens; empty: the API server's own."""
    drivers = set()
    for volume in _spec(pod).get("volumes") or []:
        for source in (volume.get("projected") or {}).get("sources") or []:
            if token := source.get("serviceAccountToken"):
                yield token.get("audience") or ""
        if csi := volume.get("csi"):
            drivers.add(csi.get("driver"))
    for _, claim_name in claims(pod):
        claim = nodes.claim(_meta(pod)["namespace"], claim_name)
        volume = nodes.volume(_spec(claim).get("volumeName") or "") if claim else None
        if volume and (csi := _spec(volume).get("csi")):
            drivers.add(csi.get("driver"))
    for name in drivers:
        driver = nodes.csi_driver(name or "")
        for request in _spec(driver or {}).get("tokenRequests") or []:
            yield request.get("audience") or ""


def _get_pod(namespace: str, name: str, nodes: NodeObjects) -> Doc:
    pod = nodes.pod(namespace, name)
    if pod is None:
        raise not_found_as("", "pods", name)
    return pod


def _changed(new: Doc, old: Doc, ignored: frozenset[str] = frozenset()) -> Iterator[str]:
    """Keys whose values differ; an empty value is no value."""
    for key in new.keys() | old.keys():
        if key not in ignored and (new.get(key) or None) != (old.get(key) or None):
            yield key


def _name(attributes: AdmissionAttributes) -> str:
    return attributes.name or _meta(attributes.new or {}).get("name") or ""


def _meta(document: Doc) -> Doc:
    return document.get("metadata") or {}


def _spec(document: Doc) -> Doc:
    return document.get("spec") or {}


def _status(document: Doc) -> Doc:
    return document.get("status") or {}


def _refused(attributes: AdmissionAttributes, why: str) -> Forbidden:
    meta = _meta(attributes.new or {})
    name = attributes.name or meta.get("name") or meta.get("generateName") or "Unknown"
    return forbidden(attributes.kind, name, why)
