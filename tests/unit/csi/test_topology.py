"""Where volumes can be reached from."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.csi.topology import (
    Topology,
    distinct,
    find_topology,
    flatten,
    is_accessible,
    to_node_affinity,
)
from mooring.model.storage_class import TopologyRequirement, TopologyTerm

ZONE, RACK = "topology.example/zone", "topology.example/rack"
A, B = Topology({ZONE: "a"}), Topology({ZONE: "b"})
A1 = Topology({ZONE: "a", RACK: "1"})

REACHABLE = {
    "a volume without topology is reachable from anywhere": ((), {}, True),
    "a node inside one of its topologies reaches it": ((B, A), {ZONE: "a", RACK: "7"}, True),
    "a node in another segment does not": ((A,), {ZONE: "b"}, False),
    "a node that lacks a label does not": ((A1,), {ZONE: "a"}, False),
}


@pytest.mark.parametrize(("topologies", "labels", "expected"), REACHABLE.values(), ids=REACHABLE)
def test_reachability(
    topologies: tuple[Topology, ...], labels: dict[str, str], *, expected: bool
) -> None:
    assert is_accessible(topologies, labels) is expected
    affinity = to_node_affinity(topologies)
    assert (affinity is None or affinity.matches_labels(labels)) is expected


def test_a_node_has_a_topology_once_it_has_all_labels() -> None:
    assert find_topology((ZONE,), {ZONE: "a", "other": "x"}) == A
    assert find_topology((ZONE, RACK), {ZONE: "a"}) is None
    assert find_topology((), {}) == Topology()


def test_distinct_topologies_come_shortest_first_then_by_key_and_value() -> None:
    assert distinct([A1, B, A, B]) == (A, B, A1)


segments = st.dictionaries(st.sampled_from("xyz"), st.sampled_from("ab"), max_size=2)


@given(terms=st.lists(segments.map(Topology), max_size=6), luck=st.randoms())
def test_the_order_of_nodes_does_not_matter(terms: list[Topology], luck: Random) -> None:
    shuffled = list(terms)
    luck.shuffle(shuffled)
    assert distinct(shuffled) == distinct(terms)


def test_allowed_topologies_are_every_choice_of_values() -> None:
    term = TopologyTerm(
        (TopologyRequirement(ZONE, ("a", "b")), TopologyRequirement(RACK, ("1", "2")))
    )
    assert flatten([term, TopologyTerm((TopologyRequirement(ZONE, ("c",)),))]) == (
        Topology({ZONE: "a", RACK: "1"}),
        Topology({ZONE: "a", RACK: "2"}),
        Topology({ZONE: "b", RACK: "1"}),
        Topology({ZONE: "b", RACK: "2"}),
        Topology({ZONE: "c"}),
    )


def test_the_affinity_of_a_volume_has_a_term_per_topology() -> None:
    affinity = to_node_affinity([A1, B, Topology()])
    assert affinity is not None
    assert [
        [(one.key, one.operator, one.values) for one in term.match_expressions]
        for term in affinity.node_selector_terms
    ] == [[(RACK, "In", ("1",)), (ZONE, "In", ("a",))], [(ZONE, "In", ("b",))]]
    assert to_node_affinity([]) is None
