"""What is on every node, kept up to date pod by pod.

Nothing here is added up anew for each pod that is looked at: a pod that comes or goes changes the
sums of its one node, and only that node's view is made again.
"""

from collections import Counter

import msgspec

from mooring.model.attachment import Attachment
from mooring.model.csi_node import CsiNode
from mooring.model.keys import Key
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.pod_volume import PodVolume
from mooring.scheduling.decide.in_tree import disks_of
from mooring.scheduling.decide.pod_affinity import wishes_distance
from mooring.scheduling.decide.preemption import is_preempted
from mooring.scheduling.decide.requests import allocatable_of, demand_of
from mooring.scheduling.view import Demand, NodeView


class _Counted(msgspec.Struct, frozen=True):
    """A pod with a node, or one that is about to have it."""

    pod: Pod
    demand: Demand
    disks: tuple[PodVolume, ...]


class _Shelf:
    """Everything about one node name; the node itself may be missing."""

    def __init__(self) -> None:
        self.node: Node | None = None
        self.csi: CsiNode | None = None
        self.pods: dict[Key, _Counted] = {}
        self.claims: Counter[Key] = Counter()
        self.taken = Demand()
        self.attachments: dict[str, Attachment] = {}
        self.view: NodeView | None = None  # None: to be made again

    @property
    def is_empty(self) -> bool:
        return not (self.node or self.csi or self.pods or self.attachments)


class Ledger:
    def __init__(self) -> None:
        self._shelves: dict[str, _Shelf] = {}
        self._assumed: set[Key] = set()  # pods whose node is not in the API yet, as far as we see
        self._places: dict[Key, str] = {}  # the node of each pod that counts
        self._users: Counter[Key] = Counter()  # of claims, by name

    # reading

    def nodes(self) -> list[NodeView]:
        return [
            shelf.view or self._look(shelf, shelf.node)
            for shelf in self._shelves.values()
            if shelf.node is not None
        ]

    def find_node(self, name: str) -> NodeView | None:
        shelf = self._shelves.get(name)
        if shelf is None or shelf.node is None:
            return None
        return shelf.view or self._look(shelf, shelf.node)

    def is_assumed(self, pod: Key) -> bool:
        return pod in self._assumed

    def is_claim_used(self, claim: Key) -> bool:
        return self._users[claim] > 0

    def find_pod(self, key: Key) -> Pod | None:
        """A pod that counts somewhere."""
        place = self._places.get(key)
        return None if place is None else self._shelves[place].pods[key].pod

    # what happens

    def assume(self, pod: Pod) -> None:
        """It will be on its node."""
        self._count(pod)
        self._assumed.add(pod.key)

    def learn_pod(self, old: Pod | None, new: Pod | None) -> None:
        """What the API says of a pod."""
        if new is not None and new.is_scheduled:
            self._assumed.discard(new.key)
            self._count(new)
        elif new is None and old is not None:
            self.forget(old.key)

    def forget(self, key: Key) -> None:
        self._assumed.discard(key)
        place = self._places.pop(key, None)
        if place is None:
            return
        shelf = self._shelves[place]
        counted = shelf.pods.pop(key)
        shelf.taken = _less(shelf.taken, counted.demand)
        for claim in counted.pod.claim_keys():
            _lower(shelf.claims, claim)
        for name in counted.pod.shared_claim_names():
            _lower(self._users, Key(key.namespace, name))
        self._changed(place)

    def learn_node(self, old: Node | None, new: Node | None) -> None:
        if (known := new or old) is not None:
            self._shelf(known.name).node = new
            self._changed(known.name)

    def learn_csi(self, old: CsiNode | None, new: CsiNode | None) -> None:
        if (known := new or old) is not None:
            self._shelf(known.name).csi = new
            self._changed(known.name)

    def learn_attachment(self, old: Attachment | None, new: Attachment | None) -> None:
        if old is not None:
            self._shelf(old.spec.node_name).attachments.pop(old.name, None)
            self._changed(old.spec.node_name)
        if new is not None:
            self._shelf(new.spec.node_name).attachments[new.name] = new
            self._changed(new.spec.node_name)

    def _count(self, pod: Pod) -> None:
        known = self.find_pod(pod.key)
        if known is not None and known.spec == pod.spec:
            if _looks_different(known, pod):
                shelf = self._shelves[pod.spec.node_name]
                counted = shelf.pods[pod.key]
                shelf.pods[pod.key] = _Counted(pod, counted.demand, counted.disks)
                shelf.view = None
            return
        self.forget(pod.key)
        place = pod.spec.node_name
        shelf = self._shelf(place)
        demand = demand_of(pod)
        shelf.pods[pod.key] = _Counted(pod, demand, tuple(disks_of(pod)))
        shelf.taken = _more(shelf.taken, demand)
        shelf.claims.update(pod.claim_keys())
        self._users.update(Key(pod.namespace, name) for name in pod.shared_claim_names())
        self._places[pod.key] = place
        self._changed(place)

    def _shelf(self, name: str) -> _Shelf:
        return self._shelves.setdefault(name, _Shelf())

    def _changed(self, name: str) -> None:
        shelf = self._shelves[name]
        shelf.view = None
        if shelf.is_empty:
            del self._shelves[name]

    def _look(self, shelf: _Shelf, node: Node) -> NodeView:
        allocatable, most_pods = allocatable_of(node.status.allocatable)
        shelf.view = NodeView(
            node=node,
            csi=shelf.csi,
            allocatable=allocatable,
            most_pods=most_pods,
            pods={key: counted.pod for key, counted in shelf.pods.items()},
            claims=frozenset(shelf.claims),
            disks=tuple(disk for counted in shelf.pods.values() for disk in counted.disks),
            distant=frozenset(
                key for key, counted in shelf.pods.items() if wishes_distance(counted.pod)
            ),
            taken=shelf.taken,
            attachments=tuple(shelf.attachments.values()),
        )
        return shelf.view


def _looks_different(before: Pod, after: Pod) -> bool:
    """To one who looks for pods to preempt."""
    return (
        before.is_deleting != after.is_deleting
        or before.uid != after.uid
        or before.status.start_time != after.status.start_time
        or before.metadata.labels != after.metadata.labels
        or is_preempted(before) != is_preempted(after)
    )


def _lower(counts: Counter[Key], key: Key) -> None:
    counts[key] -= 1
    if not counts[key]:
        del counts[key]


def _more(taken: Demand, demand: Demand) -> Demand:
    return Demand(taken.asked.plus(demand.asked), taken.assumed.plus(demand.assumed))


def _less(taken: Demand, demand: Demand) -> Demand:
    return Demand(taken.asked.minus(demand.asked), taken.assumed.minus(demand.assumed))
