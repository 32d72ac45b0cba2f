"""What a decision of the scheduler sees: a pod, the nodes with what is on them, the storage.

The picture stands still while a decision is made of it.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Protocol

import msgspec

from mooring.model.attachment import Attachment
from mooring.model.claim import Claim
from mooring.model.csi_driver import CsiDriver
from mooring.model.csi_node import CsiNode
from mooring.model.disruption_budget import DisruptionBudget
from mooring.model.keys import Key
from mooring.model.kubernetes_version import NEWEST, KubernetesVersion
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.pod_volume import PodVolume
from mooring.model.quantity import Quantity
from mooring.model.storage_capacity import StorageCapacity
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume
from mooring.scheduling.decide.reach import NodeLabel


class Amounts(msgspec.Struct, frozen=True):
    """Of what pods ask for and nodes have."""

    cpu_milli: int = 0
    memory: int = 0  # bytes
    ephemeral: int = 0  # bytes
    others: Mapping[str, int] = {}  # hugepages, devices

    def plus(self, more: "Amounts") -> "Amounts":
        return self._combined(more, 1)

    def minus(self, less: "Amounts") -> "Amounts":
        return self._combined(less, -1)

    def _combined(self, other: "Amounts", sign: int) -> "Amounts":
        others = self.others
        if other.others:
            names = {*others, *other.others}
            sums = {name: others.get(name, 0) + sign * other.others.get(name, 0) for name in names}
            others = {name: amount for name, amount in sums.items() if amount}
        return Amounts(
            self.cpu_milli + sign * other.cpu_milli,
            self.memory + sign * other.memory,
            self.ephemeral + sign * other.ephemeral,
            others,
        )


NOTHING = Amounts()


class Demand(msgspec.Struct, frozen=True):
    """What a pod asks for; and what it counts as when nodes are compared, which is something."""

    asked: Amounts = NOTHING
    assumed: Amounts = NOTHING


class NodeView(msgspec.Struct, frozen=True, kw_only=True):
    """A node and what is on it, including pods that are only about to be there."""

    node: Node
    csi: CsiNode | None = None
    allocatable: Amounts = NOTHING
    most_pods: int = 0
    pods: Mapping[Key, Pod] = {}
    claims: frozenset[Key] = frozenset()  # that its pods use
    disks: tuple[PodVolume, ...] = ()  # that its pods name without a claim
    distant: frozenset[Key] = frozenset()  # pods that want to be away from some others
    taken: Demand = Demand()  # by its pods
    attachments: tuple[Attachment, ...] = ()

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def labels(self) -> Mapping[str, str]:
        return self.node.metadata.labels


class Storage(Protocol):
    """Claims, volumes and what belongs to them, as they will be when all is done."""

    def find_claim(self, key: Key) -> Claim | None: ...

    def find_volume(self, name: str) -> Volume | None: ...

    def find_class(self, name: str) -> StorageClass | None: ...

    def find_driver(self, name: str) -> CsiDriver | None: ...

    def drivers(self) -> Iterable[CsiDriver]: ...

    def capacities(self, storage_class: str) -> Iterable[StorageCapacity]: ...

    def reserved_volumes(self, claim: Key) -> Iterable[Volume]:
        """Those that point at a claim of this name."""
        ...

    def free_volumes(self, storage_class: str, size: Quantity) -> Iterable[Volume]:
        """Available, unclaimed volumes of a class, at least of that size; smallest first."""
        ...

    def free_volume_labels(self, storage_class: str) -> Collection[str]:
        """The keys of node labels that say which nodes reach free volumes of the class."""
        ...

    def free_volumes_at(
        self, storage_class: str, size: Quantity, label: NodeLabel | None
    ) -> Iterable[Volume]:
        """Those that nodes with just this label reach; None: all that no such label says it of."""
        ...

    def smaller_volumes(self, storage_class: str, size: Quantity) -> Iterable[Volume]:
        """Available, unclaimed volumes of a class, below that size; largest first."""
        ...

    def namespace_labels(self, name: str) -> Mapping[str, str]: ...

    def is_claim_used(self, claim: Key) -> bool:
        """Whether a pod that has a node uses it by name."""
        ...


Counted = Counter[tuple[str, str]]
"""How many pods count in each place."""


class CountedNodes(Protocol):
    """What was counted on nodes for earlier pods of the same cluster."""

    def answers(self, shape: Hashable, nodes: int) -> dict[str, tuple[NodeView, Counted]]:
        """Of all nodes to one question: look whether the view is the same, else fill in."""
        ...


class Picture(msgspec.Struct, frozen=True):
    pod: Pod
    nodes: Sequence[NodeView]
    storage: Storage
    budgets: Sequence[DisruptionBudget] = ()
    release: KubernetesVersion = NEWEST
    counted: CountedNodes | None = None  # whoever looks sees the same without it
