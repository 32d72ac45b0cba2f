"""What a node may write: the rules for n1, and every refusal."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from mooring.apiserver.admission.contract import AdmissionAttributes, Operation
from mooring.apiserver.admission.node_restriction import check_attempt
from mooring.apiserver.auth.user import ADMIN, NODES, User, node_user
from mooring.apiserver.kinds.contract import Kind
from mooring.errors import ApiError, Forbidden, NotFound
from mooring.model.document import Doc
from tests.unit.apiserver.auth.cluster import Cluster, a_claim, a_pod, two_nodes

CREATE, UPDATE, DELETE = Operation.CREATE, Operation.UPDATE, Operation.DELETE
NODE = node_user("n1")


def a_kind(name: str, plural: str, group: str = "", *, namespaced: bool = True) -> Kind:
    return Kind(
        group=group, version="v1", kind=name, plural=plural, message=name, namespaced=namespaced
    )


POD = a_kind("Pod", "pods")
CLAIM = a_kind("PersistentVolumeClaim", "persistentvolumeclaims")
ACCOUNT = a_kind("ServiceAccount", "serviceaccounts")
NODE_KIND = a_kind("Node", "nodes", namespaced=False)
LEASE = a_kind("Lease", "leases", "coordination.k8s.io")
CSI_NODE = a_kind("CSINode", "csinodes", "storage.k8s.io", namespaced=False)
CONFIG_MAP = a_kind("ConfigMap", "configmaps")


def attempted(operation: Operation, kind: Kind, name: str, **more: Any) -> AdmissionAttributes:
    namespace = more.pop("namespace", "default" if kind.namespaced else "")
    return AdmissionAttributes(operation, kind, NODE, namespace, name, **more)


def changed(document: Doc, path: str, value: Any) -> Doc:
    """The document with one more field."""
    result = copy.deepcopy(document)
    *way, last = path.split("/")
    target = result
    for key in way:
        target = target[int(key)] if isinstance(target, list) else target.setdefault(key, {})
    target[last] = value
    return result


OWNER = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "uid-n1", "controller": True}
MIRROR: Doc = {
    "metadata": {
        "name": "static-n1",
        "namespace": "default",
        "annotations": {"kubernetes.io/config.mirror": "hash"},
        "ownerReferences": [OWNER],
    },
    "spec": {"nodeName": "n1", "volumes": [{"name": "h", "hostPath": {"path": "/x"}}]},
}
OWN_NODE: Doc = {
    "metadata": {"name": "n1", "labels": {"kubernetes.io/hostname": "n1", "team": "a"}},
    "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]},
}
OWN_CLAIM = a_claim("data", "pv-data")
WEB = a_pod("web", "n1")
OTHER = a_pod("other", "n2")


def new_pod(path: str = "", value: Any = None) -> AdmissionAttributes:
    pod = changed(MIRROR, path, value) if path else MIRROR
    return attempted(CREATE, POD, "static-n1", new=pod)


def new_node(path: str, value: Any) -> AdmissionAttributes:
    return attempted(CREATE, NODE_KIND, "n1", new=changed(OWN_NODE, path, value))


def node_update(path: str, value: Any, subresource: str = "") -> AdmissionAttributes:
    new = changed(OWN_NODE, path, value)
    return attempted(UPDATE, NODE_KIND, "n1", new=new, old=OWN_NODE, subresource=subresource)


def claim_status(path: str, value: Any) -> AdmissionAttributes:
    new = changed(OWN_CLAIM, path, value)
    return attempted(UPDATE, CLAIM, "data", subresource="status", new=new, old=OWN_CLAIM)


def pod_status(old: Doc, path: str = "status/phase", value: Any = "Running") -> AdmissionAttributes:
    name = old["metadata"]["name"]
    new = changed(old, path, value)
    return attempted(UPDATE, POD, name, subresource="status", new=new, old=old)


def token(audiences: list[str] | None = None, **ref: str) -> AdmissionAttributes:
    bound = {"kind": "Pod", "apiVersion": "v1", "name": "web", "uid": "uid-default-web"} | ref
    request = {"spec": {"boundObjectRef": bound, "audiences": audiences}}
    return attempted(CREATE, ACCOUNT, "web-account", subresource="token", new=request)


def evicted(name: str, body_name: str = "") -> AdmissionAttributes:
    body = {"metadata": {"name": body_name}} if body_name else {}
    return attempted(CREATE, POD, name, subresource="eviction", new=body)


def lease(
    operation: Operation, name: str, namespace: str = "kube-node-lease"
) -> AdmissionAttributes:
    return attempted(operation, LEASE, name, namespace=namespace, new={"metadata": {"name": name}})


LABELS = "metadata/labels"
ALLOWED = {
    "a mirror pod": new_pod(),
    "a pod of its own, deleted": attempted(DELETE, POD, "web", old=WEB),
    "a pod of its own, deleted by name": attempted(DELETE, POD, "web"),
    "the status of its pod": pod_status(WEB),
    "the eviction of its pod": evicted("web"),
    "the eviction of a pod named in the body": evicted("", "web"),
    "itself, registered": attempted(CREATE, NODE_KIND, "n1", new=OWN_NODE),
    "itself, its name being in the body": attempted(CREATE, NODE_KIND, "", new=OWN_NODE),
    "its taints when it registers": new_node("spec/taints", [{"key": "x"}]),
    "its status": node_update("status/volumesInUse", ["v"], "status"),
    "an annotation on itself": node_update("metadata/annotations/x", "y"),
    "a zone label": node_update(LABELS, {"topology.kubernetes.io/zone": "a", "team": "a"}),
    "labels of its own make": node_update(
        f"{LABELS}", OWN_NODE["metadata"]["labels"] | {"node.kubernetes.io/speed": "fast"}
    ),
    "labels of its agent's make": node_update(
        f"{LABELS}", OWN_NODE["metadata"]["labels"] | {"x.kubelet.kubernetes.io/y": "z"}
    ),
    "labels of the operator": node_update(LABELS, {"kubernetes.io/hostname": "n1", "team": "b"}),
    "labels of a driver": node_update(
        LABELS, OWN_NODE["metadata"]["labels"] | {"topology.disk.csi/zone": "a"}
    ),
    "the capacity of a claim": claim_status("status/capacity", {"storage": "2Gi"}),
    "the conditions of a claim": claim_status("status/conditions", [{"type": "Resizing"}]),
    "how far an expansion came": claim_status("status/allocatedResourceStatuses", {"storage": "x"}),
    "what was allocated": claim_status("status/allocatedResources", {"storage": "2Gi"}),
    "a claim's status at any version": claim_status("metadata/resourceVersion", "9"),
    "a claim's status with its manager": claim_status("metadata/managedFields", [{}]),
    "a claim's status where nothing became an empty list": claim_status("metadata/finalizers", []),
    "a token for its pod": token(),
    "a token that its pod's CSI driver asks for": token(["vault"]),
    "a token that its pod's inline CSI driver asks for": token(["inline-vault"]),
    "an account": attempted(UPDATE, ACCOUNT, "web-account"),
    "its lease, created": lease(CREATE, "n1"),
    "its lease, updated": lease(UPDATE, "n1"),
    "its CSINode, created": attempted(CREATE, CSI_NODE, "", new={"metadata": {"name": "n1"}}),
    "its CSINode, updated": attempted(UPDATE, CSI_NODE, "n1"),
    "its CSINode, deleted": attempted(DELETE, CSI_NODE, "n1"),
    "what other rules forbid anyway": attempted(CREATE, CONFIG_MAP, "x", new={}),
}


@pytest.fixture
def cluster() -> Cluster:
    return two_nodes()


@pytest.mark.parametrize("attributes", ALLOWED.values(), ids=ALLOWED)
def test_a_node_may_write(cluster: Cluster, attributes: AdmissionAttributes) -> None:
    check_attempt(attributes, cluster)


ONLY_MIRRORS = 'node "n1" can only create and delete mirror pods'
WITH_OWNER = 'node "n1" can only create pods with an owner reference set to itself'
OWN_LEASE = "can only access node lease with the same name as the requesting node"
OWN_CSI_NODE = "can only access CSINode with the same name as the requesting node"
CLAIM_FIELDS = (
    'node "n1" is not allowed to update fields other than status.quantity and status.conditions: '
)
REFUSED = {
    "a pod that is no mirror": (
        new_pod("metadata/annotations", {}),
        'pod does not have "kubernetes.io/config.mirror" annotation, '
        'node "n1" can only create mirror pods',
    ),
    "a mirror pod elsewhere": (
        new_pod("spec/nodeName", "n2"),
        'node "n1" can only create pods with spec.nodeName set to itself',
    ),
    "a mirror pod nowhere": (
        new_pod("spec/nodeName", None),
        'node "n1" can only create pods with spec.nodeName set to itself',
    ),
    "a mirror pod with two owners": (
        new_pod("metadata/ownerReferences", [OWNER, OWNER]),
        'node "n1" can only create pods with a single owner reference set to itself',
    ),
    "a mirror pod without owner": (new_pod("metadata/ownerReferences", []), WITH_OWNER),
    "a mirror pod owned by another node": (
        new_pod("metadata/ownerReferences", [OWNER | {"name": "n2"}]),
        WITH_OWNER,
    ),
    "a mirror pod owned by another kind": (
        new_pod("metadata/ownerReferences", [OWNER | {"kind": "Pod"}]),
        WITH_OWNER,
    ),
    "a mirror pod that it does not control": (
        new_pod("metadata/ownerReferences", [OWNER | {"controller": False}]),
        'node "n1" can only create pods with a controller owner reference set to itself',
    ),
    "a mirror pod that holds it": (
        new_pod("metadata/ownerReferences", [OWNER | {"blockOwnerDeletion": True}]),
        'node "n1" must not set blockOwnerDeletion on an owner reference',
    ),
    "a mirror pod of an earlier self": (
        new_pod("metadata/ownerReferences", [OWNER | {"uid": "uid-old"}]),
        "node n1 UID mismatch: expected uid-old got uid-n1",
    ),
    "a mirror pod with an account": (
        new_pod("spec/serviceAccountName", "web-account"),
        'node "n1" can not create pods that reference serviceaccounts',
    ),
    "a mirror pod with a secret": (
        new_pod("spec/volumes", [{"name": "s", "secret": {"secretName": "s"}}]),
        'node "n1" can not create pods that reference secrets',
    ),
    "a mirror pod with a claim": (
        new_pod("spec/volumes", [{"name": "c", "persistentVolumeClaim": {"claimName": "c"}}]),
        'node "n1" can not create pods that reference persistentvolumeclaims',
    ),
    "another node's pod, deleted": (
        attempted(DELETE, POD, "other", old=OTHER),
        'node "n1" can only delete pods with spec.nodeName set to itself',
    ),
    "a pod, updated": (
        attempted(UPDATE, POD, "web", new=WEB, old=WEB),
        f'unexpected operation "UPDATE", {ONLY_MIRRORS}',
    ),
    "a pod's other parts": (
        attempted(UPDATE, POD, "web", subresource="resize", new=WEB, old=WEB),
        "unexpected pod subresource \"resize\", only 'status' and 'eviction' are allowed",
    ),
    "another node's pod's status": (
        pod_status(OTHER),
        'node "n1" can only update pod status for pods with spec.nodeName set to itself',
    ),
    "labels with the status of a pod": (
        pod_status(WEB, "metadata/labels", {"app": "other"}),
        'node "n1" cannot update labels through pod status',
    ),
    "resource claims with the status of a pod": (
        pod_status(WEB, "status/resourceClaimStatuses", [{"name": "gpu"}]),
        'node "n1" cannot update resource claim statues',
    ),
    "the status of a pod, deleted": (
        attempted(DELETE, POD, "web", subresource="status"),
        'unexpected operation "DELETE"',
    ),
    "another node's pod, evicted": (
        evicted("other"),
        "node n1 can only evict pods with spec.nodeName set to itself",
    ),
    "nobody, evicted": (evicted(""), "could not determine pod from request data"),
    "an eviction, updated": (
        attempted(UPDATE, POD, "web", subresource="eviction"),
        "unexpected operation UPDATE",
    ),
    "another node": (
        attempted(UPDATE, NODE_KIND, "n2", new=OWN_NODE, old=OWN_NODE),
        'node "n1" is not allowed to modify node "n2"',
    ),
    "another node's registration": (
        attempted(CREATE, NODE_KIND, "", new={"metadata": {"name": "n2"}}),
        'node "n1" is not allowed to modify node "n2"',
    ),
    "a config source when it registers": (
        new_node("spec/configSource", {}),
        'node "n1" is not allowed to create pods with a non-nil configSource',
    ),
    "a config source": (
        node_update("spec/configSource", {"configMap": {}}),
        'node "n1" is not allowed to update configSource to a new non-nil configSource',
    ),
    "a role label when it registers": (
        new_node(
            LABELS,
            {
                "node-role.kubernetes.io/master": "",
                "x.node-restriction.kubernetes.io/y": "",
                "kubernetes.io/os": "linux",
            },
        ),
        'node "n1" is not allowed to set the following labels: node-role.kubernetes.io/master, '
        "x.node-restriction.kubernetes.io/y",
    ),
    "taints": (node_update("spec/taints", []), 'node "n1" is not allowed to modify taints'),
    "owners of itself": (
        node_update("metadata/ownerReferences", [OWNER]),
        'node "n1" is not allowed to modify ownerReferences',
    ),
    "a restricted label": (
        node_update(
            LABELS,
            OWN_NODE["metadata"]["labels"] | {"node-restriction.kubernetes.io/secure": "1"},
        ),
        "is not allowed to modify labels: node-restriction.kubernetes.io/secure",
    ),
    "a label of Kubernetes": (
        node_update(LABELS, OWN_NODE["metadata"]["labels"] | {"foo.k8s.io/x": "1"}),
        "is not allowed to modify labels: foo.k8s.io/x",
    ),
    "a label of Kubernetes, with the status": (
        node_update(LABELS, OWN_NODE["metadata"]["labels"] | {"k8s.io/x": "1"}, "status"),
        "is not allowed to modify labels: k8s.io/x",
    ),
    "a claim": (attempted(UPDATE, CLAIM, "data"), "may only update PVC status"),
    "a claim, created": (attempted(CREATE, CLAIM, "data"), "may only update PVC status"),
    "a claim's status, created": (
        attempted(CREATE, CLAIM, "data", subresource="status"),
        'unexpected operation "CREATE"',
    ),
    "a claim's phase": (claim_status("status/phase", "Lost"), f"{CLAIM_FIELDS}status.phase"),
    "a claim's labels, with its status": (
        claim_status("metadata/labels", {"a": "b"}),
        f"{CLAIM_FIELDS}metadata.labels",
    ),
    "a claim's finalizers, with its status": (
        claim_status("metadata/finalizers", ["x/y"]),
        f"{CLAIM_FIELDS}metadata.finalizers",
    ),
    "a claim's volume, with its status": (
        claim_status("spec/volumeName", "pv-others"),
        f"{CLAIM_FIELDS}spec.volumeName",
    ),
    "a token for anyone": (
        attempted(CREATE, ACCOUNT, "web-account", subresource="token", new={"spec": {}}),
        "node requested token not bound to a pod",
    ),
    "a token for a secret": (token(kind="Secret"), "node requested token not bound to a pod"),
    "a token for a pod without a name": (token(name=""), "node requested token not bound to a pod"),
    "a token for any pod of that name": (
        token(uid=""),
        "node requested token with a pod binding without a uid",
    ),
    "a token for an earlier pod": (
        token(uid="uid-old"),
        "the UID in the bound object reference (uid-old) does not match the UID in record. "
        "The object might have been deleted and then recreated",
    ),
    "a token for another node's pod": (
        token(name="other", uid="uid-default-other"),
        "node requested token bound to a pod scheduled on a different node",
    ),
    "a token for two audiences": (token(["a", "b"]), "node may only request 0 or 1 audiences"),
    "a token for an audience of its own": (
        token(["bank"]),
        'system:node:n1 is not authorized to request tokens for audience "bank"',
    ),
    "a lease elsewhere": (
        lease(UPDATE, "n1", "kube-system"),
        'can only access leases in the "kube-node-lease" system namespace',
    ),
    "another node's lease": (lease(UPDATE, "n2"), OWN_LEASE),
    "another node's lease, created": (lease(CREATE, "n2"), OWN_LEASE),
    "another node's CSINode": (attempted(UPDATE, CSI_NODE, "n2"), OWN_CSI_NODE),
    "another node's CSINode, created": (
        attempted(CREATE, CSI_NODE, "", new={"metadata": {"name": "n2"}}),
        OWN_CSI_NODE,
    ),
}


@pytest.mark.parametrize(("attributes", "why"), REFUSED.values(), ids=REFUSED)
def test_a_node_may_not_write(cluster: Cluster, attributes: AdmissionAttributes, why: str) -> None:
    with pytest.raises(Forbidden) as refused:
        check_attempt(attributes, cluster)
    meta = (attributes.new or {}).get("metadata", {})
    name = attributes.name or meta.get("name", "Unknown")
    assert refused.value.message == f'{attributes.kind.resource} "{name}" is forbidden: {why}'


@pytest.mark.parametrize("attributes", [row[0] for row in REFUSED.values()], ids=REFUSED)
def test_everyone_else_is_none_of_this_rules_business(
    cluster: Cluster, attributes: AdmissionAttributes
) -> None:
    for user in (ADMIN, User("system:node:n1"), User("bob", groups=(NODES,))):
        other = AdmissionAttributes(
            attributes.operation,
            attributes.kind,
            user,
            attributes.namespace,
            attributes.name,
            attributes.subresource,
            attributes.new,
            attributes.old,
        )
        check_attempt(other, cluster)


def test_a_node_without_a_name_writes_nothing(cluster: Cluster) -> None:
    nameless = User("system:node:", groups=(NODES,))
    attributes = AdmissionAttributes(CREATE, CONFIG_MAP, nameless, "default", "x", new={})
    with pytest.raises(Forbidden, match='could not determine node from user "system:node:"'):
        check_attempt(attributes, cluster)


GONE: dict[str, tuple[AdmissionAttributes, Callable[[Cluster], object], str]] = {
    "the pod it deletes": (
        attempted(DELETE, POD, "web"),
        lambda cluster: cluster.pods.clear(),
        'pods "web" not found',
    ),
    "the pod it evicts": (
        evicted("web"),
        lambda cluster: cluster.pods.clear(),
        'pods "web" not found',
    ),
    "the pod of a token": (
        token(),
        lambda cluster: cluster.pods.clear(),
        'pods "web" not found',
    ),
    "itself, when it creates a mirror pod": (
        new_pod(),
        lambda cluster: cluster.nodes.clear(),
        'nodes "n1" not found',
    ),
}


@pytest.mark.parametrize(("attributes", "happens", "message"), GONE.values(), ids=GONE)
def test_what_is_gone_is_not_found(
    cluster: Cluster,
    attributes: AdmissionAttributes,
    happens: Callable[[Cluster], object],
    message: str,
) -> None:
    happens(cluster)
    with pytest.raises(NotFound) as refused:
        check_attempt(attributes, cluster)
    assert refused.value.message == message


def test_a_token_for_a_claim_that_is_not_bound_yet(cluster: Cluster) -> None:
    cluster.claims.clear()
    with pytest.raises(ApiError, match='audience "vault"'):
        check_attempt(token(["vault"]), cluster)
