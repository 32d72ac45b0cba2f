"""Which of the nodes that will do is the best.

The weights are upstream's: mild taints first, then what the pod would like, then room. What is
still equal goes to the node with the fewest pods, then to the first by name.
"""

from collections.abc import Sequence

from mooring.model.pod import Pod
from mooring.scheduling.decide.affinity import preference
from mooring.scheduling.decide.requests import demand_of
from mooring.scheduling.decide.taints import count_disliked
from mooring.scheduling.view import Demand, NodeView

MOST = 100
TAINTS, AFFINITY, ROOM = 3, 2, 1  # weights


def best_node(pod: Pod, nodes: Sequence[NodeView]) -> NodeView:
    """`nodes` holds at least one."""
    if len(nodes) == 1:
        return nodes[0]
    disliked = _scaled([count_disliked(pod, node) for node in nodes])
    liked = _scaled([preference(pod, node) for node in nodes])
    demand = demand_of(pod)
    ranks = [
        (
            TAINTS * (MOST - bad) + AFFINITY * good + ROOM * room_left(demand, node),
            -len(node.pods),
        )
        for bad, good, node in zip(disliked, liked, nodes, strict=True)
    ]
    highest = max(ranks)
    tied = (node for rank, node in zip(ranks, nodes, strict=True) if rank == highest)
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
