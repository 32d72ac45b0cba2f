"""Documents of every kind as clients write them: legal, small, each call a fresh one."""

from collections.abc import Callable
from functools import partial
from typing import Any

from mooring.apiserver.kinds.registry import builtin
from tests.fakes.certificates import a_certificate

Doc = dict[str, Any]

DEFAULT = "/api/v1/namespaces/default"
ENDPOINTS = f"{DEFAULT}/endpoints"
CONFIG_MAPS = f"{DEFAULT}/configmaps"
CLAIMS = f"{DEFAULT}/persistentvolumeclaims"
PODS = f"{DEFAULT}/pods"
POD_TEMPLATES = f"{DEFAULT}/podtemplates"
SECRETS = f"{DEFAULT}/secrets"
EVENTS = f"{DEFAULT}/events"
SERVICE_ACCOUNTS = f"{DEFAULT}/serviceaccounts"
APPS = "/apis/apps/v1/namespaces/default"
DEPLOYMENTS = f"{APPS}/deployments"
REPLICA_SETS = f"{APPS}/replicasets"
STATEFUL_SETS = f"{APPS}/statefulsets"
DAEMON_SETS = f"{APPS}/daemonsets"
REVISIONS = f"{APPS}/controllerrevisions"
NAMESPACES = "/api/v1/namespaces"
NODES = "/api/v1/nodes"
VOLUMES = "/api/v1/persistentvolumes"
STORAGE = "/apis/storage.k8s.io/v1"
CLASSES = f"{STORAGE}/storageclasses"
ATTACHMENTS = f"{STORAGE}/volumeattachments"
DRIVERS = f"{STORAGE}/csidrivers"
CSI_NODES = f"{STORAGE}/csinodes"
ATTRIBUTES_CLASSES = f"{STORAGE}/volumeattributesclasses"
CAPACITIES = f"{STORAGE}/namespaces/default/csistoragecapacities"
SNAPSHOT_GROUP = "/apis/snapshot.storage.k8s.io/v1"
SNAPSHOTS = f"{SNAPSHOT_GROUP}/namespaces/default/volumesnapshots"
SNAPSHOT_CONTENTS = f"{SNAPSHOT_GROUP}/volumesnapshotcontents"
SNAPSHOT_CLASSES = f"{SNAPSHOT_GROUP}/volumesnapshotclasses"
METADATA_SERVICES = "/apis/cbt.storage.k8s.io/v1beta1/snapshotmetadataservices"
GRANTS = "/apis/gateway.networking.k8s.io/v1beta1/namespaces/default/referencegrants"
POPULATORS = "/apis/populator.storage.k8s.io/v1beta1/volumepopulators"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
MUTATING_WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
VALIDATING_WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
ADMISSION_POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
POLICY_BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
MUTATING_POLICIES = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies"
MUTATING_BINDINGS = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings"
MIGRATIONS = "/apis/storagemigration.k8s.io/v1/storageversionmigrations"
TRUST_BUNDLES = "/apis/certificates.k8s.io/v1beta1/clustertrustbundles"
PRIORITY_CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
CRON_JOBS = "/apis/batch/v1/namespaces/default/cronjobs"
QUOTAS = f"{DEFAULT}/resourcequotas"
LIMIT_RANGES = f"{DEFAULT}/limitranges"
NETWORK_POLICIES = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies"
ENDPOINT_SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
NEW_EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"


def _an_object(kind: str, api_version: str, name: str, **body: Any) -> Doc:
    return {"kind": kind, "apiVersion": api_version, "metadata": {"name": name}, **body}


def a_config_map(name: str = "settings", **data: str) -> Doc:
    return _an_object("ConfigMap", "v1", name, data=data or {"colour": "blue"})


def some_endpoints(name: str = "storage", *ips: str) -> Doc:
    addresses = [{"ip": ip} for ip in ips or ("10.0.0.1", "10.0.0.2")]
    subsets = [{"addresses": addresses, "ports": [{"port": 1}]}]
    return _an_object("Endpoints", "v1", name, subsets=subsets)


def _apps(kind: str, name: str, **spec: Any) -> Doc:
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": "c", "image": "busybox:1"}]},
    }
    selected = {"selector": {"matchLabels": {"app": name}}, "template": template}
    return _an_object(kind, "apps/v1", name, spec={**selected, **spec})


def a_deployment(name: str = "web", **spec: Any) -> Doc:
    return _apps("Deployment", name, **spec)


def a_replica_set(name: str = "web", **spec: Any) -> Doc:
    return _apps("ReplicaSet", name, **spec)


def a_stateful_set(name: str = "web", **spec: Any) -> Doc:
    return _apps("StatefulSet", name, serviceName=name, **spec)


def a_daemon_set(name: str = "web", **spec: Any) -> Doc:
    return _apps("DaemonSet", name, **spec)


def a_pod_template(name: str = "web") -> Doc:
    template = a_replica_set(name)["spec"]["template"]
    return _an_object("PodTemplate", "v1", name, template=template)


def a_revision(name: str = "web-1") -> Doc:
    return _an_object("ControllerRevision", "apps/v1", name, data={"spec": {}}, revision=1)


def a_labelled(name: str, **labels: str) -> Doc:
    """A config map with labels."""
    doc = a_config_map(name)
    doc["metadata"]["labels"] = labels
    return doc


def a_secret(name: str = "password") -> Doc:
    return _an_object("Secret", "v1", name, type="Opaque", data={"key": "dmFsdWU="})


def a_service_account(name: str = "robot") -> Doc:
    return _an_object("ServiceAccount", "v1", name)


def a_namespace(name: str = "team") -> Doc:
    return _an_object("Namespace", "v1", name)


def a_node(name: str = "n1") -> Doc:
    return _an_object("Node", "v1", name)


def a_pod(name: str = "web", node: str = "", claim: str = "") -> Doc:
    spec: Doc = {"containers": [{"name": "main", "image": "busybox:1"}]}
    if node:
        spec["nodeName"] = node
    if claim:
        spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]
    return _an_object("Pod", "v1", name, spec=spec)


def a_claim(name: str = "data", storage: Any = "1Gi", **spec: Any) -> Doc:
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}}
    return _an_object("PersistentVolumeClaim", "v1", name, spec=wanted | spec)


def a_volume(name: str = "disk", storage: Any = "5Gi", **spec: Any) -> Doc:
    """A CSI volume, unless `spec` names another source and sets `csi` to None."""
    has = {
        "capacity": {"storage": storage},
        "accessModes": ["ReadWriteOnce"],
        "csi": {"driver": "d.example.com", "volumeHandle": "h1"},
    }
    chosen = {key: value for key, value in (has | spec).items() if value is not None}
    return _an_object("PersistentVolume", "v1", name, spec=chosen)


def a_class(name: str = "fast", *, is_default: bool = False, **body: Any) -> Doc:
    doc = _an_object("StorageClass", "storage.k8s.io/v1", name, provisioner="d.example.com", **body)
    if is_default:
        doc["metadata"]["annotations"] = {"storageclass.kubernetes.io/is-default-class": "true"}
    return doc


def an_attachment(name: str = "link", node: str = "n1", volume: str = "disk") -> Doc:
    spec = {
        "attacher": "d.example.com",
        "nodeName": node,
        "source": {"persistentVolumeName": volume},
    }
    return _an_object("VolumeAttachment", "storage.k8s.io/v1", name, spec=spec)


def a_driver(name: str = "d.example.com", **spec: Any) -> Doc:
    return _an_object("CSIDriver", "storage.k8s.io/v1", name, spec=spec)


def a_csi_node(name: str = "n1", *drivers: str) -> Doc:
    entries = [{"name": driver, "nodeID": f"id-of-{driver}"} for driver in drivers]
    return _an_object("CSINode", "storage.k8s.io/v1", name, spec={"drivers": entries})


def an_attributes_class(name: str = "gold") -> Doc:
    return _an_object(
        "VolumeAttributesClass",
        "storage.k8s.io/v1",
        name,
        driverName="d.example.com",
        parameters={"iops": "100"},
    )


def a_capacity(name: str = "room") -> Doc:
    return _an_object(
        "CSIStorageCapacity",
        "storage.k8s.io/v1",
        name,
        storageClassName="fast",
        capacity="10Gi",
    )


def a_snapshot(name: str = "snap", claim: str = "data") -> Doc:
    return _an_object(
        "VolumeSnapshot",
        "snapshot.storage.k8s.io/v1",
        name,
        spec={
            "source": {"persistentVolumeClaimName": claim},
            "volumeSnapshotClassName": "snappy",
        },
    )


def a_snapshot_content(name: str = "content") -> Doc:
    return _an_object(
        "VolumeSnapshotContent",
        "snapshot.storage.k8s.io/v1",
        name,
        spec={
            "deletionPolicy": "Delete",
            "driver": "d.example.com",
            "source": {"volumeHandle": "h1"},
            "volumeSnapshotClassName": "snappy",
            "volumeSnapshotRef": {"name": "snap", "namespace": "default"},
        },
    )


def a_snapshot_class(name: str = "snappy") -> Doc:
    return _an_object(
        "VolumeSnapshotClass",
        "snapshot.storage.k8s.io/v1",
        name,
        driver="d.example.com",
        deletionPolicy="Retain",
    )


def a_populator(name: str = "books", group: str = "example.com", kind: str = "Book") -> Doc:
    return _an_object(
        "VolumePopulator",
        "populator.storage.k8s.io/v1beta1",
        name,
        sourceKind={"group": group, "kind": kind},
    )


def a_grant(name: str = "dev", namespace: str = "dev", to: Doc | None = None) -> Doc:
    """For the claims of another namespace, to use snapshots, or what `to` says."""
    group, kind = "snapshot.storage.k8s.io", "VolumeSnapshot"
    return _an_object(
        "ReferenceGrant",
        "gateway.networking.k8s.io/v1beta1",
        name,
        spec={
            "from": [{"group": "", "kind": "PersistentVolumeClaim", "namespace": namespace}],
            "to": [{"group": group, "kind": kind, **(to or {})}],
        },
    )


def a_metadata_service(
    driver: str = "d.example.com", address: str = "127.0.0.1:50051", audience: str = "blocks"
) -> Doc:
    return _an_object(
        "SnapshotMetadataService",
        "cbt.storage.k8s.io/v1beta1",
        driver,
        spec={"address": address, "audience": audience, "caCert": "UEVN"},
    )


def a_lease(name: str = "leader", holder: str = "me", **spec: Any) -> Doc:
    held = {"holderIdentity": holder, "leaseDurationSeconds": 15}
    return _an_object("Lease", "coordination.k8s.io/v1", name, spec=held | spec)


def a_trust_bundle(
    name: str = "example.com:one:v1", signer: str = "example.com/one", pem: str = "", **labels: str
) -> Doc:
    bundle = _an_object("ClusterTrustBundle", "certificates.k8s.io/v1beta1", name)
    bundle["metadata"]["labels"] = labels
    bundle["spec"] = {"trustBundle": pem or a_certificate()}
    if signer:
        bundle["spec"]["signerName"] = signer
    return bundle


def a_webhook_configuration(kind: str = "Validating", name: str = "hooks") -> Doc:
    """Asked about a kind that nobody has."""
    rule = {"operations": ["CREATE"], "apiGroups": ["none.example.com"], "apiVersions": ["v1"]}
    hook = {
        "name": "one.example.com",
        "clientConfig": {"url": "https://127.0.0.1:1/check"},
        "rules": [{**rule, "resources": ["nothings"]}],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    version = "admissionregistration.k8s.io/v1"
    return _an_object(f"{kind}WebhookConfiguration", version, name, webhooks=[hook])


_ABOUT_NOTHING = {
    "operations": ["CREATE"],
    "apiGroups": ["none.example.com"],
    "apiVersions": ["v1"],
    "resources": ["nothings"],
}


def an_admission_policy(name: str = "policy") -> Doc:
    match = {"resourceRules": [_ABOUT_NOTHING]}
    spec = {"matchConstraints": match, "validations": [{"expression": "true"}]}
    version = "admissionregistration.k8s.io/v1"
    return _an_object("ValidatingAdmissionPolicy", version, name, spec=spec)


def a_policy_binding(name: str = "binding") -> Doc:
    spec = {"policyName": "none", "validationActions": ["Deny"]}
    version = "admissionregistration.k8s.io/v1"
    return _an_object("ValidatingAdmissionPolicyBinding", version, name, spec=spec)


def a_mutating_policy(name: str = "policy") -> Doc:
    mutation = {"patchType": "JSONPatch", "jsonPatch": {"expression": "[JSONPatch{op: 'test'}]"}}
    spec = {
        "matchConstraints": {"resourceRules": [_ABOUT_NOTHING]},
        "mutations": [mutation],
        "reinvocationPolicy": "Never",
    }
    version = "admissionregistration.k8s.io/v1"
    return _an_object("MutatingAdmissionPolicy", version, name, spec=spec)


def a_mutating_binding(name: str = "binding") -> Doc:
    version = "admissionregistration.k8s.io/v1"
    return _an_object("MutatingAdmissionPolicyBinding", version, name, spec={"policyName": "none"})


def a_migration(name: str = "m", group: str = "example.com", resource: str = "widgets") -> Doc:
    spec = {"resource": {"group": group, "resource": resource}}
    version = "storagemigration.k8s.io/v1"
    return _an_object("StorageVersionMigration", version, name, spec=spec)


def a_priority_class(name: str = "high", value: int = 1000, **body: Any) -> Doc:
    return _an_object("PriorityClass", "scheduling.k8s.io/v1", name, value=value, **body)


def a_quota(name: str = "quota", **hard: str) -> Doc:
    return _an_object("ResourceQuota", "v1", name, spec={"hard": hard or {"pods": "5"}})


def a_limit_range(name: str = "limits", type: str = "PersistentVolumeClaim", **limit: Any) -> Doc:
    wanted = {"type": type, **(limit or {"max": {"storage": "2Gi"}, "min": {"storage": "1Gi"}})}
    return _an_object("LimitRange", "v1", name, spec={"limits": [wanted]})


def a_network_policy(name: str = "inner", **spec: Any) -> Doc:
    wanted = {"podSelector": {"matchLabels": {"app": "web"}}}
    return _an_object("NetworkPolicy", "networking.k8s.io/v1", name, spec=wanted | spec)


def an_endpoint_slice(name: str = "web-1", **body: Any) -> Doc:
    told: Doc = {
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.0.0.1"]}],
        "ports": [{"name": "http", "port": 80}],
    }
    return _an_object("EndpointSlice", "discovery.k8s.io/v1", name, **(told | body))


def a_job(name: str = "once", **spec: Any) -> Doc:
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox:1"}]}
    return _an_object("Job", "batch/v1", name, spec={"template": {"spec": pod}} | spec)


def a_cron_job(name: str = "often", schedule: str = "*/5 * * * *", **spec: Any) -> Doc:
    job = {"spec": a_job()["spec"]}
    wanted = {"schedule": schedule, "jobTemplate": job} | spec
    return _an_object("CronJob", "batch/v1", name, spec=wanted)


def a_budget(name: str = "web", **spec: Any) -> Doc:
    """Of the pods with the label app=web."""
    wanted: Doc = {"selector": {"matchLabels": {"app": "web"}}}
    if "maxUnavailable" not in spec:
        wanted["minAvailable"] = 1
    return _an_object("PodDisruptionBudget", "policy/v1", name, spec=wanted | spec)


def an_event(name: str = "data.1", **body: Any) -> Doc:
    """A core event about the claim `data`."""
    about = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "data", "uid": "u1"}
    told: Doc = {
        "involvedObject": about,
        "reason": "ProvisioningFailed",
        "message": "no room",
        "type": "Warning",
        "source": {"component": "binder", "host": "n1"},
        "firstTimestamp": "2026-01-02T03:00:05Z",
        "lastTimestamp": "2026-01-02T03:03:05Z",
        "count": 3,
    }
    return _an_object("Event", "v1", name, **(told | body))


def a_new_event(name: str = "data.2", **body: Any) -> Doc:
    """An events.k8s.io event about the claim `data`."""
    told: Doc = {
        "eventTime": "2026-01-02T03:04:00.000000Z",
        "reportingController": "example.com/binder",
        "reportingInstance": "binder-0",
        "action": "Binding",
        "reason": "Bound",
        "type": "Normal",
        "note": "it fits",
        "regarding": {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "data"},
    }
    return _an_object("Event", "events.k8s.io/v1", name, **(told | body))


STORED: dict[str, tuple[str, Callable[[], Doc]]] = {
    "Namespace": (NAMESPACES, a_namespace),
    "Node": (NODES, a_node),
    "Pod": (PODS, a_pod),
    "Secret": (SECRETS, a_secret),
    "ConfigMap": (CONFIG_MAPS, a_config_map),
    "Endpoints": (ENDPOINTS, some_endpoints),
    "Deployment": (DEPLOYMENTS, a_deployment),
    "ReplicaSet": (REPLICA_SETS, a_replica_set),
    "StatefulSet": (STATEFUL_SETS, a_stateful_set),
    "DaemonSet": (DAEMON_SETS, a_daemon_set),
    "ControllerRevision": (REVISIONS, a_revision),
    "PodTemplate": (POD_TEMPLATES, a_pod_template),
    "ServiceAccount": (SERVICE_ACCOUNTS, a_service_account),
    "Event": (EVENTS, an_event),
    "PersistentVolume": (VOLUMES, a_volume),
    "PersistentVolumeClaim": (CLAIMS, a_claim),
    "StorageClass": (CLASSES, a_class),
    "VolumeAttachment": (ATTACHMENTS, an_attachment),
    "CSIDriver": (DRIVERS, a_driver),
    "CSINode": (CSI_NODES, a_csi_node),
    "VolumeAttributesClass": (ATTRIBUTES_CLASSES, an_attributes_class),
    "CSIStorageCapacity": (CAPACITIES, a_capacity),
    "VolumeSnapshot": (SNAPSHOTS, a_snapshot),
    "VolumeSnapshotContent": (SNAPSHOT_CONTENTS, a_snapshot_content),
    "VolumeSnapshotClass": (SNAPSHOT_CLASSES, a_snapshot_class),
    "VolumePopulator": (POPULATORS, a_populator),
    "ReferenceGrant": (GRANTS, a_grant),
    "SnapshotMetadataService": (METADATA_SERVICES, a_metadata_service),
    "Lease": (LEASES, a_lease),
    "ClusterTrustBundle": (TRUST_BUNDLES, a_trust_bundle),
    "MutatingWebhookConfiguration": (
        MUTATING_WEBHOOKS,
        lambda: a_webhook_configuration("Mutating"),
    ),
    "ValidatingWebhookConfiguration": (VALIDATING_WEBHOOKS, a_webhook_configuration),
    "ValidatingAdmissionPolicy": (ADMISSION_POLICIES, an_admission_policy),
    "ValidatingAdmissionPolicyBinding": (POLICY_BINDINGS, a_policy_binding),
    "MutatingAdmissionPolicy": (MUTATING_POLICIES, a_mutating_policy),
    "MutatingAdmissionPolicyBinding": (MUTATING_BINDINGS, a_mutating_binding),
    "StorageVersionMigration": (
        MIGRATIONS,
        partial(a_migration, group="", resource="configmaps"),  # over at once
    ),
    "PriorityClass": (PRIORITY_CLASSES, a_priority_class),
    "PodDisruptionBudget": (BUDGETS, a_budget),
    "NetworkPolicy": (NETWORK_POLICIES, a_network_policy),
    "EndpointSlice": (ENDPOINT_SLICES, an_endpoint_slice),
    "ResourceQuota": (QUOTAS, a_quota),
    "LimitRange": (LIMIT_RANGES, a_limit_range),
    "Job": (JOBS, a_job),
    "CronJob": (CRON_JOBS, a_cron_job),
    "Event of events.k8s.io": (NEW_EVENTS, a_new_event),
}
"""Every kind that is stored (group snapshots aside): its collection, and a document of it."""

CUSTOM = frozenset(kind.kind for kind in builtin().all() if kind.custom) & STORED.keys()
"""Of these, the kinds that Kubernetes serves from CustomResourceDefinitions."""
