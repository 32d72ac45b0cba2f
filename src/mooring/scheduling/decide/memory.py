"""What was found out about one node, remembered per node: what the rules that look at nothing but
a pod's spec and a node said, and how many of its pods others choose.

Pods of one template ask the same of a node, and a node that has not changed answers the same. A
view of a node is made anew whenever anything on the node changes: so an answer holds for as long as
the view is the very same one. Always true: with a memory, the verdict is what it is without.
"""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

import msgspec

from mooring.model.pod import Pod
from mooring.scheduling.decide.ports import host_ports
from mooring.scheduling.decide.requests import demand_of
from mooring.scheduling.view import NodeView

A = TypeVar("A")

MOST_SHAPES = 64  # of pods, of which the answers of every node are kept

PodShape = bytes


def pod_shape(pod: Pod) -> PodShape:
    """Equal for pods that ask the same of a node, apart from volumes and other pods."""
    spec = pod.spec
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    wanted = (spec.tolerations, spec.node_selector, affinity, spec.node_name)
    return msgspec.json.encode((wanted, demand_of(pod), host_ports(pod)))


class Memory(Generic[A]):
    """Answers by shape of pod, or whatever else decides what is asked; then by node."""

    def __init__(self) -> None:
        self._shapes: OrderedDict[Hashable, dict[str, tuple[NodeView, A]]] = OrderedDict()

    def answers(self, shape: Hashable, nodes: int) -> dict[str, tuple[NodeView, A]]:
        """Of all nodes to pods of this shape: look whether the view is the same, else fill in."""
        known = self._shapes.get(shape)
        if known is None:
            known = self._shapes[shape] = {}
            if len(self._shapes) > MOST_SHAPES:
                self._shapes.popitem(last=False)
        else:
            self._shapes.move_to_end(shape)
        if len(known) > 2 * nodes:
            known.clear()  # of nodes that are gone
        return known
