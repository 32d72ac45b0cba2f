"""Where objects live and the smallest valid one of each kind; `$name` is the case's own."""

from typing import Any

from mooring.apiserver.patching.merge import merge_patch
from tests.conformance.asking import Again, Case, Cases, Doc, post, put

_OURS = "/api/v1/namespaces/$name"
_STORAGE = "/apis/storage.k8s.io/v1"

NAMESPACES = "/api/v1/namespaces"
NODES = "/api/v1/nodes"
PODS = f"{_OURS}/pods"
SECRETS = f"{_OURS}/secrets"
CONFIG_MAPS = f"{_OURS}/configmaps"
ACCOUNTS = f"{_OURS}/serviceaccounts"
EVENTS = f"{_OURS}/events"
CLAIMS = f"{_OURS}/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
CLASSES = f"{_STORAGE}/storageclasses"
ATTACHMENTS = f"{_STORAGE}/volumeattachments"
DRIVERS = f"{_STORAGE}/csidrivers"
CSI_NODES = f"{_STORAGE}/csinodes"
CAPACITIES = f"{_STORAGE}/namespaces/$name/csistoragecapacities"
ATTRIBUTES = f"{_STORAGE}/volumeattributesclasses"
CONTROLLERS = f"{_OURS}/replicationcontrollers"
_APPS = "/apis/apps/v1/namespaces/$name"
DEPLOYMENTS = f"{_APPS}/deployments"
REPLICA_SETS = f"{_APPS}/replicasets"
REVISIONS = f"{_APPS}/controllerrevisions"
_RBAC = "/apis/rbac.authorization.k8s.io/v1"
ROLES = f"{_RBAC}/namespaces/$name/roles"
ROLE_BINDINGS = f"{_RBAC}/namespaces/$name/rolebindings"
CLUSTER_ROLES = f"{_RBAC}/clusterroles"
CLUSTER_ROLE_BINDINGS = f"{_RBAC}/clusterrolebindings"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/$name/leases"
EVENTS_V1 = "/apis/events.k8s.io/v1/namespaces/$name/events"


def _object(api_version: str, kind: str, **rest: Any) -> Doc:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "$name"}, **rest}


NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "$name-more"}}
NODE = _object(  # with a taint that theirs adds and ours does not: see `kept.py`
    "v1",
    "Node",
    spec={"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]},
)
POD = _object("v1", "Pod", spec={"containers": [{"name": "main", "image": "box"}]})
SECRET = _object("v1", "Secret", data={"key": "dmFsdWU="})
CONFIG_MAP = _object("v1", "ConfigMap", data={"key": "value"})
ACCOUNT = _object("v1", "ServiceAccount")
EVENT = _object(
    "v1",
    "Event",
    involvedObject={"kind": "Pod", "namespace": "$name", "name": "web", "uid": "u1"},
    reason="Tried",
    message="said",
    type="Normal",
)
EVENT_V1 = _object(
    "events.k8s.io/v1",
    "Event",
    regarding={"kind": "Pod", "namespace": "$name", "name": "web"},
    eventTime="2001-01-02T03:04:05.000006Z",
    reportingController="mooring.example/tester",
    reportingInstance="tester-0",
    action="Trying",
    reason="Tried",
    note="said",
    type="Normal",
)
CLAIM = _object(
    "v1",
    "PersistentVolumeClaim",
    spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
)
VOLUME = _object(
    "v1",
    "PersistentVolume",
    spec={
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "csi": {"driver": "csi.example.com", "volumeHandle": "h1"},
    },
)
CLASS = _object("storage.k8s.io/v1", "StorageClass", provisioner="csi.example.com")
ATTACHMENT = _object(
    "storage.k8s.io/v1",
    "VolumeAttachment",
    spec={
        "attacher": "csi.example.com",
        "nodeName": "n1",
        "source": {"persistentVolumeName": "v1"},
    },
)
DRIVER = _object("storage.k8s.io/v1", "CSIDriver", spec={})
CSI_NODE = _object(
    "storage.k8s.io/v1",
    "CSINode",
    spec={"drivers": [{"name": "csi.example.com", "nodeID": "id-1", "topologyKeys": ["zone"]}]},
)
CAPACITY = _object("storage.k8s.io/v1", "CSIStorageCapacity", storageClassName="fast")
ATTRIBUTES_CLASS = _object(
    "storage.k8s.io/v1",
    "VolumeAttributesClass",
    driverName="csi.example.com",
    parameters={"iops": "100"},
)
LEASE = _object("coordination.k8s.io/v1", "Lease", spec={"holderIdentity": "me"})
TEMPLATE = {
    "metadata": {"labels": {"app": "a"}},
    "spec": {"containers": [{"name": "main", "image": "box"}]},
}
CONTROLLER = _object("v1", "ReplicationController", spec={"template": TEMPLATE})
_SELECTED = {"selector": {"matchLabels": {"app": "a"}}, "template": TEMPLATE}
DEPLOYMENT = _object("apps/v1", "Deployment", spec=_SELECTED)
REPLICA_SET = _object("apps/v1", "ReplicaSet", spec=_SELECTED)
REVISION = _object("apps/v1", "ControllerRevision", data={"spec": {"a": 1}}, revision=1)
_RULES = [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]
_ACCOUNT = {"kind": "ServiceAccount", "name": "default", "namespace": "$name"}
ROLE = _object("rbac.authorization.k8s.io/v1", "Role", rules=_RULES)
CLUSTER_ROLE = _object("rbac.authorization.k8s.io/v1", "ClusterRole", rules=_RULES)
ROLE_BINDING = _object(
    "rbac.authorization.k8s.io/v1",
    "RoleBinding",
    roleRef={"kind": "Role", "name": "$name"},
    subjects=[_ACCOUNT],
)
CLUSTER_ROLE_BINDING = _object(
    "rbac.authorization.k8s.io/v1",
    "ClusterRoleBinding",
    roleRef={"kind": "ClusterRole", "name": "$name"},
    subjects=[_ACCOUNT],
)

SMALLEST: dict[str, tuple[str, Doc]] = {
    "namespace": (NAMESPACES, NAMESPACE),
    "node": (NODES, NODE),
    "pod": (PODS, POD),
    "secret": (SECRETS, SECRET),
    "config map": (CONFIG_MAPS, CONFIG_MAP),
    "service account": (ACCOUNTS, ACCOUNT),
    "event": (EVENTS, EVENT),
    "event of events.k8s.io": (EVENTS_V1, EVENT_V1),
    "claim": (CLAIMS, CLAIM),
    "volume": (VOLUMES, VOLUME),
    "storage class": (CLASSES, CLASS),
    "attachment": (ATTACHMENTS, ATTACHMENT),
    "driver": (DRIVERS, DRIVER),
    "CSI node": (CSI_NODES, CSI_NODE),
    "storage capacity": (CAPACITIES, CAPACITY),
    "attributes class": (ATTRIBUTES, ATTRIBUTES_CLASS),
    "lease": (LEASES, LEASE),
    "replication controller": (CONTROLLERS, CONTROLLER),
    "deployment": (DEPLOYMENTS, DEPLOYMENT),
    "replica set": (REPLICA_SETS, REPLICA_SET),
    "revision": (REVISIONS, REVISION),
    "role": (ROLES, ROLE),
    "cluster role": (CLUSTER_ROLES, CLUSTER_ROLE),
    "role binding": (ROLE_BINDINGS, ROLE_BINDING),
    "cluster role binding": (CLUSTER_ROLE_BINDINGS, CLUSTER_ROLE_BINDING),
}


def named(path: str, doc: Doc) -> str:
    return f"{path}/{doc['metadata']['name']}"


def changed(doc: Doc, change: Doc) -> Doc:
    """`doc` after a merge patch: null removes, lists are replaced."""
    return merge_patch(doc, change)


def creates(kind: str, changes: dict[str, Doc]) -> Cases:
    """A case per change: create the smallest object with it."""
    path, smallest = SMALLEST[kind]
    return {
        f"{kind} created {words}": (post(path, changed(smallest, change)),)
        for words, change in changes.items()
    }


def updates(kind: str, start: Doc, changes: dict[str, Doc]) -> Cases:
    """A case per change: create the smallest object with `start`, then PUT it with the change."""
    path, smallest = SMALLEST[kind]
    first = changed(smallest, start)
    return {
        f"{kind} updated {words}": (post(path, first), put(named(path, first), Again(0, change)))
        for words, change in changes.items()
    }


def sequence(kind: str, *steps: Any) -> Case:
    """Create the smallest object of a kind, then go on."""
    path, smallest = SMALLEST[kind]
    return (post(path, smallest), *steps)
