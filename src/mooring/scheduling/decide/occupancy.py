"""A node as it would be with some pods less, or some more."""

from collections.abc import Collection, Iterable

from msgspec.structs import replace

from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.scheduling.decide.in_tree import disks_of
from mooring.scheduling.decide.pod_affinity import wishes_distance
from mooring.scheduling.decide.requests import demand_of
from mooring.scheduling.view import Demand, NodeView


def without(node: NodeView, gone: Collection[Key]) -> NodeView:
    """`gone` are pods of the node."""
    taken = node.taken
    for key in gone:
        demand = demand_of(node.pods[key])
        taken = Demand(taken.asked.minus(demand.asked), taken.assumed.minus(demand.assumed))
    left = {key: pod for key, pod in node.pods.items() if key not in gone}
    return replace(
        node,
        pods=left,
        claims=frozenset(claim for pod in left.values() for claim in pod.claim_keys()),
        disks=tuple(disk for pod in left.values() for disk in disks_of(pod)),
        distant=node.distant & left.keys(),
        taken=taken,
    )


def joined_by(node: NodeView, pods: Iterable[Pod]) -> NodeView:
    """`pods` are not on the node yet."""
    taken, claims, disks, present = node.taken, set(node.claims), list(node.disks), dict(node.pods)
    for pod in pods:
        demand = demand_of(pod)
        taken = Demand(taken.asked.plus(demand.asked), taken.assumed.plus(demand.assumed))
        claims.update(pod.claim_keys())
        disks.extend(disks_of(pod))
        present[pod.key] = pod
    return replace(
        node,
        pods=present,
        claims=frozenset(claims),
        disks=tuple(disks),
        distant=frozenset(key for key, pod in present.items() if wishes_distance(pod)),
        taken=taken,
    )
