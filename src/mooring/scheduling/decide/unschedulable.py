"""Nodes that are closed to new pods (`kubectl cordon`)."""

from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.taint import Taint, TaintEffect, is_tolerated
from mooring.scheduling.decide.contract import Change, Opinion, Refused, Rule
from mooring.scheduling.view import NodeView, Picture

CLOSED = Refused(("node(s) were unschedulable",))
AS_TAINT = Taint("node.kubernetes.io/unschedulable", TaintEffect.NO_SCHEDULE)


def look_at(picture: Picture) -> Opinion:
    return None if is_tolerated(AS_TAINT, picture.pod.spec.tolerations) else _check


def _check(node: NodeView) -> Refused | None:
    return CLOSED if node.node.spec.unschedulable else None


def is_woken(_: Pod, change: Change) -> bool:
    """A node came that is open, or one has been opened."""
    before, after = change.before, change.after
    if not isinstance(after, Node) or after.spec.unschedulable:
        return False
    return not isinstance(before, Node) or before.spec.unschedulable


RULE = Rule("NodeUnschedulable", look_at, is_woken)
