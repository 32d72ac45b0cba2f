"""Taints keep away the pods that do not tolerate them; mild ones only make a node less liked."""

from functools import partial

from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.taint import TaintEffect, find_untolerated, is_tolerated
from mooring.scheduling.decide.contract import Change, Opinion, Refused, Rule
from mooring.scheduling.view import NodeView, Picture

UNTOLERATED = Refused(("node(s) had untolerated taint(s)",))


def look_at(picture: Picture) -> Opinion:
    return partial(_check, picture.pod)


def _check(pod: Pod, node: NodeView) -> Refused | None:
    return None if _tolerates(pod, node.node) else UNTOLERATED


def _tolerates(pod: Pod, node: Node) -> bool:
    return find_untolerated(node.spec.taints, pod.spec.tolerations) is None


def count_disliked(pod: Pod, node: NodeView) -> int:
    """How many taints of the node would rather not have the pod there."""
    return sum(
        1
        for taint in node.node.spec.taints
        if taint.effect == TaintEffect.PREFER_NO_SCHEDULE
        and not is_tolerated(taint, pod.spec.tolerations)
    )


def is_woken(pod: Pod, change: Change) -> bool:
    """A node came that the pod tolerates, or has lost the taints that it did not."""
    before, after = change.before, change.after
    if not isinstance(after, Node) or not _tolerates(pod, after):
        return False
    return not isinstance(before, Node) or not _tolerates(pod, before)


RULE = Rule("TaintToleration", look_at, is_woken)
