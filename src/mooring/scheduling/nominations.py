"""Pods to which a node was promised, whose place is not theirs yet: its pods have to end first.

The room is kept for them: a pod of no higher priority sees them on their nodes already.
"""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.scheduling.decide.occupancy import joined_by
from mooring.scheduling.view import NodeView


class Nominations:
    def __init__(self) -> None:
        self._pods: dict[Key, Pod] = {}  # as if they were on their nodes

    def promise(self, pod: Pod, node: str) -> None:
        self._pods[pod.key] = replace(pod, spec=replace(pod.spec, node_name=node))

    def withdraw(self, key: Key) -> Pod | None:
        """The pod, as if it were on the node that it was promised."""
        return self._pods.pop(key, None)

    def learn(self, old: Pod | None, new: Pod | None) -> Pod | None:
        """What the API says of a pod; a promise that is not written yet stands.

        Returns the pod as if it were on the node that it is promised no longer.
        """
        known = new or old
        if known is None:
            return None
        before = self._pods.get(known.key)
        if new is None or new.is_scheduled:
            self.withdraw(known.key)
        elif new.status.nominated_node_name:
            self.promise(new, new.status.nominated_node_name)
        elif old is not None and old.status.nominated_node_name:
            self.withdraw(new.key)
        after = self._pods.get(known.key)
        is_kept = before and after and before.spec.node_name == after.spec.node_name
        return None if is_kept else before

    def outranked(self, pod: Pod, node: str) -> list[Pod]:
        """Those of lower priority that were promised the same node."""
        return [
            other
            for other in self._pods.values()
            if other.spec.node_name == node
            and other.key != pod.key
            and other.spec.priority < pod.spec.priority
        ]

    def seen_by(self, pod: Pod, nodes: Sequence[NodeView]) -> Sequence[NodeView]:
        """The nodes, with the pods on them that this one may not take the place of."""
        rivals: dict[str, list[Pod]] = {}
        for other in self._pods.values():
            if other.key != pod.key and other.spec.priority >= pod.spec.priority:
                rivals.setdefault(other.spec.node_name, []).append(other)
        if not rivals:
            return nodes
        return [
            joined_by(node, _absent(node, rivals[node.name])) if node.name in rivals else node
            for node in nodes
        ]


def _absent(node: NodeView, pods: Iterable[Pod]) -> list[Pod]:
    return [pod for pod in pods if pod.key not in node.pods]
