"""How fast the nodes of a zone are emptied, and in which order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.controllers.node_lifecycle.zones import Disruption, Tally, Turns, Zone, Zones
from mooring.model.node import Node
from mooring.model.wire import read_document

HERE, THERE = Zone("eu", "a"), Zone("eu", "b")


def a_node(name: str, ready: str = "True", zone: str = "a") -> Node:
    labels = {"topology.kubernetes.io/region": "eu", "topology.kubernetes.io/zone": zone}
    return read_document(
        {
            "metadata": {"name": name, "labels": labels},
            "status": {"conditions": [{"type": "Ready", "status": ready}]},
        },
        Node,
    )


TALLIES = {
    "all are ready": (Tally(3, 3), Disruption.NONE, 10.0),
    "one of two": (Tally(2, 1), Disruption.NONE, 10.0),
    "two of three are few": (Tally(3, 1), Disruption.NONE, 10.0),
    "three of five": (Tally(5, 2), Disruption.PARTIAL, None),
    "just under the share": (Tally(100, 46), Disruption.NONE, 10.0),
    "a large zone, in part": (Tally(100, 45), Disruption.PARTIAL, 100.0),
    "fifty are not large": (Tally(50, 10), Disruption.PARTIAL, None),
    "none is ready": (Tally(4, 0), Disruption.FULL, 10.0),
    "no node at all": (Tally(0, 0), Disruption.NONE, 10.0),
}


@pytest.mark.parametrize(("tally", "disruption", "interval"), TALLIES.values(), ids=TALLIES)
def test_the_pace_of_a_zone(tally: Tally, disruption: Disruption, interval: float | None) -> None:
    assert (tally.disruption, tally.interval) == (disruption, interval)


def test_nodes_are_counted_where_they_are() -> None:
    zones = Zones()
    zones.follow("n1", a_node("n1"))
    zones.follow("n2", a_node("n2", "Unknown"))
    assert zones.tally(HERE) == Tally(2, 1)
    zones.follow("n1", a_node("n1", zone="b"))
    assert (zones.tally(HERE), zones.tally(THERE)) == (Tally(1, 0), Tally(1, 1))
    assert zones.has_ready_nodes
    zones.follow("n1", None)
    assert not zones.has_ready_nodes
    assert zones.find("n1") is None


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["True", "False", "gone"]))))
def test_the_counts_are_those_of_the_nodes(changes: list[tuple[str, str]]) -> None:
    zones, there = Zones(), dict[str, Node]()
    for name, ready in changes:
        there.pop(name, None)
        if ready != "gone":
            there[name] = a_node(name, ready)
        zones.follow(name, there.get(name))
    ready_nodes = sum(node.is_ready for node in there.values())
    assert zones.tally(HERE) == Tally(len(there), ready_nodes)
    assert zones.has_ready_nodes is bool(ready_nodes)


def test_one_after_the_other() -> None:
    woken: list[str] = []
    turns = Turns(woken.append)
    assert turns.take(HERE, "n1", 10.0, 0.0) == 0.0
    assert turns.take(HERE, "n2", 10.0, 0.0) == 10.0
    assert turns.take(HERE, "n3", 10.0, 0.0) is None
    assert turns.take(THERE, "n4", 10.0, 0.0) == 0.0  # another zone
    assert turns.take(HERE, "n1", 10.0, 5.0) == 0.0  # its write failed: the turn is still its own
    assert turns.take(HERE, "n2", 10.0, 10.0) == 0.0
    assert woken == ["n3"]
    assert turns.take(HERE, "n3", 10.0, 10.0) == 10.0


def test_who_comes_back_makes_room() -> None:
    woken: list[str] = []
    turns = Turns(woken.append)
    turns.take(HERE, "n1", 10.0, 0.0)
    turns.take(HERE, "n2", 10.0, 0.0)
    turns.take(HERE, "n3", 10.0, 0.0)
    turns.leave(HERE, "n2")
    assert woken == ["n3"]
    assert turns.take(HERE, "n3", 10.0, 4.0) == 6.0


def test_a_zone_that_stands_still_goes_on_when_it_is_told() -> None:
    woken: list[str] = []
    turns = Turns(woken.append)
    assert turns.take(HERE, "n1", None, 0.0) is None
    turns.look(HERE)
    assert woken == ["n1"]
    assert turns.take(HERE, "n1", 100.0, 1.0) == 0.0
