"""The scheduler's view of the cluster, including its own decisions that are not written yet."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TypeVar

import msgspec

from mooring.client.contract import Scope
from mooring.model.attachment import Attachment
from mooring.model.claim import Claim
from mooring.model.csi_driver import CsiDriver
from mooring.model.csi_node import CsiNode
from mooring.model.disruption_budget import DisruptionBudget
from mooring.model.keys import Key
from mooring.model.kubernetes_version import NEWEST, KubernetesVersion
from mooring.model.namespace import Namespace
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.quantity import Quantity
from mooring.model.storage_capacity import StorageCapacity
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume
from mooring.reconcile.informer import Informer
from mooring.reconcile.shared_informer import Selection
from mooring.reconcile.worker import Synced
from mooring.scheduling.assumed import Assumed
from mooring.scheduling.decide.bound import Seen
from mooring.scheduling.decide.contract import Change
from mooring.scheduling.decide.memory import Memory, PodShape
from mooring.scheduling.decide.reach import NodeLabel
from mooring.scheduling.decide.schedule import Answer, find_refuser
from mooring.scheduling.free import FreeVolumes
from mooring.scheduling.ledger import Ledger
from mooring.scheduling.nominations import Nominations
from mooring.scheduling.view import Counted, Picture

H = TypeVar(
    "H",
    Attachment,
    Claim,
    CsiDriver,
    CsiNode,
    Namespace,
    Node,
    StorageCapacity,
    StorageClass,
    Volume,
)

ALIVE: Selection[Pod] = Selection(
    Scope(fields="status.phase!=Succeeded,status.phase!=Failed"), lambda pod: not pod.is_finished
)
"""The pods to follow: one that has ended takes nothing from its node any more."""

CLAIM = "claim"  # volumes, by the claim that they point at
CLASS = "class"  # storage capacities, by class


class Informers(msgspec.Struct, frozen=True):
    """The role runs them; the pod informer selects `ALIVE` ones."""

    pods: Informer[Pod]
    nodes: Informer[Node]
    claims: Informer[Claim]
    volumes: Informer[Volume]
    classes: Informer[StorageClass]
    drivers: Informer[CsiDriver]
    csi_nodes: Informer[CsiNode]
    capacities: Informer[StorageCapacity]
    attachments: Informer[Attachment]
    budgets: Informer[DisruptionBudget]
    namespaces: Informer[Namespace]

    def all(self) -> tuple[Synced, ...]:
        return msgspec.structs.astuple(self)


class Caches:
    """`Storage` for decisions: what is assumed counts as done."""

    def __init__(self, informers: Informers, release: KubernetesVersion = NEWEST) -> None:
        self.ledger = Ledger()
        self.nominations = Nominations()
        self.memory: Memory[Answer] = Memory()
        self._counted: Memory[Counted] = Memory()
        self._informers = informers
        self._release = release
        self._free = FreeVolumes()
        self._pointing: dict[Key, set[str]] = {}  # assumed volumes, by the claim they point at
        informers.volumes.add_index(CLAIM, _claim_of)
        informers.capacities.add_index(CLASS, lambda room: (room.storage_class_name,))
        self.claims = Assumed(informers.claims, lambda _: None)
        self.volumes = Assumed(informers.volumes, self._free.put)
        informers.volumes.on_change(self._forget_gone)
        informers.nodes.on_change(self.ledger.learn_node)
        informers.csi_nodes.on_change(self.ledger.learn_csi)
        informers.attachments.on_change(self.ledger.learn_attachment)

    def picture(self, pod: Pod) -> Picture:
        nodes = self.nominations.seen_by(pod, self.ledger.nodes())
        budgets = tuple(self._informers.budgets.all())
        return Picture(pod, nodes, self, budgets, self._release, self._counted)

    @property
    def storage(self) -> "Caches":
        return self

    def find_refuser(self, pod: Pod, shape: PodShape, node: str) -> str | None:
        view = self.ledger.find_node(node)
        if view is None:
            return ""
        nodes = self.nominations.seen_by(pod, (view,))
        return find_refuser(Picture(pod, nodes, self, release=self._release), shape, self.memory)

    def seen(self, node: str) -> Seen:
        """The stored objects, without own decisions, to wait for other controllers."""
        return Seen(
            self._informers.nodes.get(Key("", node)),
            self._informers.csi_nodes.get(Key("", node)),
            self.seen_claim,
            lambda name: self.seen_volume(Key("", name)),
        )

    def on_change(self, listener: Callable[[Change], None]) -> None:
        """Call it with every change of anything but pods, when it shows here."""
        known = self._informers
        _forward(known.nodes, listener)
        _forward(known.claims, listener)
        _forward(known.volumes, listener)
        _forward(known.classes, listener)
        _forward(known.drivers, listener)
        _forward(known.csi_nodes, listener)
        _forward(known.capacities, listener)
        _forward(known.attachments, listener)
        _forward(known.namespaces, listener)

    def seen_claim(self, key: Key) -> Claim | None:
        return self._informers.claims.get(key)

    def seen_volume(self, key: Key) -> Volume | None:
        return self._informers.volumes.get(key)

    def fold(self, written: Claim | Volume) -> None:
        """Take in the answer to a write, ahead of the watch."""
        if isinstance(written, Claim):
            self._informers.claims.fold(written)
        else:
            self._informers.volumes.fold(written)

    # Storage

    def find_claim(self, key: Key) -> Claim | None:
        return self.claims.get(key)

    def find_volume(self, name: str) -> Volume | None:
        return self.volumes.get(Key("", name))

    def find_class(self, name: str) -> StorageClass | None:
        return self._informers.classes.get(Key("", name))

    def find_driver(self, name: str) -> CsiDriver | None:
        return self._informers.drivers.get(Key("", name))

    def drivers(self) -> Iterable[CsiDriver]:
        return self._informers.drivers.all()

    def capacities(self, storage_class: str) -> Iterable[StorageCapacity]:
        return self._informers.capacities.by_index(CLASS, storage_class)

    def reserved_volumes(self, claim: Key) -> Iterator[Volume]:
        names = {volume.name for volume in self._informers.volumes.by_index(CLAIM, claim)}
        for name in names | self._pointing.get(claim, set()):
            volume = self.find_volume(name)
            if volume is not None:
                yield volume

    def free_volumes(self, storage_class: str, size: Quantity) -> Iterator[Volume]:
        return self._free.of_class(storage_class, size)

    def free_volume_labels(self, storage_class: str) -> Collection[str]:
        return self._free.label_keys(storage_class)

    def free_volumes_at(
        self, storage_class: str, size: Quantity, label: NodeLabel | None
    ) -> Iterator[Volume]:
        return self._free.reached_by(storage_class, size, label)

    def smaller_volumes(self, storage_class: str, size: Quantity) -> Iterator[Volume]:
        return self._free.below(storage_class, size)

    def namespace_labels(self, name: str) -> Mapping[str, str]:
        found = self._informers.namespaces.get(Key("", name))
        return {} if found is None else found.metadata.labels

    def is_claim_used(self, claim: Key) -> bool:
        return self.ledger.is_claim_used(claim)

    # assuming

    def assume_volume(self, volume: Volume) -> None:
        for claim in _claim_of(volume):
            self._pointing.setdefault(claim, set()).add(volume.name)
        self.volumes.assume(volume)

    def restore_volume(self, volume: Volume) -> Volume | None:
        """The assumption ends: it has come true, or (the volume as it is) it will not."""
        for claim in _claim_of(volume):
            names = self._pointing.get(claim, set())
            names.discard(volume.name)
            if not names:
                self._pointing.pop(claim, None)
        return self.volumes.restore(volume.key)

    def _forget_gone(self, old: Volume | None, new: Volume | None) -> None:
        if new is None and old is not None:
            self._free.discard(old.name)


def _forward(informer: Informer[H], listener: Callable[[Change], None]) -> None:
    def hear(old: H | None, new: H | None) -> None:
        listener(Change(old, new))

    informer.on_change(hear)


def _claim_of(volume: Volume) -> tuple[Key, ...]:
    reference = volume.spec.claim_ref
    return (reference.key,) if reference is not None else ()
