"""When a node counts as lost, and what it is marked with."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mooring.controllers.node_lifecycle.decide import (
    decide,
    lost_conditions,
    must_ask,
    needs_turn,
)
from mooring.controllers.node_lifecycle.plan import LookAgain, MarkPodNotReady, UpdateNode
from mooring.controllers.node_lifecycle.view import Monitoring, NodeView, Silence
from mooring.model.condition import Condition, set_condition
from mooring.model.node import LEFT, Node
from mooring.model.pod import Pod
from mooring.model.steps import Emit
from mooring.model.taint import Taint
from mooring.model.wire import read_document

NOW = "2026-01-02T03:04:05Z"
BORN = "2026-01-01T00:00:00Z"
TYPES = ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
GONE = Condition("Ready", "False", LEFT)
DOMAIN = "node.kubernetes.io/"


def a_node(ready: str = "True", taints: tuple[str, ...] = (), **spec: Any) -> Node:
    """Taints as in `unreachable:NoExecute` or `key=value:NoExecute`; `ready` empty: never said."""
    said = {kind: "False" for kind in TYPES} | {"Ready": ready}
    conditions = [
        {"type": kind, "status": status, "lastHeartbeatTime": BORN, "lastTransitionTime": BORN}
        for kind, status in said.items()
    ]
    listed = [
        {"key": DOMAIN + key, "value": value, "effect": effect}
        for taint in taints
        for word, _, effect in (taint.partition(":"),)
        for key, _, value in (word.partition("="),)
    ]
    metadata = {"name": "n1", "uid": "u1", "creationTimestamp": BORN}
    return read_document(
        {
            "metadata": metadata,
            "spec": {"taints": listed, **spec},
            "status": {"conditions": conditions if ready else []},
        },
        Node,
    )


def left(node: Node) -> Node:
    """The node has said goodbye."""
    conditions = set_condition(node.status.conditions, GONE, NOW)
    return replace(node, status=replace(node.status, conditions=conditions))


def a_pod(ready: str = "True") -> Pod:
    condition = {"type": "Ready", "status": ready, "lastTransitionTime": BORN}
    status = {"phase": "Running", "conditions": [condition]}
    metadata = {"name": "web", "namespace": "ns", "uid": "u-web"}
    return read_document({"metadata": metadata, "status": status}, Pod)


def a_view(node: Node, *silence: float, now: float = 100.0, **fields: Any) -> NodeView:
    """`silence`: since when, when first and when last asked."""
    view = NodeView(
        node,
        Silence(*(silence or (now,))),
        (),
        Monitoring(),
        has_ready_nodes=True,
        may_evict=False,
        now=now,
        wall=NOW,
    )
    return replace(view, **fields)


def names(taints: tuple[Taint, ...] | None) -> set[str] | None:
    if taints is None:
        return None
    return {f"{taint.key.removeprefix(DOMAIN)}:{taint.effect}" for taint in taints}


ASKING = {
    "heard a moment ago": (a_view(a_node(), 100), False),
    "silent, but not for long enough": (a_view(a_node(), 76), False),
    "soon over: asked a first time": (a_view(a_node(), 75), True),
    "asked a first time already": (a_view(a_node(), 70, 95, 95), False),
    "over: asked again": (a_view(a_node(), 60, 85, 85), True),
    "over, but first asked a moment ago": (a_view(a_node(), 30, 95, 95), False),
    "confirmed": (a_view(a_node(), 60, 85, 100), False),
    "known to be lost": (a_view(a_node("Unknown"), 0), True),  # its pressures are not yet
    "never spoke, and gets longer": (a_view(a_node(""), 60), False),
    "never spoke": (a_view(a_node(""), 55), True),
    "it has left, and is meant to be silent": (a_view(left(a_node()), 0), False),
    "said to be out of service": (a_view(a_node(taints=("out-of-service:NoExecute",)), 92), True),
}


@pytest.mark.parametrize(("view", "asked"), ASKING.values(), ids=ASKING)
def test_when_the_api_is_asked_for_the_lease(view: NodeView, asked: bool) -> None:  # noqa: FBT001  a column
    assert must_ask(view) is asked


def test_one_whose_every_condition_is_unknown_is_left_alone() -> None:
    node = a_node()
    lost = replace(node, status=replace(node.status, conditions=lost_conditions(node, NOW)))
    view = a_view(lost, 0)
    assert not must_ask(view)
    assert not any(isinstance(step, LookAgain) for step in decide(view).steps)


def test_a_lost_node() -> None:
    update, told = decide(a_view(a_node(), 60, 85, 100)).steps
    assert isinstance(update, UpdateNode)
    assert isinstance(told, Emit)
    assert update.conditions is not None
    assert {each.type for each in update.conditions} == set(TYPES)
    for each in update.conditions:
        assert (each.status, each.reason) == ("Unknown", "NodeStatusUnknown")
        assert each.message == "Kubelet stopped posting node status."
        assert (each.last_heartbeat_time, each.last_transition_time) == (BORN, NOW)
    assert names(update.taints) == {"unreachable:NoSchedule"}
    assert told.message == "Node n1 status is now: NodeNotReady"


def test_one_that_never_spoke() -> None:
    (update,) = decide(a_view(a_node(""), 30, 75, 100)).steps
    assert isinstance(update, UpdateNode)
    assert update.conditions is not None
    for each in update.conditions:
        assert (each.status, each.reason) == ("Unknown", "NodeStatusNeverUpdated")
        assert each.message == "Kubelet never posted node status."
        assert each.last_heartbeat_time == BORN


NOT_READY_BOTH = ("not-ready:NoSchedule", "not-ready:NoExecute")
UNREACHABLE_BOTH = ("unreachable:NoSchedule", "unreachable:NoExecute")
TAINTS: dict[str, tuple[Node, dict[str, bool], set[str] | None]] = {
    "a ready node has none": (a_node(), {}, None),
    "a ready node loses all of them at once": (a_node(taints=UNREACHABLE_BOTH), {}, set()),
    "what others put there stays": (
        a_node(taints=("out-of-service:NoExecute", *NOT_READY_BOTH)),
        {},
        {"out-of-service:NoExecute"},
    ),
    "not ready: new pods stay away at once": (a_node("False"), {}, {"not-ready:NoSchedule"}),
    "not ready, and its turn": (a_node("False"), {"may_evict": True}, set(NOT_READY_BOTH)),
    "lost, and its turn": (a_node("Unknown"), {"may_evict": True}, set(UNREACHABLE_BOTH)),
    "not ready becomes lost: swapped without a turn": (
        a_node("Unknown", NOT_READY_BOTH),
        {},
        set(UNREACHABLE_BOTH),
    ),
    "lost becomes not ready: likewise": (
        a_node("False", UNREACHABLE_BOTH),
        {},
        set(NOT_READY_BOTH),
    ),
    "no node is ready: nobody is emptied": (
        a_node("Unknown", UNREACHABLE_BOTH),
        {"has_ready_nodes": False, "may_evict": True},
        {"unreachable:NoSchedule"},
    ),
    "cordoned": (a_node(unschedulable=True), {}, {"unschedulable:NoSchedule"}),
    "as it should be": (a_node("Unknown", UNREACHABLE_BOTH), {}, None),
    "never spoke": (a_node(""), {"may_evict": True}, None),
    "it has left: everything may move at once": (
        left(a_node()),
        {},
        {"not-ready:NoSchedule", "out-of-service:NoExecute"},
    ),
    "it has left, and no other node is ready": (
        left(a_node()),
        {"has_ready_nodes": False},
        {"not-ready:NoSchedule"},
    ),
    "it has left and come back": (
        a_node(taints=("out-of-service=left:NoExecute", "not-ready:NoSchedule")),
        {},
        set(),
    ),
    "somebody's word stays": (
        left(a_node(taints=("out-of-service=nodeshutdown:NoExecute",))),
        {},
        {"not-ready:NoSchedule", "out-of-service:NoExecute"},
    ),
}


@pytest.mark.parametrize(("node", "given", "then"), TAINTS.values(), ids=TAINTS)
def test_taints(node: Node, given: dict[str, bool], then: set[str] | None) -> None:
    steps = decide(a_view(node, **given)).steps
    updates = [step for step in steps if isinstance(step, UpdateNode)]
    assert (names(updates[0].taints) if updates else None) == then


def test_new_taints_say_when_they_came_and_old_ones_keep_it() -> None:
    node = a_node("Unknown", ("unreachable:NoSchedule",))
    (update, *_) = decide(a_view(node, may_evict=True)).steps
    assert isinstance(update, UpdateNode)
    assert update.taints is not None
    assert [taint.time_added for taint in update.taints] == [None, NOW]


TURNS = {
    "ready": (a_view(a_node()), False),
    "never spoke": (a_view(a_node("")), False),
    "not ready": (a_view(a_node("False")), True),
    "lost": (a_view(a_node("Unknown")), True),
    "emptied already": (a_view(a_node("Unknown", UNREACHABLE_BOTH)), False),
    "emptied for the other reason": (a_view(a_node("Unknown", NOT_READY_BOTH)), False),
    "no node is ready": (a_view(a_node("Unknown"), has_ready_nodes=False), False),
}


@pytest.mark.parametrize(("view", "needed"), TURNS.values(), ids=TURNS)
def test_who_waits_for_a_turn(view: NodeView, needed: bool) -> None:  # noqa: FBT001  a column
    assert needs_turn(view) is needed


def test_pods_of_a_lost_node_are_not_ready() -> None:
    steps = decide(a_view(a_node("Unknown"), ready_pods=(a_pod(),))).steps
    marked = [step for step in steps if isinstance(step, MarkPodNotReady)]
    told = [step for step in steps if isinstance(step, Emit)]
    assert [(c.status, c.last_transition_time) for c in marked[0].conditions] == [("False", NOW)]
    assert (told[0].type.value, told[0].reason, told[0].message) == (
        "Warning",
        "NodeNotReady",
        "Node is not ready",
    )


def test_pods_of_a_node_that_speaks_are_its_own_to_tell_of() -> None:
    steps = decide(a_view(a_node("False"), ready_pods=(a_pod(),))).steps
    assert not any(isinstance(step, MarkPodNotReady) for step in steps)


seconds = st.floats(0, 200)


@given(
    ready=st.sampled_from(["", "True", "False", "Unknown"]),
    since=seconds,
    first=st.none() | seconds,
    last=st.none() | seconds,
    may_evict=st.booleans(),
    has_ready_nodes=st.booleans(),
)
def test_what_was_written_needs_no_second_write(
    ready: str,
    since: float,
    first: float | None,
    last: float | None,
    may_evict: bool,  # noqa: FBT001  drawn
    has_ready_nodes: bool,  # noqa: FBT001  drawn
) -> None:
    """And a node whose silence was not confirmed for the whole grace is never condemned."""
    view = a_view(
        a_node(ready),
        now=200.0,
        silence=Silence(since, first, last),
        may_evict=may_evict,
        has_ready_nodes=has_ready_nodes,
    )
    updates = [step for step in decide(view).steps if isinstance(step, UpdateNode)]
    for update in updates:
        if update.conditions is not None:
            assert last is not None
            assert first is not None
            assert last - since >= view.grace
            assert last - first >= view.between_asking
        node = view.node
        spec = node.spec if update.taints is None else replace(node.spec, taints=update.taints)
        status = node.status
        if update.conditions is not None:
            status = replace(status, conditions=update.conditions)
        after = replace(view, node=replace(node, spec=spec, status=status), may_evict=False)
        if may_evict and update.conditions is None:
            after = replace(after, may_evict=True)
        assert not any(isinstance(step, UpdateNode) for step in decide(after).steps)
