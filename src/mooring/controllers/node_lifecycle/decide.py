"""When a node is lost, and which conditions and taints it has then.

A node is lost when nothing was heard of it for the grace period, and the API has said so twice: its
Lease is read once before the end of the grace, and once more at the end. So an outage of the API
server, during which no node can renew its Lease, condemns nobody.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from mooring.controllers.node_lifecycle.plan import (
    LookAgain,
    MarkPodNotReady,
    Plan,
    Step,
    UpdateNode,
)
from mooring.controllers.node_lifecycle.view import READY, NodeView
from mooring.model.condition import Condition, find_condition, is_condition_true, set_condition
from mooring.model.event import EventType
from mooring.model.node import LEFT_VALUE, Node
from mooring.model.pod import Pod
from mooring.model.steps import Emit, plan
from mooring.model.taint import Taint, TaintEffect
from mooring.model.wellknown import TaintKey

UNKNOWN, TRUE = "Unknown", "True"
OF_THE_KUBELET = (READY, "MemoryPressure", "DiskPressure", "PIDPressure")
STOPPED = ("NodeStatusUnknown", "Kubelet stopped posting node status.")
NEVER = ("NodeStatusNeverUpdated", "Kubelet never posted node status.")

NOT_READY = "NodeNotReady"

READY_TAINTS = {"False": TaintKey.NOT_READY, UNKNOWN: TaintKey.UNREACHABLE}
CONDITION_TAINTS = {
    "MemoryPressure": TaintKey.MEMORY_PRESSURE,
    "DiskPressure": TaintKey.DISK_PRESSURE,
    "PIDPressure": TaintKey.PID_PRESSURE,
    "NetworkUnavailable": TaintKey.NETWORK_UNAVAILABLE,
}
OURS_NO_EXECUTE = frozenset(READY_TAINTS.values())
OURS_NO_SCHEDULE = OURS_NO_EXECUTE | {*CONDITION_TAINTS.values(), TaintKey.UNSCHEDULABLE}


def must_ask(view: NodeView) -> bool:
    """Whether its Lease is to be read from the API before anything is decided."""
    if not _may_be_condemned(view):
        return False
    silence = view.silence
    if silence.first_asked is None or silence.last_asked is None:
        return view.silent_for >= view.grace - view.between_asking
    is_due = view.silent_for >= view.grace and _asked_for(view) >= view.between_asking
    return is_due and not _is_confirmed(view)


def needs_turn(view: NodeView) -> bool:
    """Whether the node is to be emptied, as soon as its zone allows it."""
    wanted = READY_TAINTS.get(view.ready)
    return wanted is not None and view.has_ready_nodes and not _is_emptied(view.node)


def decide(view: NodeView) -> Plan:
    node = view.node
    if _may_be_condemned(view) and _is_confirmed(view):
        conditions = lost_conditions(node, view.wall)
        lost = replace(node, status=replace(node.status, conditions=conditions))
        taints = _changed_taints(replace(view, node=lost, may_evict=False))
        told = _told_of(view) if view.ready == TRUE else ()
        return plan("nothing was heard of it", UpdateNode(node, conditions, taints), *told)
    steps: list[Step] = []
    taints = _changed_taints(view)
    if taints is not None:
        steps.append(UpdateNode(node, taints=taints))
    if view.ready == UNKNOWN:
        steps += _mark_pods(view)
    if _may_be_condemned(view):
        steps.append(LookAgain(_next_look(view)))
    return plan(f"it is {view.ready or 'without a word'}", *steps)


def lost_conditions(node: Node, now: str) -> tuple[Condition, ...]:
    """What a lost node is said to be: nobody knows."""
    conditions = node.status.conditions
    for kind in OF_THE_KUBELET:
        present = find_condition(conditions, kind)
        if present is None:
            reason, message = NEVER
            born = node.metadata.creation_timestamp
            wanted = Condition(kind, UNKNOWN, reason, message, last_heartbeat_time=born)
        elif present.status == UNKNOWN:
            continue
        else:
            reason, message = STOPPED
            wanted = replace(present, status=UNKNOWN, reason=reason, message=message)
        conditions = set_condition(conditions, wanted, now)
    return conditions


# how long it has been silent


def _may_be_condemned(view: NodeView) -> bool:
    """Whether there is anything to say about a silent node; one that has left is meant to be."""
    if view.node.has_left:
        return False
    present = (find_condition(view.node.status.conditions, kind) for kind in OF_THE_KUBELET)
    return any(each is None or each.status != UNKNOWN for each in present)


def _is_confirmed(view: NodeView) -> bool:
    asked = view.silence.last_asked
    return (
        asked is not None
        and asked - view.silence.since >= view.grace
        and _asked_for(view, asked) >= view.between_asking
    )


def _asked_for(view: NodeView, until: float | None = None) -> float:
    """Seconds since the API was first asked during this silence."""
    first = view.silence.first_asked
    return 0.0 if first is None else (view.now if until is None else until) - first


def _next_look(view: NodeView) -> float:
    if view.silence.first_asked is None:
        return max(view.grace - view.between_asking - view.silent_for, 0.0)
    at_end = view.grace - view.silent_for
    return max(at_end, view.between_asking - _asked_for(view), 0.0)


# taints


def _changed_taints(view: NodeView) -> tuple[Taint, ...] | None:
    """All taints of the node as they should be; None: as they are."""
    had = view.node.spec.taints
    wanted = [(key, TaintEffect.NO_SCHEDULE) for key in _no_schedule(view.node)]
    wanted += [(key, TaintEffect.NO_EXECUTE) for key in _no_execute(view)]
    kept = [each for each in had if not _is_ours(each) or (each.key, each.effect) in wanted]
    there = {(each.key, each.effect) for each in kept}
    new = [
        Taint(key, effect, _value(key), time_added=view.wall)
        for key, effect in wanted
        if (key, effect) not in there
    ]
    changed = (*kept, *new)
    return None if changed == had else changed


def _no_schedule(node: Node) -> Iterator[str]:
    conditions = node.status.conditions
    ready = find_condition(conditions, READY)
    if ready is not None and ready.status in READY_TAINTS:
        yield READY_TAINTS[ready.status]
    for kind, key in CONDITION_TAINTS.items():
        if is_condition_true(conditions, kind):
            yield key
    if node.spec.unschedulable:
        yield TaintKey.UNSCHEDULABLE


def _no_execute(view: NodeView) -> Iterator[str]:
    """A cluster without a ready node empties none: its pods have nowhere to go."""
    ready = find_condition(view.node.status.conditions, READY)
    wanted = None if ready is None else READY_TAINTS.get(ready.status)
    if wanted is None or not view.has_ready_nodes:
        return
    if view.may_evict or _is_emptied(view.node):
        yield wanted
    if view.node.has_left:
        yield TaintKey.OUT_OF_SERVICE


def _value(key: str) -> str:
    return LEFT_VALUE if key == TaintKey.OUT_OF_SERVICE else ""


def _is_emptied(node: Node) -> bool:
    return any(
        taint.effect == TaintEffect.NO_EXECUTE and taint.key in OURS_NO_EXECUTE
        for taint in node.spec.taints
    )


def _is_ours(taint: Taint) -> bool:
    match taint.effect:
        case TaintEffect.NO_SCHEDULE:
            return taint.key in OURS_NO_SCHEDULE
        case TaintEffect.NO_EXECUTE if taint.key == TaintKey.OUT_OF_SERVICE:
            return taint.value == LEFT_VALUE  # any other is somebody's word, and stays
        case TaintEffect.NO_EXECUTE:
            return taint.key in OURS_NO_EXECUTE
        case _:
            return False


# what is told


def _told_of(view: NodeView) -> Iterator[Step]:
    node = view.node
    words = f"Node {node.name} status is now: {NOT_READY}"
    yield Emit(node, EventType.NORMAL, NOT_READY, words)


def _mark_pods(view: NodeView) -> Iterator[Step]:
    for pod in view.ready_pods:
        yield MarkPodNotReady(pod, _unready(pod, view.wall))
        yield Emit(pod, EventType.WARNING, NOT_READY, "Node is not ready")


def _unready(pod: Pod, now: str) -> tuple[Condition, ...]:
    ready = find_condition(pod.status.conditions, READY)
    if ready is None:
        return pod.status.conditions
    return set_condition(pod.status.conditions, replace(ready, status="False"), now)
