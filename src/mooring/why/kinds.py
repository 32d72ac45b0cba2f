"""The kinds that can be asked about, by every name that kubectl knows them by."""

from mooring.errors import UsageError
from mooring.model.attachment import Attachment
from mooring.model.claim import Claim
from mooring.model.csi_driver import CsiDriver
from mooring.model.daemon_set import DaemonSet
from mooring.model.deployment import Deployment
from mooring.model.meta import ApiObject
from mooring.model.namespace import Namespace
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.replica_set import ReplicaSet
from mooring.model.snapshot import Snapshot
from mooring.model.stateful_set import StatefulSet
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume
from mooring.why.answer import Ref

KINDS: dict[type[ApiObject], tuple[str, ...]] = {
    Claim: ("claim", "pvc"),
    Volume: ("volume", "pv"),
    Pod: ("po",),
    Attachment: ("attachment", "va"),
    Node: ("no",),
    Snapshot: ("snapshot", "vs"),
    StorageClass: ("class", "sc"),
    CsiDriver: ("driver",),
    StatefulSet: ("sts",),
    Deployment: ("deploy",),
    ReplicaSet: ("rs",),
    DaemonSet: ("ds",),
    Namespace: ("ns",),
}

_NAMES: dict[str, type[ApiObject]] = {
    name: kind
    for kind, short in KINDS.items()
    for name in (*short, kind.resource.kind.lower(), kind.resource.plural)
}

_KNOWN = (
    "pvc, pv, pod, volumeattachment, node, volumesnapshot, storageclass, csidriver, "
    "statefulset, deployment, replicaset, daemonset, namespace"
)

BY_KIND = {kind.resource.kind: kind for kind in KINDS}


def parse_subject(text: str, namespace: str) -> Ref:
    """`pvc/data` as a reference. Raises: UsageError."""
    word, slash, name = text.partition("/")
    kind = _NAMES.get(word.lower().split(".")[0])
    if kind is None or not slash or not name or "/" in name:
        raise UsageError(f"{text!r} is no KIND/NAME; kinds are {_KNOWN}: mooring why pvc/data")
    return Ref(kind.resource.kind, name, namespace if kind.resource.namespaced else "")
