"""ServiceAccounts with the rules that upstream publishes for its sidecars, and how to be one."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from mooring.apiserver.auth.kubeconfig import Kubeconfig
from mooring.apiserver.auth.tokens import Token
from tests.clients.kubectl import Kubectl
from tests.clients.manifests import STORAGE, Doc

ACCESS = "rbac.authorization.k8s.io"
SNAPSHOTS = "snapshot.storage.k8s.io"
GROUPS = "groupsnapshot.storage.k8s.io"
_STORAGE = STORAGE.partition("/")[0]
NAMESPACE = "default"
LONG = "--duration=4h"

READ = ("get", "list", "watch")
WRITTEN = ("list", "watch", "create", "update", "patch")
_ELECTION = ("get", "watch", "list", "delete", "update", "create")

Rule = tuple[str, str, tuple[str, ...]]  # group, resource, verbs


class Account(msgspec.Struct, frozen=True):
    """A ServiceAccount, and what it may do: everywhere, and in its namespace."""

    name: str
    rules: tuple[Rule, ...]
    namespaced: tuple[Rule, ...] = (("coordination.k8s.io", "leases", _ELECTION),)
    namespace: str = NAMESPACE

    def documents(self) -> Iterator[Doc]:
        """All that has to be there, in the order of creation."""
        here = {"name": self.name, "namespace": self.namespace}
        yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": here}
        yield from _granted("ClusterRole", {"name": f"{self.name}-runner"}, self.rules, here)
        yield from _granted("Role", here | {"name": f"{self.name}-cfg"}, self.namespaced, here)


def _granted(kind: str, metadata: Doc, rules: tuple[Rule, ...], to: Doc) -> Iterator[Doc]:
    version = f"{ACCESS}/v1"
    written = [
        {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}
        for group, resource, verbs in rules
    ]
    yield {"apiVersion": version, "kind": kind, "metadata": metadata, "rules": written}
    yield {
        "apiVersion": version,
        "kind": f"{kind}Binding",
        "metadata": metadata,
        "subjects": [{"kind": "ServiceAccount", **to}],
        "roleRef": {"kind": kind, "name": metadata["name"], "apiGroup": ACCESS},
    }


PROVISIONER = Account(
    "csi-provisioner",
    (
        ("", "persistentvolumes", (*READ, "create", "patch", "delete")),
        ("", "persistentvolumeclaims", (*READ, "update")),
        (_STORAGE, "storageclasses", READ),
        ("", "events", WRITTEN),
        (SNAPSHOTS, "volumesnapshots", (*READ, "update")),
        (SNAPSHOTS, "volumesnapshotcontents", ("get", "list")),
        (_STORAGE, "csinodes", READ),
        ("", "nodes", READ),
        (_STORAGE, "volumeattachments", READ),
    ),
    (
        ("coordination.k8s.io", "leases", _ELECTION),
        (_STORAGE, "csistoragecapacities", (*READ, "create", "update", "patch", "delete")),
        ("", "pods", ("get",)),
        ("apps", "replicasets", ("get",)),
    ),
)
ATTACHER = Account(
    "csi-attacher",
    (
        ("", "persistentvolumes", (*READ, "patch")),
        (_STORAGE, "csinodes", READ),
        (_STORAGE, "volumeattachments", (*READ, "patch")),
        (_STORAGE, "volumeattachments/status", ("patch",)),
    ),
)
RESIZER = Account(
    "csi-resizer",
    (
        ("", "persistentvolumes", (*READ, "patch")),
        ("", "persistentvolumeclaims", READ),
        ("", "pods", READ),
        ("", "persistentvolumeclaims/status", ("patch",)),
        ("", "events", WRITTEN),
        (_STORAGE, "volumeattributesclasses", READ),
    ),
)
SNAPSHOTTER = Account(
    "csi-snapshotter",
    (
        ("", "events", WRITTEN),
        (SNAPSHOTS, "volumesnapshotclasses", READ),
        (SNAPSHOTS, "volumesnapshotcontents", (*READ, "update", "patch")),
        (SNAPSHOTS, "volumesnapshotcontents/status", ("update", "patch")),
        (GROUPS, "volumegroupsnapshotclasses", READ),
        (GROUPS, "volumegroupsnapshotcontents", (*READ, "update", "patch")),
        (GROUPS, "volumegroupsnapshotcontents/status", ("update", "patch")),
    ),
)
SNAPSHOT_CONTROLLER = Account(
    "snapshot-controller",
    (
        ("", "persistentvolumes", READ),
        ("", "persistentvolumeclaims", (*READ, "update")),
        ("", "events", WRITTEN),
        (SNAPSHOTS, "volumesnapshotclasses", READ),
        (SNAPSHOTS, "volumesnapshotcontents", (*READ, "create", "update", "delete", "patch")),
        (SNAPSHOTS, "volumesnapshotcontents/status", ("patch",)),
        (SNAPSHOTS, "volumesnapshots", (*READ, "create", "update", "patch", "delete")),
        (SNAPSHOTS, "volumesnapshots/status", ("update", "patch")),
        (GROUPS, "volumegroupsnapshotclasses", READ),
        (GROUPS, "volumegroupsnapshotcontents", (*READ, "create", "update", "delete", "patch")),
        (GROUPS, "volumegroupsnapshotcontents/status", ("patch",)),
        (GROUPS, "volumegroupsnapshots", (*READ, "update", "patch")),
        (GROUPS, "volumegroupsnapshots/status", ("update", "patch")),
    ),
    namespace="kube-system",
)
HEALTH_MONITOR = Account(
    "csi-external-health-monitor-controller",
    (
        ("", "persistentvolumes", READ),
        ("", "persistentvolumeclaims", READ),
        ("", "nodes", READ),
        ("", "pods", READ),
        ("", "events", ("get", "list", "watch", "create", "patch")),
    ),
)


def become(account: Account, kubectl: Kubectl, url: str, ca_file: Path) -> Kubeconfig:
    """Apply what the account needs, and be it."""
    kubectl("apply", "-n", account.namespace, "-f-", given=list(account.documents()))
    return kubeconfig_of(account.name, account.namespace, kubectl, url, ca_file)


def kubeconfig_of(
    account: str, namespace: str, kubectl: Kubectl, url: str, ca_file: Path
) -> Kubeconfig:
    """With a token of the account."""
    token = kubectl("create", "token", account, "-n", namespace, LONG)
    return Kubeconfig(url, ca_file.read_bytes(), Token(token))
