"""Pods, nodes and storage for the scheduler to look at, read from documents as it reads them."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from mooring.model.attachment import Attachment
from mooring.model.claim import Claim
from mooring.model.csi_driver import CsiDriver
from mooring.model.csi_node import CsiNode
from mooring.model.keys import Key
from mooring.model.meta import ApiObject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.quantity import Quantity
from mooring.model.storage_capacity import StorageCapacity
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume
from mooring.model.wellknown import Annotation
from mooring.model.wire import read_document
from mooring.scheduling.decide.reach import NodeLabel, node_labels_of
from mooring.scheduling.ledger import Ledger
from mooring.scheduling.view import NodeView, Picture

Doc = dict[str, Any]
T = TypeVar("T", bound=ApiObject)
Labels = Mapping[str, str]

HOSTNAME = "kubernetes.io/hostname"
DRIVER = "d.example.com"
DONE = {Annotation.BIND_COMPLETED: "yes"}


def _read(kind: type[T], name: str, namespace: str = "", **body: Any) -> T:
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "resourceVersion": "1"}
    metadata |= body.pop("metadata", {})
    return read_document({**body, "metadata": metadata}, kind)


def a_pod(name: str = "web", *claims: str, node: str = "", **spec: Any) -> Pod:
    """With volumes for these claims; a container that asks for nothing unless `spec` says more."""
    volumes = [
        {"name": f"v{number}", "persistentVolumeClaim": {"claimName": claim}}
        for number, claim in enumerate(claims)
    ]
    whole = {
        "containers": [{"name": "main"}],
        "volumes": volumes,
        "nodeName": node,
        "schedulerName": "default-scheduler",
    }
    return _read(Pod, name, "default", spec=whole | spec)


def asking(cpu: str = "", memory: str = "", **others: str) -> Doc:
    """A container that asks for so much."""
    requests = {"cpu": cpu, "memory": memory, **others}
    return {
        "name": "main",
        "resources": {"requests": {name: amount for name, amount in requests.items() if amount}},
    }


def a_node(name: str = "n1", labels: Labels | None = None, **body: Any) -> Node:
    marks = {HOSTNAME: name, **(labels or {})}
    body.setdefault("status", {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}})
    return _read(Node, name, metadata={"labels": marks}, **body)


def a_claim(
    name: str = "data",
    storage: str = "1Gi",
    storage_class: str | None = None,
    volume: str = "",
    annotations: Labels | None = None,
    phase: str = "Pending",
    metadata: Doc | None = None,
    **spec: Any,
) -> Claim:
    wanted = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": storage} if storage else {}},
        "storageClassName": storage_class,
        "volumeName": volume,
    }
    marks = {"annotations": annotations or {}} | (metadata or {})
    return _read(
        Claim, name, "default", metadata=marks, spec=wanted | spec, status={"phase": phase}
    )


def a_bound_claim(name: str = "data", volume: str = "disk", **more: Any) -> Claim:
    return a_claim(name, volume=volume, annotations=DONE, phase="Bound", **more)


def a_volume(
    name: str = "disk",
    storage: str = "1Gi",
    storage_class: str = "local",
    node: str = "",
    phase: str = "Available",
    labels: Labels | None = None,
    metadata: Doc | None = None,
    **spec: Any,
) -> Volume:
    """A CSI volume; with a node, one that only that node can reach."""
    has: Doc = {
        "capacity": {"storage": storage},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage_class,
        "csi": {"driver": DRIVER, "volumeHandle": f"handle-{name}"},
    }
    if node:
        has["nodeAffinity"] = on(HOSTNAME, node)
    chosen = {key: value for key, value in (has | spec).items() if value is not None}
    marks = {"labels": labels or {}} | (metadata or {})
    return _read(Volume, name, metadata=marks, spec=chosen, status={"phase": phase})


def on(label: str, *values: str) -> Doc:
    """A volume's affinity to nodes with one of these values."""
    wanted = {"key": label, "operator": "In", "values": list(values)}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [wanted]}]}}


def pointing_at(claim: str, uid: str = "") -> Doc:
    return {"namespace": "default", "name": claim, "uid": uid}


def a_class(
    name: str = "local", provisioner: str = DRIVER, *, waits: bool = True, **body: Any
) -> StorageClass:
    mode = "WaitForFirstConsumer" if waits else "Immediate"
    return _read(StorageClass, name, provisioner=provisioner, volumeBindingMode=mode, **body)


def a_driver(
    name: str = DRIVER, *, tells_capacity: bool = True, must_be_there: bool | None = None
) -> CsiDriver:
    spec = {"storageCapacity": tells_capacity}
    if must_be_there is not None:
        spec["preventPodSchedulingIfMissing"] = must_be_there
    return _read(CsiDriver, name, spec=spec)


def a_csi_node(
    name: str = "n1", most: int | None = None, driver: str = DRIVER, migrated: str = ""
) -> CsiNode:
    entry: Doc = {"name": driver, "nodeID": name}
    if most is not None:
        entry["allocatable"] = {"count": most}
    marks = {"annotations": {Annotation.MIGRATED_PLUGINS: migrated}} if migrated else {}
    return _read(CsiNode, name, metadata=marks, spec={"drivers": [entry]})


def a_room(
    capacity: str | None = "10Gi",
    name: str = "room",
    storage_class: str = "local",
    topology: Doc | None = None,
    **body: Any,
) -> StorageCapacity:
    """Of a driver, reachable from everywhere unless a topology says less."""
    return _read(
        StorageCapacity,
        name,
        "default",
        storageClassName=storage_class,
        nodeTopology={} if topology is None else topology,
        capacity=capacity,
        **body,
    )


def an_attachment(volume: str, node: str = "n1", driver: str = DRIVER) -> Attachment:
    source = {"persistentVolumeName": volume}
    spec = {"attacher": driver, "nodeName": node, "source": source}
    return _read(Attachment, f"link-{volume}", spec=spec)


Thing = Claim | Volume | StorageClass | CsiDriver | StorageCapacity


class Stored:
    """`Storage` out of a list of things."""

    def __init__(
        self,
        *things: Thing,
        used: Iterable[str] = (),
        namespaces: Mapping[str, Labels] | None = None,
    ) -> None:
        self._things = things
        self._namespaces = namespaces or {}
        self._used = {Key("default", name) for name in used}

    def _find(self, kind: type[T], name: str) -> T | None:
        return next((it for it in self._things if isinstance(it, kind) and it.name == name), None)

    def find_claim(self, key: Key) -> Claim | None:
        return self._find(Claim, key.name)

    def find_volume(self, name: str) -> Volume | None:
        return self._find(Volume, name)

    def find_class(self, name: str) -> StorageClass | None:
        return self._find(StorageClass, name)

    def find_driver(self, name: str) -> CsiDriver | None:
        return self._find(CsiDriver, name)

    def drivers(self) -> Iterable[CsiDriver]:
        return [it for it in self._things if isinstance(it, CsiDriver)]

    def capacities(self, storage_class: str) -> Iterable[StorageCapacity]:
        rooms = (it for it in self._things if isinstance(it, StorageCapacity))
        return [room for room in rooms if room.storage_class_name == storage_class]

    def _volumes(self) -> list[Volume]:
        return [it for it in self._things if isinstance(it, Volume)]

    def reserved_volumes(self, claim: Key) -> Iterable[Volume]:
        references = ((volume, volume.spec.claim_ref) for volume in self._volumes())
        return [volume for volume, ref in references if ref is not None and ref.key == claim]

    def free_volumes(self, storage_class: str, size: Quantity) -> Iterable[Volume]:
        return [volume for volume in self._free(storage_class) if volume.size >= size]

    def free_volume_labels(self, storage_class: str) -> Collection[str]:
        return {
            label[0] for volume in self._free(storage_class) for label in node_labels_of(volume)
        }

    def free_volumes_at(
        self, storage_class: str, size: Quantity, label: NodeLabel | None
    ) -> Iterable[Volume]:
        return [
            volume
            for volume in self.free_volumes(storage_class, size)
            if label in (node_labels_of(volume) or (None,))
        ]

    def smaller_volumes(self, storage_class: str, size: Quantity) -> Iterable[Volume]:
        return [volume for volume in reversed(self._free(storage_class)) if volume.size < size]

    def _free(self, storage_class: str) -> list[Volume]:
        free = [
            volume
            for volume in self._volumes()
            if volume.spec.claim_ref is None
            and volume.is_available
            and volume.storage_class == storage_class
        ]
        return sorted(free, key=lambda volume: (volume.size.nanos, volume.name))

    def namespace_labels(self, name: str) -> Mapping[str, str]:
        return self._namespaces.get(name, {})

    def is_claim_used(self, claim: Key) -> bool:
        return claim in self._used


def view_of(
    node: Node | None = None,
    *pods: Pod,
    csi: CsiNode | None = None,
    attachments: Iterable[Attachment] = (),
) -> NodeView:
    """A node with these pods on it."""
    ledger = Ledger()
    node = node or a_node()
    ledger.learn_node(None, node)
    if csi is not None:
        ledger.learn_csi(None, csi)
    for attachment in attachments:
        ledger.learn_attachment(None, attachment)
    for pod in pods:
        ledger.assume(msgspec.structs.replace(pod, spec=_on_node(pod, node.name)))
    (view,) = ledger.nodes()
    return view


def _on_node(pod: Pod, node: str) -> Any:
    return msgspec.structs.replace(pod.spec, node_name=node)


def picture_of(pod: Pod, *nodes: NodeView, storage: Stored | None = None) -> Picture:
    return Picture(pod, nodes or (view_of(),), storage or Stored())
