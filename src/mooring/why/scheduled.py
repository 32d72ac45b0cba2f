"""Where a pod could go: the scheduler's own rules, asked about every node that was read."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from mooring.model.attachment import Attachment
from mooring.model.claim import Claim
from mooring.model.csi_driver import CsiDriver
from mooring.model.csi_node import CsiNode
from mooring.model.disruption_budget import DisruptionBudget
from mooring.model.keys import Key
from mooring.model.namespace import Namespace
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.quantity import Quantity
from mooring.model.storage_capacity import StorageCapacity
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume
from mooring.scheduling.decide.contract import Among, Check, Refused
from mooring.scheduling.decide.reach import NodeLabel
from mooring.scheduling.decide.schedule import RULES
from mooring.scheduling.free import FreeVolumes
from mooring.scheduling.ledger import Ledger
from mooring.scheduling.plan import Trouble
from mooring.scheduling.view import NodeView, Picture
from mooring.why.world import World


class WorldStorage:
    """`Storage` of the scheduler, over a world that stands still."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._free = FreeVolumes()
        for volume in world.all(Volume):
            self._free.put(volume)
        users = (pod for pod in world.all(Pod) if pod.is_scheduled and not pod.is_finished)
        self._used = {
            Key(pod.namespace, name) for pod in users for name in pod.shared_claim_names()
        }

    def find_claim(self, key: Key) -> Claim | None:
        return self._world.find(Claim, key)

    def find_volume(self, name: str) -> Volume | None:
        return self._world.find(Volume, Key("", name))

    def find_class(self, name: str) -> StorageClass | None:
        return self._world.find(StorageClass, Key("", name))

    def find_driver(self, name: str) -> CsiDriver | None:
        return self._world.find(CsiDriver, Key("", name))

    def drivers(self) -> Iterable[CsiDriver]:
        return self._world.all(CsiDriver)

    def capacities(self, storage_class: str) -> Iterable[StorageCapacity]:
        return (
            room
            for room in self._world.all(StorageCapacity)
            if room.storage_class_name == storage_class
        )

    def reserved_volumes(self, claim: Key) -> Iterable[Volume]:
        return (
            volume
            for volume in self._world.all(Volume)
            if volume.spec.claim_ref is not None and volume.spec.claim_ref.key == claim
        )

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
        found = self._world.find(Namespace, Key("", name))
        return {} if found is None else found.metadata.labels

    def is_claim_used(self, claim: Key) -> bool:
        return claim in self._used


class Placement(msgspec.Struct, frozen=True):
    """What the rules say of a pod."""

    fits: tuple[str, ...] = ()  # nodes
    refused: Mapping[str, tuple[str, tuple[str, ...]]] = {}  # of each node, the rule and reasons
    everywhere: tuple[str, ...] = ()  # reasons that hold whatever the node
    rule: str = ""  # the one that refuses the pod everywhere
    trouble: str = ""

    def by_reason(self) -> Mapping[str, list[str]]:
        found: defaultdict[str, list[str]] = defaultdict(list)
        for node, (_, reasons) in self.refused.items():
            found[", ".join(reasons)].append(node)
        return found


def picture_of(world: World, pod: Pod) -> Picture:
    """Of a pod without a node: it takes no room itself."""
    budgets = tuple(world.all(DisruptionBudget))
    return Picture(
        pod, world.once("nodes", _nodes_of), world.once("storage", WorldStorage), budgets
    )


def _nodes_of(world: World) -> Sequence[NodeView]:
    ledger = Ledger()
    for node in world.all(Node):
        ledger.learn_node(None, node)
    for csi in world.all(CsiNode):
        ledger.learn_csi(None, csi)
    for attachment in world.all(Attachment):
        ledger.learn_attachment(None, attachment)
    for other in world.all(Pod):
        if not other.is_finished:
            ledger.learn_pod(None, other)
    return tuple(ledger.nodes())


def place(picture: Picture) -> Placement:
    """As the scheduler goes through its rules: of several that refuse, the first one's reasons."""
    checks: list[tuple[str, Check]] = []
    among: tuple[str, frozenset[str]] | None = None
    for rule in RULES:
        match rule.look_at(picture):
            case None:
                pass
            case Refused(reasons):
                return Placement(everywhere=reasons, rule=rule.name)
            case Trouble(message):
                return Placement(trouble=message, rule=rule.name)
            case Among(names, check):
                among = rule.name, names
                checks.append((rule.name, check))
            case check:
                checks.append((rule.name, check))
    fits: list[str] = []
    refused: dict[str, tuple[str, tuple[str, ...]]] = {}
    for node in picture.nodes:
        found = _judge(node, checks, among)
        if found is None:
            fits.append(node.name)
        else:
            refused[node.name] = found
    return Placement(tuple(sorted(fits)), refused)


def _judge(
    node: NodeView, checks: list[tuple[str, Check]], among: tuple[str, frozenset[str]] | None
) -> tuple[str, tuple[str, ...]] | None:
    if among is not None and node.name not in among[1]:
        return among[0], ("the pod's node affinity names other nodes",)
    for name, check in checks:
        refused = check(node)
        if refused is not None:
            return name, refused.reasons
    return None
