"""A node has room for so many pods, and so much cpu, memory and disk to give them."""

from functools import partial

from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.scheduling.decide.contract import Change, Opinion, Refused, Rule
from mooring.scheduling.decide.requests import allocatable_of, demand_of
from mooring.scheduling.view import Amounts, Demand, NodeView, Picture

TOO_MANY_PODS = "Too many pods"


def look_at(picture: Picture) -> Opinion:
    return partial(_check, demand_of(picture.pod))


def _check(demand: Demand, node: NodeView) -> Refused | None:
    reasons: list[str] = []
    is_too_large = False  # even if it had the node for itself
    if len(node.pods) + 1 > node.most_pods:
        reasons.append(TOO_MANY_PODS)
    has, taken = node.allocatable, node.taken.asked
    for name, asked, size, used in _compared(demand.asked, has, taken):
        if asked > size - used:
            reasons.append(f"Insufficient {name}")
            is_too_large = is_too_large or asked > size
    return Refused(tuple(reasons), yields=not is_too_large) if reasons else None


def _compared(asked: Amounts, has: Amounts, taken: Amounts) -> list[tuple[str, int, int, int]]:
    """What is asked for at all, beside what there is of it and what is taken."""
    known = [
        ("cpu", asked.cpu_milli, has.cpu_milli, taken.cpu_milli),
        ("memory", asked.memory, has.memory, taken.memory),
        ("ephemeral-storage", asked.ephemeral, has.ephemeral, taken.ephemeral),
    ]
    others = asked.others.items()
    known += [(n, amount, has.others.get(n, 0), taken.others.get(n, 0)) for n, amount in others]
    return [row for row in known if row[1]]


def is_woken(pod: Pod, change: Change) -> bool:
    """A pod left its node or asks for less, a node came or grew."""
    match change:
        case Change(Pod() as left, None):
            return left.is_scheduled
        case Change(Pod() as before, Pod() as after):
            return after.is_scheduled and has_shrunk(before, after)
        case Change(None, Node() as node):
            return _fits_empty(pod, node)
        case Change(Node() as before, Node() as after):
            return _fits_empty(pod, after) and before.status.allocatable != after.status.allocatable
        case _:
            return False


def has_shrunk(before: Pod, after: Pod) -> bool:
    if before.spec == after.spec:
        return False
    return any(asked < had for _, had, asked, _ in _both(before, after))


def _both(before: Pod, after: Pod) -> list[tuple[str, int, int, int]]:
    return _compared(demand_of(before).asked, demand_of(after).asked, Amounts())


def _fits_empty(pod: Pod, node: Node) -> bool:
    has, most_pods = allocatable_of(node.status.allocatable)
    empty = NodeView(node=node, allocatable=has, most_pods=most_pods)
    return _check(demand_of(pod), empty) is None


RULE = Rule("NodeResourcesFit", look_at, is_woken)
