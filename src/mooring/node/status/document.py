"""The Node object that a node writes, and what of it has changed. Pure.

Fields of other writers stay: labels, annotations, taints, further resources and conditions.
"""

from collections.abc import Iterable, Mapping

import msgspec
from msgspec.structs import replace

from mooring.model.condition import Condition, find_condition, set_condition
from mooring.model.document import Doc
from mooring.model.kubernetes_version import KubernetesVersion
from mooring.model.node import Node, NodeImage
from mooring.model.quantity import from_bytes
from mooring.model.wellknown import Annotation, Label
from mooring.node.status.hardware import KIBI, Amounts, Identity
from mooring.oci.contract import StoredImage
from mooring.oci.reference import parse

MOST_PODS = 110
MOST_IMAGES = 50
MOST_IMAGE_NAMES = 5
SPARE_MEMORY = 100 * 1024 * KIBI  # pods do not get the last of it
SPARE_STORAGE_PERCENT = 10
SPARE_INODES_PERCENT = 5
PRESSURE_SECONDS = 300.0  # how long a pressure condition stays after the pressure


# In the words that Kubernetes' users know.
MEMORY_IS_SHORT = Condition(
    "MemoryPressure",
    "True",
    "KubeletHasInsufficientMemory",
    "kubelet has insufficient memory available",
)
MEMORY_SUFFICES = Condition(
    "MemoryPressure",
    "False",
    "KubeletHasSufficientMemory",
    "kubelet has sufficient memory available",
)
DISK_IS_FULL = Condition(
    "DiskPressure", "True", "KubeletHasDiskPressure", "kubelet has disk pressure"
)
DISK_HAS_ROOM = Condition(
    "DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"
)
PROCESSES_SUFFICE = Condition(
    "PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"
)
STUCK_VOLUMES = "mooring.dev/StuckVolumes"
ALL_CALLS_RETURN = Condition(
    STUCK_VOLUMES, "False", "AllCallsReturn", "every file system answers in time"
)
READY = Condition("Ready", "True", "KubeletReady", "kubelet is posting ready status")
NOT_YET_READY = Condition(
    "Ready", "False", "KubeletNotReady", "what volumes are in use is not known yet"
)


def labels(name: str, identity: Identity) -> Mapping[str, str]:
    return {
        "beta.kubernetes.io/arch": identity.architecture,
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": identity.architecture,
        Label.HOSTNAME: name,
        "kubernetes.io/os": "linux",
    }


def capacity(amounts: Amounts, release: KubernetesVersion) -> Mapping[str, str]:
    """Spelled as the API spells it, so that it can be compared."""
    storage = from_bytes(amounts.storage, binary=not release.counts_storage_in_decimals)
    pages = {f"hugepages-{from_bytes(size)}": whole for size, whole in amounts.huge_pages.items()}
    return {
        "cpu": str(amounts.cpus),
        "memory": str(from_bytes(amounts.memory)),
        "ephemeral-storage": str(storage),
        "pods": str(MOST_PODS),
        **{name: str(from_bytes(whole)) for name, whole in pages.items()},
    }


def allocatable(amounts: Amounts, release: KubernetesVersion) -> Mapping[str, str]:
    """What pods may have of it."""
    memory = amounts.memory - SPARE_MEMORY - sum(amounts.huge_pages.values())
    storage = amounts.storage - amounts.storage * SPARE_STORAGE_PERCENT // 100
    return {
        **capacity(amounts, release),
        "memory": str(from_bytes(max(memory, 0))),
        "ephemeral-storage": str(from_bytes(storage, binary=False)),
    }


def images(stored: Iterable[StoredImage]) -> tuple[NodeImage, ...]:
    """The largest of them, each with its digests first, as Kubernetes shows them."""
    largest = sorted(stored, key=lambda one: (-one.size, one.id))[:MOST_IMAGES]
    return tuple(NodeImage(_image_names(one), one.size) for one in largest)


def _image_names(image: StoredImage) -> tuple[str, ...]:
    bare = dict.fromkeys(parse(name).repository for name in image.names)
    known = [f"{one}@{digest}" for one in bare for digest in image.digests[:1]]
    tags = [name for name in image.names if "@" not in name]
    return tuple(dict.fromkeys((*known, *tags)))[:MOST_IMAGE_NAMES] or (image.id,)


def is_short_of_memory(amounts: Amounts) -> bool:
    return amounts.memory > 0 and amounts.memory_free < SPARE_MEMORY


def is_short_of_storage(amounts: Amounts) -> bool:
    return (
        amounts.storage_free * 100 < amounts.storage * SPARE_STORAGE_PERCENT
        or amounts.inodes_free * 100 < amounts.inodes * SPARE_INODES_PERCENT
    )


def annotations(identity: Identity) -> Mapping[str, str]:
    told = {Annotation.CONTROLLER_ATTACHES: "true"}
    if identity.endpoint is not None:
        if identity.endpoint.address:
            told[Annotation.SERVING_ADDRESS] = identity.endpoint.address
        told[Annotation.SERVING_CERTIFICATE] = identity.endpoint.fingerprint
    return told


def creation(name: str, identity: Identity, status: Doc) -> Doc:
    """A new Node object."""
    metadata = {
        "name": name,
        "labels": dict(labels(name, identity)),
        "annotations": dict(annotations(identity)),
    }
    return {"metadata": metadata, "status": status}


def marks(node: Node, identity: Identity) -> Doc:
    """What has to change in the labels and annotations of a Node; empty when nothing has."""
    wanted = {"labels": labels(node.name, identity), "annotations": annotations(identity)}
    present = {"labels": node.metadata.labels, "annotations": node.metadata.annotations}
    changes = {
        field: missing
        for field, pairs in wanted.items()
        if (missing := dict(pairs.items() - present[field].items()))
    }
    return {"metadata": changes} if changes else {}


class Told(msgspec.Struct, frozen=True):
    """All that a node has to say at one moment."""

    name: str  # of the node
    version: str  # of Mooring
    identity: Identity
    amounts: Amounts
    has_memory_pressure: bool
    has_disk_pressure: bool
    in_use: tuple[str, ...] | None  # volumes; None: not known yet, and so left as it is
    images: tuple[NodeImage, ...] = ()
    stuck: str = ""  # which calls about volumes do not return; empty: all do


def status(node: Node | None, told: Told, now: str) -> Doc:
    """All of the status that is the node's own to write."""
    had = () if node is None else node.status.conditions
    more = {} if node is None else _of_others(node, told)
    whole: Doc = {
        "capacity": dict(capacity(told.amounts, told.identity.release)),
        "allocatable": {**more, **allocatable(told.amounts, told.identity.release)},
        "conditions": [msgspec.to_builtins(one) for one in _renewed(had, told, now)],
        "addresses": _addresses(told),
        "nodeInfo": _info(told),
    }
    if told.identity.endpoint is not None:
        whole["daemonEndpoints"] = {"kubeletEndpoint": {"Port": told.identity.endpoint.port}}
    if told.in_use is not None:
        whole["volumesInUse"] = list(told.in_use)
    if told.images or (node is not None and node.status.images):
        whole["images"] = [
            {"names": list(one.names), "sizeBytes": one.size_bytes} for one in told.images
        ]
    return whole


def is_news(node: Node, told: Told) -> bool:
    """Whether the API should hear of it now; see `is_loss` too."""
    had = node.status.conditions
    return (
        _is_gain(node, told)
        or _is_elsewhere(node, told)
        or node.status.images != told.images
        or not all(_is_told(had, each) for each in _conditions(had, told))
        or not capacity(told.amounts, told.identity.release).items() <= node.status.capacity.items()
        or not allocatable(told.amounts, told.identity.release).items()
        <= node.status.allocatable.items()
        or any(key not in node.status.allocatable for key in _of_others(node, told))
    )


def is_loss(node: Node, told: Told) -> bool:
    """Whether the API believes a volume in use that is not."""
    return told.in_use is not None and not set(node.status.volumes_in_use).issubset(told.in_use)


def _is_gain(node: Node, told: Told) -> bool:
    """Whether a volume is in use that the API does not know of."""
    return told.in_use is not None and not set(told.in_use).issubset(node.status.volumes_in_use)


def _is_elsewhere(node: Node, told: Told) -> bool:
    """Whether the API looks for the node's server at another port."""
    endpoint = told.identity.endpoint
    return (
        endpoint is not None and node.status.daemon_endpoints.kubelet_endpoint.port != endpoint.port
    )


def _conditions(had: tuple[Condition, ...], told: Told) -> Iterable[Condition]:
    """A node that does not know yet what it has mounted is as ready as it said before: a new Node
    that is ready and has no `volumesInUse` would give away what is in use on this machine."""
    ready = READY
    if told.in_use is None:
        ready = find_condition(had, "Ready") or NOT_YET_READY
    was_stuck = find_condition(had, STUCK_VOLUMES) is not None
    return (
        MEMORY_IS_SHORT if told.has_memory_pressure else MEMORY_SUFFICES,
        DISK_IS_FULL if told.has_disk_pressure else DISK_HAS_ROOM,
        PROCESSES_SUFFICE,
        *((_stuck_volumes(told),) if told.stuck or was_stuck else ()),  # upstream has none
        ready,
    )


def _stuck_volumes(told: Told) -> Condition:
    if not told.stuck:
        return ALL_CALLS_RETURN
    return Condition(STUCK_VOLUMES, "True", "CallsDoNotReturn", told.stuck)


def _renewed(had: tuple[Condition, ...], told: Told, now: str) -> tuple[Condition, ...]:
    for wanted in _conditions(had, told):
        had = set_condition(had, replace(wanted, last_heartbeat_time=now), now)
    return had


def _is_told(conditions: tuple[Condition, ...], wanted: Condition) -> bool:
    present = find_condition(conditions, wanted.type)
    return present is not None and (present.status, present.reason, present.message) == (
        wanted.status,
        wanted.reason,
        wanted.message,
    )


def _of_others(node: Node, told: Told) -> Mapping[str, str]:
    """Extended resources of other writers: all of their capacity is allocatable."""
    return {
        name: amount
        for name, amount in node.status.capacity.items()
        if name not in capacity(told.amounts, told.identity.release) and "/" in name
    }


def _addresses(told: Told) -> list[Doc]:
    found = [{"type": "InternalIP", "address": one} for one in told.identity.addresses]
    return [*found, {"type": "Hostname", "address": told.name}]


def _info(told: Told) -> Doc:
    identity = told.identity
    return {
        "machineID": identity.machine_id,
        "systemUUID": identity.system_uuid,
        "bootID": identity.boot_id,
        "kernelVersion": identity.kernel,
        "osImage": identity.os_image,
        "containerRuntimeVersion": f"mooring://{told.version}",
        "kubeletVersion": f"v{identity.release}.0+mooring-{told.version}",
        "kubeProxyVersion": "",
        "operatingSystem": "linux",
        "architecture": identity.architecture,
    }
