"""What pods ask for, and whether a node has it."""

from typing import Any

import pytest

from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.scheduling.decide.contract import Change, Refused
from mooring.scheduling.decide.requests import allocatable_of, demand_of
from mooring.scheduling.decide.resources import RULE
from mooring.scheduling.view import Amounts, NodeView
from tests.unit.scheduling.decide.asking_rules import FINE, reasons
from tests.unit.scheduling.things import Doc, a_node, a_pod, asking, picture_of, view_of

MI = 1 << 20


def of(*containers: Doc, init: tuple[Doc, ...] = (), **spec: Any) -> Pod:
    return a_pod(containers=list(containers), initContainers=list(init), **spec)


def beside(container: Doc) -> Doc:
    """An init container that keeps running."""
    return container | {"restartPolicy": "Always"}


DEMANDS: dict[str, tuple[Pod, Amounts]] = {
    "nothing": (of(asking()), Amounts()),
    "containers side by side": (
        of(asking("100m", "1Mi"), asking("1", "2Mi")),
        Amounts(1100, 3 * MI),
    ),
    "a fraction counts as a whole": (of(asking("0.1m", "0.5")), Amounts(1, 1)),
    "init containers one by one": (
        of(asking("1", "1Mi"), init=(asking("2", "1Mi"), asking("1", "3Mi"))),
        Amounts(2000, 3 * MI),
    ),
    "a sidecar counts beside the containers": (
        of(asking("1"), init=(beside(asking("500m")),)),
        Amounts(1500),
    ),
    "a sidecar counts beside later init containers": (
        of(asking("100m"), init=(beside(asking("500m")), asking("1"))),
        Amounts(1500),
    ),
    "a sidecar does not count beside earlier init containers": (
        of(asking("100m"), init=(asking("1"), beside(asking("500m")))),
        Amounts(1000),
    ),
    "the pod as a whole beats its containers": (
        of(asking("1", "1Mi"), resources={"requests": {"cpu": "3"}}),
        Amounts(3000, MI),
    ),
    "overhead comes on top": (
        of(asking("1"), overhead={"cpu": "10m", "memory": "1Mi"}),
        Amounts(1010, MI),
    ),
    "disk and devices": (
        of(asking(**{"ephemeral-storage": "1Mi", "example.com/gpu": "2"})),
        Amounts(0, 0, MI, {"example.com/gpu": 2}),
    ),
    "a limit is no request": (
        of({"name": "main", "resources": {"limits": {"cpu": "1"}}}),
        Amounts(),
    ),
}


@pytest.mark.parametrize(("pod", "then"), DEMANDS.values(), ids=DEMANDS)
def test_what_a_pod_asks_for(pod: Pod, then: Amounts) -> None:
    assert demand_of(pod).asked == then


def test_a_container_that_asks_for_nothing_counts_as_something_when_nodes_are_compared() -> None:
    assumed = demand_of(of(asking(), asking("1"))).assumed
    assert (assumed.cpu_milli, assumed.memory) == (1100, 400 * MI)


def test_what_a_node_has() -> None:
    told = {"cpu": "1500m", "memory": "1Gi", "pods": "7", "example.com/gpu": "2", "odd": "much"}
    has, pods = allocatable_of(told)
    assert (has.cpu_milli, has.memory, pods) == (1500, 1024 * MI, 7)
    assert has.others == {"example.com/gpu": 2}


def small(**allocatable: str) -> Node:
    return a_node(status={"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "2"} | allocatable})


BUSY = view_of(small(), a_pod("other", containers=[asking("600m", "600Mi")]))

FITS: dict[str, tuple[Pod, NodeView, tuple[str, ...], bool]] = {
    "room for it": (of(asking("1", "1Gi")), view_of(small()), FINE, False),
    "room beside another": (of(asking("400m", "424Mi")), BUSY, FINE, False),
    "too little cpu": (of(asking("500m")), BUSY, ("Insufficient cpu",), True),
    "too little memory": (of(asking("1m", "500Mi")), BUSY, ("Insufficient memory",), True),
    "too little of both": (
        of(asking("500m", "500Mi")),
        BUSY,
        ("Insufficient cpu", "Insufficient memory"),
        True,
    ),
    "larger than the node": (of(asking("2")), BUSY, ("Insufficient cpu",), False),
    "too little disk": (
        of(asking(**{"ephemeral-storage": "1Gi"})),
        view_of(small()),
        ("Insufficient ephemeral-storage",),
        False,
    ),
    "no such device": (
        of(asking(**{"example.com/gpu": "1"})),
        view_of(small()),
        ("Insufficient example.com/gpu",),
        False,
    ),
    "nothing asked for on a full node": (
        of(asking()),
        view_of(small(), a_pod("other", containers=[asking("1")])),
        FINE,
        False,
    ),
    "too many pods": (
        of(asking()),
        view_of(small(), a_pod("a"), a_pod("b")),
        ("Too many pods",),
        True,
    ),
    "a node that does not say what it has": (
        of(asking()),
        view_of(a_node(status={})),
        ("Too many pods",),
        True,
    ),
}


@pytest.mark.parametrize(("pod", "node", "then", "yields"), FITS.values(), ids=FITS)
def test_a_node(pod: Pod, node: NodeView, then: tuple[str, ...], yields: bool) -> None:  # noqa: FBT001 - a column
    picture = picture_of(pod, node)
    assert reasons(RULE, picture) == then
    check = RULE.look_at(picture)
    assert callable(check)
    if then:
        assert check(node) == Refused(then, yields=yields)


ONE = of(asking("1"))
WAKES: dict[str, tuple[Pod, Change, bool]] = {
    "a pod leaves its node": (ONE, Change(a_pod("other", node="n1"), None), True),
    "a pod without a node goes": (ONE, Change(a_pod("other"), None), False),
    "a pod asks for less": (
        ONE,
        Change(
            a_pod("other", node="n1", containers=[asking("2")]),
            a_pod("other", node="n1", containers=[asking("1")]),
        ),
        True,
    ),
    "a pod asks for nothing any more": (
        ONE,
        Change(
            a_pod("other", node="n1", containers=[asking("2")]),
            a_pod("other", node="n1", containers=[asking()]),
        ),
        True,
    ),
    "a pod asks for more": (
        ONE,
        Change(
            a_pod("other", node="n1", containers=[asking("1")]),
            a_pod("other", node="n1", containers=[asking("2")]),
        ),
        False,
    ),
    "a new node that is large enough": (ONE, Change(None, small()), True),
    "a new node that is too small": (of(asking("2")), Change(None, small()), False),
    "a node grows": (of(asking("2")), Change(small(), small(cpu="2")), True),
    "a node does not grow enough": (of(asking("3")), Change(small(), small(cpu="2")), False),
    "a node is relabelled": (
        ONE,
        Change(a_node(), a_node(labels={"a": "1"})),
        False,
    ),
}


@pytest.mark.parametrize(("pod", "change", "then"), WAKES.values(), ids=WAKES)
def test_what_wakes(pod: Pod, change: Change, then: bool) -> None:  # noqa: FBT001 - a column
    assert RULE.is_woken(pod, change) is then
