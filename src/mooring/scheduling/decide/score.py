"""Which of the nodes that will do is the best.

The weights are upstream's: mild taints first, then what the pod would like, then room, on the node
and for its volumes. What is
still equal goes to the node with the fewest pods, then to the first by name.
"""

from collections.abc import Sequence

import msgspec

from mooring.model.pod import Pod
from mooring.scheduling.decide.affinity import preference
from mooring.scheduling.decide.requests import demand_of
from mooring.scheduling.decide.taints import count_disliked
from mooring.scheduling.view import Demand, NodeView

MOST = 100
TAINTS, AFFINITY, ROOM, STORAGE = 3, 2, 1, 1  # weights


class Merits(msgspec.Struct, frozen=True):
    """What speaks for a node, and against it, before nodes are compared."""

    disliked: int
    liked: int
    room: int
    storage: int = 0  # room for its volumes


def merits_of(pod: Pod, node: NodeView) -> Merits:
    room = room_left(demand_of(pod), node)
    return Merits(count_disliked(pod, node), preference(pod, node), room)


def is_each_by_itself(nodes: Sequence[tuple[NodeView, Merits]]) -> bool:
    """Whether the order of `by_merit` is theirs: likes and dislikes go by those of the others."""
    return all(merits.disliked == 0 == merits.liked for _, merits in nodes)


def by_merit(node: tuple[NodeView, Merits]) -> tuple[int, int, str]:
    """The best first, where nobody likes or dislikes anything."""
    return -node[1].room, len(node[0].pods), node[0].name


def best_of(nodes: Sequence[tuple[NodeView, Merits]]) -> NodeView:
    """`nodes` holds at least one."""
    disliked = _scaled([merits.disliked for _, merits in nodes])
    liked = _scaled([merits.liked for _, merits in nodes])
    ranks = [
        (
            TAINTS * (MOST - bad) + AFFINITY * good + ROOM * merits.room + STORAGE * merits.storage,
            -len(node.pods),
        )
        for bad, good, (node, merits) in zip(disliked, liked, nodes, strict=True)
    ]
    highest = max(ranks)
    tied = (node for rank, (node, _) in zip(ranks, nodes, strict=True) if rank == highest)
    return min(tied, key=lambda node: node.name)


def _scaled(counts: Sequence[int]) -> list[int]:
    """The highest becomes 100."""
    highest = max(counts)
    return [MOST * count // highest if highest else 0 for count in counts]


def room_left(demand: Demand, node: NodeView) -> int:
    """How much of its cpu and memory the node would still have, out of 100."""
    has, taken = node.allocatable, node.taken.assumed.plus(demand.assumed)
    shares = [
        _share_left(used, size)
        for used, size in ((taken.cpu_milli, has.cpu_milli), (taken.memory, has.memory))
        if size
    ]
    return sum(shares) // len(shares) if shares else 0


def _share_left(used: int, size: int) -> int:
    return 0 if used > size else (size - used) * MOST // size
