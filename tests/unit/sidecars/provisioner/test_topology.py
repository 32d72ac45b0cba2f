"""Where a volume has to be reachable from."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.csi.topology import Topology, TopologyRequirement
from mooring.model.csi_node import CsiNode, CsiNodeSpec, NodeDriver
from mooring.model.meta import ObjectMeta
from mooring.model.node import Node
from mooring.model.storage_class import TopologyRequirement as Expression
from mooring.model.storage_class import TopologyTerm
from mooring.sidecars.provisioner.topology import (
    ClusterTopology,
    Wish,
    requirement,
    start_index,
)
from mooring.sidecars.provisioner.waiting_reason import Then, WaitingReason

DRIVER = "d.example.com"
STARTS = {"data-web-0": 0, "data-web-1": 1, "data-web-2": 2, "myclaim": 2, "a-7": 0}


def a_node(name: str, **labels: str) -> Node:
    return Node(metadata=ObjectMeta(name=name, labels=labels))


def on(name: str, *keys: str) -> CsiNode:
    driver = NodeDriver(DRIVER, f"id-{name}", keys)
    return CsiNode(metadata=ObjectMeta(name=name), spec=CsiNodeSpec((driver,)))


NODES = [a_node(f"n{number}", zone=f"z{number}") for number in range(3)]
CLUSTER = ClusterTopology(DRIVER, NODES, [on(f"n{number}", "zone") for number in range(3)])
ALLOWED = (TopologyTerm((Expression("zone", ("z2", "z1")),)),)


def zones(*names: str) -> tuple[Topology, ...]:
    return tuple(Topology({"zone": name}) for name in names)


def a_wish(
    node: str = "",
    allowed: tuple[TopologyTerm, ...] = (),
    *,
    is_strict: bool = False,
    tells_cluster: bool = True,
) -> Wish:
    return Wish("data-web-1", node, allowed, is_strict, tells_cluster)


ASKED: dict[str, tuple[Wish, TopologyRequirement | None]] = {
    "a chosen node leads all places": (
        a_wish("n1"),
        TopologyRequirement(zones("z0", "z1", "z2"), zones("z1", "z2", "z0")),
    ),
    "a chosen node, strictly, is the only place": (
        a_wish("n1", is_strict=True),
        TopologyRequirement(zones("z1"), zones("z1")),
    ),
    "a chosen node leads the allowed places": (
        a_wish("n2", ALLOWED),
        TopologyRequirement(zones("z1", "z2"), zones("z2", "z1")),
    ),
    "without a node, all places from one that the name chooses": (
        a_wish(),
        TopologyRequirement(zones("z0", "z1", "z2"), zones("z1", "z2", "z0")),
    ),
    "without a node, the allowed places": (
        a_wish(allowed=ALLOWED),
        TopologyRequirement(zones("z1", "z2"), zones("z1", "z2")),
    ),
    "without a node, nothing to a driver that is not to be told": (
        a_wish(tells_cluster=False),
        None,
    ),
}


@pytest.mark.parametrize(("wish", "expected"), ASKED.values(), ids=ASKED)
def test_what_is_asked_for(wish: Wish, expected: TopologyRequirement | None) -> None:
    assert requirement(wish, CLUSTER) == expected


BARE = ClusterTopology(DRIVER, NODES, [on("n0"), on("n1", "rack")])
REFUSED = {
    "a node that says nothing of drivers": (
        a_wish("n9"),
        CLUSTER,
        'failed to get selected CSINode n9: csinode.storage.k8s.io "n9" not found',
    ),
    "a node on which the driver names no keys": (
        a_wish("n0"),
        BARE,
        "no topology key found for node n0",
    ),
    "a node without the labels that the driver names": (
        a_wish("n1"),
        BARE,
        "topology labels from selected node map[zone:z1] does not match topology keys from"
        " CSINode [rack]",
    ),
    "no node with the labels that the driver names": (
        a_wish(),
        BARE,
        "topologyKeys [rack] were not found on any nodes",
    ),
    "no node of the driver at all": (
        a_wish(),
        ClusterTopology(DRIVER, NODES, []),
        "no available topology found",
    ),
    "a chosen node outside of the allowed places": (
        a_wish("n0", ALLOWED),
        CLUSTER,
        'topology [{zone z0}] from selected node "n0" is not in requisite:'
        " [[{zone z1}] [{zone z2}]]",
    ),
}


@pytest.mark.parametrize(("wish", "cluster", "text"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_asked_for(wish: Wish, cluster: ClusterTopology, text: str) -> None:
    with pytest.raises(WaitingReason) as refused:
        requirement(wish, cluster)
    assert str(refused.value).endswith(text)
    assert refused.value.then is (Then.RESCHEDULE if "CSINode n9" in text else Then.TRY_AGAIN)


@pytest.mark.parametrize(("claim", "start"), STARTS.items(), ids=STARTS)
def test_the_name_of_a_claim_chooses_where_to_start(claim: str, start: int) -> None:
    assert start_index(claim, 3) == start


@given(base=st.from_regex(r"[a-z]{1,8}(-[a-z]{1,8})?", fullmatch=True), count=st.integers(1, 9))
def test_members_in_a_row_start_in_a_row(base: str, count: int) -> None:
    starts = [start_index(f"{base}-{number}", count) for number in range(count)]
    assert starts == [(starts[0] + number) % count for number in range(count)]


def test_the_keys_that_most_nodes_have_are_the_drivers() -> None:
    cluster = ClusterTopology(DRIVER, NODES, [on("n0", "rack"), on("n1", "zone"), on("n2", "zone")])
    assert cluster.common_keys() == ("zone",)
