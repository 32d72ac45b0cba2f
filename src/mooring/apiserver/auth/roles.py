"""The fixed roles and their bindings. Members of `system:masters` need none.

The rights of nodes beyond `NODE` depend on the object: see `node_authorizer.py`.
"""

from collections.abc import Iterable, Mapping

from mooring.apiserver.auth import user
from mooring.apiserver.auth.rules import EVERY, Binding, Role, Rule

CORE = ""
STORAGE = "storage.k8s.io"
SNAPSHOTS = "snapshot.storage.k8s.io"
GROUP_SNAPSHOTS = "groupsnapshot.storage.k8s.io"
EXTENSIONS = "apiextensions.k8s.io"
POPULATORS = "populator.storage.k8s.io"
GATEWAY = "gateway.networking.k8s.io"
MIGRATION = "storagemigration.k8s.io"
CHANGED_BLOCKS = "cbt.storage.k8s.io"
COORDINATION = "coordination.k8s.io"
ADMISSION = "admissionregistration.k8s.io"
CERTIFICATES = "certificates.k8s.io"
EVENTS = "events.k8s.io"
AUTHENTICATION = "authentication.k8s.io"
AUTHORIZATION = "authorization.k8s.io"
DISCOVERY = "discovery.k8s.io"
RBAC = "rbac.authorization.k8s.io"
SCHEDULING = "scheduling.k8s.io"
POLICY = "policy"
BATCH = "batch"
NETWORKING = "networking.k8s.io"
APPS = "apps"

_READ = ("get", "list", "watch")
_READ_WRITE = (*_READ, "create", "update", "patch", "delete")
_CHANGE = ("update", "patch")

JOIN_PATH = "/join"
AUTHORITY_PATH = "/cacerts"
_PUBLIC_PATHS = ("/livez", "/readyz", "/healthz", "/version", "/version/", AUTHORITY_PATH)
_DISCOVERY_PATHS = (
    *("/api", "/api/*", "/apis", "/apis/*"),
    *("/openapi", "/openapi/*"),
)

_REPORT_EVENTS = Rule(("create", "update", "patch"), (CORE, EVENTS), ("events",))
_READ_TRUST_BUNDLES = Rule(_READ, (CERTIFICATES,), ("clustertrustbundles",))

PUBLIC = Role("public", (Rule(("get",), paths=_PUBLIC_PATHS),))

BASIC = Role(
    "basic",
    (
        Rule(
            ("create",), (AUTHORIZATION,), ("selfsubjectaccessreviews", "selfsubjectrulesreviews")
        ),
        Rule(("create",), (AUTHENTICATION,), ("selfsubjectreviews",)),
        Rule(("get",), paths=_DISCOVERY_PATHS),
    ),
)

READ_ONLY = Role(
    "read-only",
    (
        # Core resources are listed one by one: `*` would show secrets and open `pods/exec`.
        Rule(
            _READ,
            (CORE,),
            (
                *("configmaps", "endpoints", "events", "limitranges", "namespaces", "nodes"),
                *("persistentvolumeclaims", "resourcequotas"),
                *(
                    "persistentvolumes",
                    "pods",
                    "pods/log",
                    "podtemplates",
                    "replicationcontrollers",
                ),
                *("replicationcontrollers/scale", "serviceaccounts", "services", "*/status"),
            ),
        ),
        Rule(
            _READ,
            (
                *(STORAGE, SNAPSHOTS, GROUP_SNAPSHOTS, POPULATORS, CHANGED_BLOCKS),
                *(ADMISSION, APPS, COORDINATION, EVENTS, EXTENSIONS, GATEWAY, MIGRATION, RBAC),
                *(SCHEDULING, POLICY, BATCH, NETWORKING, DISCOVERY),
            ),
            (EVERY,),
        ),
        _READ_TRUST_BUNDLES,
        Rule(("get",), paths=("/metrics", "/livez/*", "/readyz/*", "/healthz/*")),
    ),
)

SERVICE_ACCOUNT = Role("service-account", (_READ_TRUST_BUNDLES,))

SCHEDULER = Role(
    "scheduler",
    (
        _REPORT_EVENTS,
        Rule(_READ, (CORE,), ("namespaces", "nodes", "pods")),
        Rule(("create",), (CORE,), ("pods/binding",)),
        Rule(("delete",), (CORE,), ("pods",)),  # preempted ones
        Rule(_READ, (POLICY,), ("poddisruptionbudgets",)),
        Rule(_CHANGE, (CORE,), ("pods/status",)),
        Rule((*_READ, *_CHANGE), (CORE,), ("persistentvolumeclaims", "persistentvolumes")),
        Rule(
            _READ,
            (STORAGE,),
            (
                *("csidrivers", "csinodes", "csistoragecapacities"),
                *("storageclasses", "volumeattachments"),
            ),
        ),
        Rule(("create",), (COORDINATION,), ("leases",)),
        Rule(
            (*_READ, *_CHANGE),
            (COORDINATION,),
            ("leases",),
            names=("kube-scheduler", "mooring-scheduler"),
        ),
    ),
)

_SNAPSHOT_CONTROLLER = (
    Rule(_READ, (SNAPSHOTS,), ("volumesnapshotclasses",)),
    Rule(_READ_WRITE, (SNAPSHOTS,), ("volumesnapshots", "volumesnapshotcontents")),
    Rule(
        ("get", *_CHANGE), (SNAPSHOTS,), ("volumesnapshots/status", "volumesnapshotcontents/status")
    ),
    Rule(_READ, (GROUP_SNAPSHOTS,), ("volumegroupsnapshotclasses",)),
    Rule(_READ_WRITE, (GROUP_SNAPSHOTS,), ("volumegroupsnapshots", "volumegroupsnapshotcontents")),
    Rule(
        ("get", *_CHANGE),
        (GROUP_SNAPSHOTS,),
        ("volumegroupsnapshots/status", "volumegroupsnapshotcontents/status"),
    ),
)
_READ_POPULATORS = Rule(_READ, (POPULATORS,), ("volumepopulators",))

_VOLUME_CONTROLLERS = (
    Rule(_READ_WRITE, (CORE,), ("persistentvolumes", "persistentvolumeclaims")),
    Rule(("get", *_CHANGE), (CORE,), ("persistentvolumes/status", "persistentvolumeclaims/status")),
    Rule((*_READ, "create", "delete"), (CORE,), ("pods",)),  # recycling creates pods
    Rule(_READ, (CORE,), ("nodes",)),
    Rule(_CHANGE, (CORE,), ("nodes/status",)),  # volumesAttached
    Rule(_READ, (STORAGE,), ("csidrivers", "csinodes", "storageclasses")),
    Rule((*_READ, *_CHANGE), (STORAGE,), ("volumeattributesclasses",)),  # their finalizer
    Rule(_READ_WRITE, (STORAGE,), ("volumeattachments", "csistoragecapacities")),
    Rule(("get", *_CHANGE), (STORAGE,), ("volumeattachments/status",)),
    *_SNAPSHOT_CONTROLLER,
    _READ_POPULATORS,
    Rule(("get", "list"), (CORE,), ("secrets",)),  # what CSI drivers are given
    Rule(("get", "create", "delete"), (CORE,), ("endpoints", "services")),  # of glusterfs volumes
)

_POD_CONTROLLERS = (
    Rule((*_READ, "create", "patch", "delete"), (CORE,), ("pods",)),
    Rule(_READ, (CORE,), ("replicationcontrollers",)),
    Rule(_CHANGE, (CORE,), ("replicationcontrollers/status",)),
    Rule((*_READ, *_CHANGE), (APPS,), ("deployments",)),  # the annotation of the revision
    Rule((*_READ, "create", *_CHANGE, "delete"), (APPS,), ("replicasets",)),
    Rule(_CHANGE, (APPS,), ("deployments/status", "replicasets/status")),
    Rule(_READ, (APPS,), ("daemonsets", "statefulsets")),
    Rule(_CHANGE, (APPS,), ("daemonsets/status", "statefulsets/status")),
    Rule((*_READ, "create", *_CHANGE, "delete"), (APPS,), ("controllerrevisions",)),
)

_BATCH_AND_POLICY_CONTROLLERS = (
    Rule((*_READ, "create", "patch", "delete"), (BATCH,), ("jobs",)),
    Rule(_READ, (BATCH,), ("cronjobs",)),
    Rule(_CHANGE, (BATCH,), ("jobs/status", "cronjobs/status")),
    Rule(("get",), (APPS,), ("statefulsets",)),  # how many pods a budget may expect
    Rule(_READ, (POLICY,), ("poddisruptionbudgets",)),
    Rule(_CHANGE, (POLICY,), ("poddisruptionbudgets/status",)),
)

_NODE_CONTROLLERS = (
    Rule((*_READ, "patch"), (CORE,), ("nodes",)),  # taints
    Rule(("patch",), (CORE,), ("nodes/status", "pods/status")),
    Rule((*_READ, "delete"), (CORE,), ("pods",)),
)

_SERVICE_CONTROLLERS = (
    Rule(_READ, (CORE,), ("services", "pods")),
    Rule((*_READ, "create", "patch", "delete"), (CORE,), ("endpoints",)),
    Rule((*_READ, "create", "patch", "delete"), (DISCOVERY,), ("endpointslices",)),
)

_NAMESPACE_CONTROLLERS = (
    Rule(_READ, (CORE,), ("namespaces",)),
    Rule(("update",), (CORE,), ("namespaces/finalize",)),
    Rule(_CHANGE, (CORE,), ("namespaces/status",)),
    Rule((*_READ, "create"), (CORE,), ("serviceaccounts",)),  # `default` in every namespace
    Rule((*_READ, "create", "update"), (CORE,), ("configmaps",)),  # `kube-root-ca.crt`
)

# Garbage collection follows owners through every kind. No `*`: that would open `pods/exec`.
_COLLECT = (*_READ, "patch", "delete")
_EMPTY = "deletecollection"
_GARBAGE_COLLECTION = (
    Rule(
        (*_COLLECT, _EMPTY),
        (CORE,),
        (
            *("configmaps", "endpoints", "events", "limitranges", "persistentvolumeclaims"),
            *("pods", "podtemplates", "resourcequotas"),
            *("replicationcontrollers", "secrets", "serviceaccounts", "services"),
        ),
    ),
    Rule(
        (*_COLLECT, _EMPTY),
        (APPS,),
        ("controllerrevisions", "daemonsets", "deployments", "replicasets", "statefulsets"),
    ),
    Rule(_COLLECT, (CORE,), ("namespaces", "nodes", "persistentvolumes")),
    Rule((*_COLLECT, _EMPTY), (EVENTS,), ("events",)),
    Rule((*_COLLECT, _EMPTY), (DISCOVERY,), ("endpointslices",)),
    Rule((*_COLLECT, _EMPTY), (STORAGE,), ("csistoragecapacities",)),
    Rule(
        _COLLECT,
        (STORAGE,),
        (
            *("csidrivers", "csinodes", "storageclasses"),
            *("volumeattachments", "volumeattributesclasses"),
        ),
    ),
    Rule((*_COLLECT, _EMPTY), (SNAPSHOTS,), ("volumesnapshots",)),
    Rule(_COLLECT, (SNAPSHOTS,), ("volumesnapshotclasses", "volumesnapshotcontents")),
    Rule((*_COLLECT, _EMPTY), (GROUP_SNAPSHOTS,), ("volumegroupsnapshots",)),
    Rule(
        _COLLECT,
        (GROUP_SNAPSHOTS,),
        ("volumegroupsnapshotclasses", "volumegroupsnapshotcontents"),
    ),
    Rule(_COLLECT, (POPULATORS,), ("volumepopulators",)),
    Rule((*_COLLECT, _EMPTY), (GATEWAY,), ("referencegrants",)),
    Rule(_COLLECT, (CHANGED_BLOCKS,), ("snapshotmetadataservices",)),
    Rule(_COLLECT, (CERTIFICATES,), ("clustertrustbundles",)),
    Rule(_COLLECT, (EXTENSIONS,), ("customresourcedefinitions",)),
    Rule(
        _COLLECT,
        (ADMISSION,),
        (
            *("mutatingwebhookconfigurations", "validatingwebhookconfigurations"),
            *("mutatingadmissionpolicies", "mutatingadmissionpolicybindings"),
            *("validatingadmissionpolicies", "validatingadmissionpolicybindings"),
        ),
    ),
    Rule(_COLLECT, (MIGRATION,), ("storageversionmigrations",)),
    Rule(_COLLECT, (SCHEDULING,), ("priorityclasses",)),
    Rule((*_COLLECT, _EMPTY), (BATCH,), ("jobs", "cronjobs")),
    Rule((*_COLLECT, _EMPTY), (NETWORKING,), ("networkpolicies",)),
    Rule((*_COLLECT, _EMPTY), (POLICY,), ("poddisruptionbudgets",)),
    Rule((*_COLLECT, _EMPTY), (RBAC,), ("roles", "rolebindings")),
    Rule(_COLLECT, (RBAC,), ("clusterroles", "clusterrolebindings")),
)

VOLUME_CONTROLLERS = (_REPORT_EVENTS, *_VOLUME_CONTROLLERS)
"""What the chart grants, beside leases, when it runs more than `RULES_BY_CONTROLLER` has: volumes,
snapshots and data sources, not workloads."""

RULES_BY_CONTROLLER: Mapping[str, tuple[Rule, ...]] = {
    "snapshots": (
        _REPORT_EVENTS,
        Rule(_READ, (CORE,), ("nodes", "persistentvolumes")),
        Rule((*_READ, "patch"), (CORE,), ("persistentvolumeclaims",)),  # their finalizer
        *_SNAPSHOT_CONTROLLER,
    ),
    "data-source": (
        _REPORT_EVENTS,
        Rule(_READ, (CORE,), ("persistentvolumeclaims",)),
        _READ_POPULATORS,
    ),
}
"""Of controllers that a cluster does not bring: neither needs a Secret, nor changes pods."""

CONTROLLERS = Role(
    "controllers",
    (
        _REPORT_EVENTS,
        Rule((*_READ_WRITE, _EMPTY), (COORDINATION,), ("leases",)),
        *_VOLUME_CONTROLLERS,
        *_POD_CONTROLLERS,
        *_BATCH_AND_POLICY_CONTROLLERS,
        *_NODE_CONTROLLERS,
        *_SERVICE_CONTROLLERS,
        *_NAMESPACE_CONTROLLERS,
        *_GARBAGE_COLLECTION,
    ),
)

LEASES = Rule((*_READ, "create", *_CHANGE), (COORDINATION,), ("leases",))

EVERY_SIDECAR = (
    _REPORT_EVENTS,
    Rule(("get",), (CORE,), ("secrets",)),  # what drivers are given
)

RULES_BY_SIDECAR: Mapping[str, tuple[Rule, ...]] = {
    "provisioner": (
        Rule(_READ_WRITE, (CORE,), ("persistentvolumes",)),
        Rule((*_READ, *_CHANGE), (CORE,), ("persistentvolumeclaims",)),
        Rule(_READ, (CORE,), ("nodes",)),
        Rule(
            _READ,
            (STORAGE,),
            (
                *("csidrivers", "csinodes", "storageclasses"),
                *("volumeattachments", "volumeattributesclasses"),
            ),
        ),
        Rule(_READ_WRITE, (STORAGE,), ("csistoragecapacities",)),
        Rule((*_READ, *_CHANGE), (SNAPSHOTS,), ("volumesnapshots",)),
        Rule(_READ, (SNAPSHOTS,), ("volumesnapshotcontents",)),
        Rule(_READ, (GATEWAY,), ("referencegrants",)),  # for sources in other namespaces
    ),
    "attacher": (
        Rule((*_READ, *_CHANGE), (CORE,), ("persistentvolumes",)),
        Rule(_READ, (STORAGE,), ("csinodes",)),
        Rule((*_READ, *_CHANGE), (STORAGE,), ("volumeattachments",)),
        Rule(_CHANGE, (STORAGE,), ("volumeattachments/status",)),
    ),
    "resizer": (
        Rule((*_READ, "patch"), (CORE,), ("persistentvolumes",)),
        Rule(_READ, (CORE,), ("persistentvolumeclaims", "pods")),  # pods: of volumes in use
        Rule(("patch",), (CORE,), ("persistentvolumeclaims", "persistentvolumeclaims/status")),
        Rule(_READ, (STORAGE,), ("volumeattributesclasses",)),
    ),
    "snapshotter": (
        Rule(("get",), (SNAPSHOTS,), ("volumesnapshots",)),  # looked at before one is deleted
        Rule(_READ, (SNAPSHOTS,), ("volumesnapshotclasses",)),
        Rule((*_READ, "patch"), (SNAPSHOTS,), ("volumesnapshotcontents",)),
        Rule(("patch",), (SNAPSHOTS,), ("volumesnapshotcontents/status",)),
        Rule(("get",), (GROUP_SNAPSHOTS,), ("volumegroupsnapshots",)),
        Rule(_READ, (GROUP_SNAPSHOTS,), ("volumegroupsnapshotclasses",)),
        Rule((*_READ, "patch"), (GROUP_SNAPSHOTS,), ("volumegroupsnapshotcontents",)),
        Rule(("patch",), (GROUP_SNAPSHOTS,), ("volumegroupsnapshotcontents/status",)),
    ),
    "health-monitor": (
        Rule(_READ, (CORE,), ("persistentvolumes", "persistentvolumeclaims")),
        Rule(("patch",), (CORE,), ("persistentvolumeclaims/status",)),
    ),
    "snapshot-metadata": (
        Rule(("create",), (AUTHENTICATION,), ("tokenreviews",)),
        Rule(("create",), (AUTHORIZATION,), ("subjectaccessreviews",)),
        Rule(_READ, (SNAPSHOTS,), ("volumesnapshotcontents",)),
        Rule(("get", "list"), (SNAPSHOTS,), ("volumesnapshots", "volumesnapshotclasses")),
        Rule(("get",), (CHANGED_BLOCKS,), ("snapshotmetadataservices",)),
    ),
}


def rules_of_sidecars(names: Iterable[str]) -> tuple[Rule, ...]:
    """What these sidecars need, in one process; each rule once."""
    found = [*EVERY_SIDECAR, LEASES, *(rule for name in names for rule in RULES_BY_SIDECAR[name])]
    return tuple(dict.fromkeys(found))


SIDECARS = Role("sidecars", rules_of_sidecars(RULES_BY_SIDECAR))

NODE = Role(
    "node",
    (
        _REPORT_EVENTS,
        Rule(("create",), (AUTHENTICATION,), ("tokenreviews",)),
        Rule(("create",), (AUTHORIZATION,), ("subjectaccessreviews", "localsubjectaccessreviews")),
        Rule(_READ, (STORAGE,), ("csidrivers",)),
        Rule(("get",), (CORE,), ("endpoints",)),  # the servers of glusterfs volumes
        Rule(_READ, (CORE,), ("services",)),  # their names, and who is behind them
        Rule(_READ, (DISCOVERY,), ("endpointslices",)),
        _READ_TRUST_BUNDLES,
    ),
)

BOOTSTRAPPER = Role("bootstrapper", (Rule(("post",), paths=(JOIN_PATH,)),))

EVERYTHING = Role(
    "everything", (Rule((EVERY,), (EVERY,), (EVERY,)), Rule((EVERY,), paths=(EVERY,)))
)
"""The rights of `system:masters`, for SelfSubjectRulesReview; not bound to any user."""

FIXED_BINDINGS = (
    Binding(PUBLIC, groups=(user.AUTHENTICATED, user.UNAUTHENTICATED)),
    Binding(BASIC, groups=(user.AUTHENTICATED,)),
    Binding(SERVICE_ACCOUNT, groups=(user.SERVICE_ACCOUNTS,)),
    Binding(BOOTSTRAPPER, groups=(user.BOOTSTRAPPERS,)),
    Binding(READ_ONLY, users=(user.READ_ONLY.name,)),
    Binding(SCHEDULER, users=(user.SCHEDULER.name,)),
    Binding(SIDECARS, users=(user.SIDECARS.name,)),
    Binding(CONTROLLERS, users=(user.CONTROLLERS.name,)),
)
