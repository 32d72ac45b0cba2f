"""Pods counted by place: a place is all nodes that have the same value of one label."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable

from mooring.model.pod import Pod
from mooring.scheduling.view import NodeView, Picture

Place = tuple[str, str]
"""(the label of nodes, its value)"""

PlacesOf = Callable[[Pod, NodeView], Iterable[Place]]
"""The places in which a pod of a node counts."""


def all_pods(node: NodeView) -> Iterable[Pod]:
    return node.pods.values()


class PlaceCounts:
    """How many pods count in each place; a node may be looked at as it would be without some."""

    def __init__(
        self,
        picture: Picture,
        places_of: PlacesOf,
        among: Callable[[NodeView], Iterable[Pod]],
        question: Hashable | None,
    ) -> None:
        """`among` are the pods of a node that come into question.

        `question` decides, together with the view of a node, what is counted there: what was
        counted for an equal one is not counted anew. None: something else decides, too.
        """
        self._places_of = places_of
        self._among = among
        self._nodes = {node.name: node for node in picture.nodes}
        self._by_node = self._count_all(picture, question)
        self._all: Counter[Place] = Counter()
        for counts in self._by_node.values():
            if counts:
                self._all.update(counts)

    @property
    def is_empty(self) -> bool:
        return not self._all

    def seen_from(self, node: NodeView) -> Counter[Place]:
        """All places, with this node as it is given."""
        if self._nodes.get(node.name) is node:
            return self._all
        changed = Counter(self._all)
        changed.subtract(self._by_node.get(node.name, Counter()))
        changed.update(self._count(node))
        return changed

    def _count_all(self, picture: Picture, question: Hashable | None) -> dict[str, Counter[Place]]:
        if picture.counted is None or question is None:
            return {node.name: self._count(node) for node in picture.nodes}
        known = picture.counted.answers(question, len(picture.nodes))
        for node in picture.nodes:
            remembered = known.get(node.name)
            if remembered is None or remembered[0] is not node:
                known[node.name] = node, self._count(node)
        return {node.name: known[node.name][1] for node in picture.nodes}

    def _count(self, node: NodeView) -> Counter[Place]:
        counts: Counter[Place] = Counter()
        for pod in self._among(node):
            counts.update(self._places_of(pod, node))
        return counts
