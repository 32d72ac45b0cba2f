"""Where volumes can be reached from: segments of the cluster, and what both sides do with them.

A topology is a set of labels; a volume is reachable from a node that carries all labels of one of
its topologies, and from anywhere if it has none.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product

import msgspec

from mooring.model.node_selector import (
    NodeOperator,
    NodeRequirement,
    NodeSelector,
    NodeSelectorTerm,
)
from mooring.model.storage_class import TopologyTerm


class Topology(msgspec.Struct, frozen=True):
    segments: Mapping[str, str] = msgspec.field(default_factory=dict)

    def covers(self, labels: Mapping[str, str]) -> bool:
        """Whether a node with these labels is inside."""
        return all(labels.get(key) == value for key, value in self.segments.items())


class TopologyRequirement(msgspec.Struct, frozen=True):
    requisite: tuple[Topology, ...] = ()  # the volume must be reachable from one of these
    preferred: tuple[Topology, ...] = ()  # and better from the first of these than the next


def is_accessible(topologies: Sequence[Topology], labels: Mapping[str, str]) -> bool:
    return not topologies or any(topology.covers(labels) for topology in topologies)


def find_topology(keys: Iterable[str], labels: Mapping[str, str]) -> Topology | None:
    """What `labels` of a node say for the driver's `keys`; None while one of them is missing."""
    segments = {key: labels[key] for key in keys if key in labels}
    return Topology(segments) if len(segments) == len(set(keys)) else None


def distinct(topologies: Iterable[Topology]) -> tuple[Topology, ...]:
    """Each once, in the order that every caller finds: fewer segments first, then by key and value.

    Two callers must send the driver byte-identical lists, whatever order the nodes came in.
    """
    unique = {tuple(sorted(topology.segments.items())): topology for topology in topologies}
    return tuple(unique[items] for items in sorted(unique, key=lambda items: (len(items), items)))


def flatten(allowed: Iterable[TopologyTerm]) -> tuple[Topology, ...]:
    """`allowedTopologies` of a class: each term, one value chosen per key, in every combination."""
    return tuple(
        Topology(dict(segments))
        for term in allowed
        for segments in product(
            *([(each.key, value) for value in each.values] for each in term.match_label_expressions)
        )
    )


def to_node_affinity(topologies: Iterable[Topology]) -> NodeSelector | None:
    """The nodes from which a volume is reachable, for its `spec.nodeAffinity`; None: from all."""
    terms = tuple(
        NodeSelectorTerm(
            match_expressions=tuple(
                NodeRequirement(key, NodeOperator.IN, (value,))
                for key, value in sorted(topology.segments.items())
            )
        )
        for topology in topologies
        if topology.segments
    )
    return NodeSelector(terms) if terms else None
