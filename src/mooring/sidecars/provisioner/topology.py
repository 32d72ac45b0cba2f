"""Where a new volume has to be reachable from, in the driver's own terms."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Self

import msgspec

from mooring.csi.topology import (
    Topology,
    TopologyRequirement,
    distinct,
    find_topology,
    flatten,
)
from mooring.model.csi_node import CsiNode, CsiNodeSpec, NodeDriver
from mooring.model.meta import ObjectMeta
from mooring.model.node import Node
from mooring.model.storage_class import TopologyTerm
from mooring.sidecars.own_node import OwnNode
from mooring.sidecars.provisioner.waiting_reason import Then, WaitingReason

_PRIME, _OFFSET, _WRAP = 16777619, 2166136261, 1 << 32


class ClusterTopology:
    """Nodes as one driver sees them, at one moment; what was worked out once is kept."""

    def __init__(self, driver: str, nodes: Iterable[Node], csi_nodes: Iterable[CsiNode]) -> None:
        self._labels = {node.name: node.metadata.labels for node in nodes}
        self._keys: dict[str, tuple[str, ...]] = {}
        for csi_node in csi_nodes:
            entry = csi_node.find_driver(driver)
            self._keys[csi_node.name] = (entry and entry.topology_keys) or ()
        self._terms: dict[tuple[str, ...], tuple[Topology, ...]] = {}

    @classmethod
    def of_one(cls, driver: str, node: OwnNode) -> Self:
        """As if there were no other node; nothing is watched for it."""
        segments = node.place.segments if node.place else {}
        meta = ObjectMeta(name=node.name, labels=segments)
        entry = NodeDriver(driver, node.name, tuple(sorted(segments)))
        csi_node = CsiNode(metadata=meta, spec=CsiNodeSpec((entry,)))
        return cls(driver, (Node(metadata=meta),), (csi_node,))

    def keys_of(self, node: str) -> tuple[str, ...]:
        """Raises: WaitingReason when the node does not speak of drivers at all."""
        if node not in self._keys:
            missing = f'csinode.storage.k8s.io "{node}" not found'
            raise WaitingReason(
                f"failed to get selected CSINode {node}: {missing}", Then.RESCHEDULE
            )
        return self._keys[node]

    def common_keys(self) -> tuple[str, ...]:
        """The keys that most nodes have for the driver; empty when none has any."""
        counts: dict[tuple[str, ...], int] = {}
        for keys in self._keys.values():
            if keys:
                counts[keys] = counts.get(keys, 0) + 1
        return min(counts, key=lambda keys: (-counts[keys], keys), default=())

    def labels_of(self, node: str) -> Mapping[str, str]:
        return self._labels.get(node, {})

    def terms(self, keys: tuple[str, ...]) -> tuple[Topology, ...]:
        """The places that nodes with these labels are in, each once."""
        known = self._terms.get(keys)
        if known is None:
            found = (find_topology(keys, labels) for labels in self._labels.values())
            known = self._terms[keys] = distinct(term for term in found if term is not None)
        return known

    def segments(self) -> tuple[Topology, ...]:
        """The places of the nodes that the driver runs on, each by its own keys."""
        found = (
            find_topology(keys, self.labels_of(node)) for node, keys in self._keys.items() if keys
        )
        return distinct(term for term in found if term is not None)


class Wish(msgspec.Struct, frozen=True):
    """What a claim and its class say about places."""

    claim: str  # its name: claims of a StatefulSet are spread by it
    node: str  # that the scheduler chose; empty: it was not asked
    allowed: tuple[TopologyTerm, ...]
    is_strict: bool  # the chosen node's place and no other
    tells_cluster: bool  # without a chosen node, name every place there is


def requirement(wish: Wish, cluster: ClusterTopology) -> TopologyRequirement | None:
    """None: no topology is sent. Raises: WaitingReason."""
    try:
        return _requirement(wish, cluster)
    except WaitingReason as error:
        if error.then is Then.RESCHEDULE:
            raise
        raise WaitingReason(f"error generating accessibility requirements: {error}") from error


def _requirement(wish: Wish, cluster: ClusterTopology) -> TopologyRequirement | None:
    allowed = flatten(wish.allowed)
    if wish.node:
        return _for_node(wish, allowed, cluster)
    if wish.allowed:
        terms = distinct(allowed)
    elif wish.tells_cluster:
        keys = cluster.common_keys()
        terms = cluster.terms(keys) if keys else ()
        if keys and not terms:
            raise WaitingReason(f"topologyKeys {_listed(keys)} were not found on any nodes")
        if not terms:
            raise WaitingReason("no available topology found")
    else:
        terms = ()
    if not terms:
        return None
    return TopologyRequirement(terms, rotated(terms, start_index(wish.claim, len(terms))))


def _for_node(
    wish: Wish, allowed: Sequence[Topology], cluster: ClusterTopology
) -> TopologyRequirement | None:
    keys, labels = cluster.keys_of(wish.node), cluster.labels_of(wish.node)
    if not keys:
        raise WaitingReason(f"no topology key found for node {wish.node}")
    own = find_topology(keys, labels)
    if own is None:
        raise WaitingReason(
            f"topology labels from selected node {_mapped(labels)} does not match topology keys"
            f" from CSINode {_listed(keys)}"
        )
    if wish.is_strict:
        if wish.allowed and not any(_contains(own, term) for term in allowed):
            raise WaitingReason(
                f"selected node '\"{wish.node}\"' topology '{_shown(own)}' is not in allowed"
                f" topologies: {_all_shown(allowed)}"
            )
        return TopologyRequirement((own,), (own,))
    terms = distinct(allowed) if wish.allowed else cluster.terms(keys)
    if not terms:
        return None
    for index, term in enumerate(terms):
        if _contains(own, term):
            return TopologyRequirement(terms, rotated(terms, index))
    raise WaitingReason(
        f'topology {_shown(own)} from selected node "{wish.node}" is not in requisite:'
        f" {_all_shown(terms)}"
    )


def _contains(place: Topology, term: Topology) -> bool:
    """Whether all of `term` holds at `place`."""
    return term.covers(place.segments)


def rotated(terms: tuple[Topology, ...], start: int) -> tuple[Topology, ...]:
    return terms[start:] + terms[:start]


def start_index(claim: str, count: int) -> int:
    """Claims of one StatefulSet member start at the same place, the next member's at the next."""
    base, dash, last = claim.rpartition("-")
    index = int(last) if dash and last.isascii() and last.isdigit() else -1
    if not 0 <= index < _WRAP:
        base, index = claim, 0
    else:
        base = base.rpartition("-")[2]
    return (_fnv1(base) + index) % _WRAP % count


def _fnv1(text: str) -> int:
    value = _OFFSET
    for byte in text.encode():
        value = value * _PRIME % _WRAP ^ byte
    return value


def _listed(words: Iterable[str]) -> str:
    return f"[{' '.join(words)}]"


def _mapped(labels: Mapping[str, str]) -> str:
    return f"map[{' '.join(f'{key}:{value}' for key, value in sorted(labels.items()))}]"


def _shown(topology: Topology) -> str:
    return _listed(f"{{{key} {value}}}" for key, value in sorted(topology.segments.items()))


def _all_shown(topologies: Iterable[Topology]) -> str:
    return _listed(map(_shown, topologies))
