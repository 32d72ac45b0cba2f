"""One step of a rollout: the new replica set grows, the old ones shrink.

Always true of a rolling update:

- There are never more pods than `replicas + maxSurge`, unless there were before.
- No pod goes that is needed for `replicas - maxUnavailable` available ones. A replica set that was
  told to shrink counts with the pods that it will keep, not with those that it still has.
"""

from collections.abc import Iterable, Mapping

from mooring.controllers.deployment.decide.limits import least_available, most_pods
from mooring.controllers.deployment.decide.scaling import scaled
from mooring.controllers.deployment.decide.sets import Sets, lasting_pods, wanted_pods
from mooring.controllers.deployment.plan import ScaleSet
from mooring.model.deployment import Deployment
from mooring.model.replica_set import ReplicaSet


def first_size(deployment: Deployment, sets: Sets) -> int:
    """With how many pods a new replica set begins, in a rolling update."""
    room = most_pods(deployment) - wanted_pods(sets.all)
    return max(min(room, deployment.spec.replicas), 0)


def grow(deployment: Deployment, sets: Sets, new: ReplicaSet) -> list[ScaleSet]:
    """The new replica set gets as many pods as fit beside the old ones."""
    wanted, size = deployment.spec.replicas, new.spec.replicas
    if size == wanted:
        return []
    if size > wanted:
        return scaled(deployment, new, wanted)
    room = most_pods(deployment) - wanted_pods(sets.all)
    if room <= 0:
        return []
    return scaled(deployment, new, size + min(room, wanted - size))


def shrink(deployment: Deployment, sets: Sets, new: ReplicaSet) -> list[ScaleSet]:
    """Old pods that are not available go first, then as many as are not needed."""
    old = sets.active_old
    least = least_available(deployment)
    may_go = wanted_pods(sets.all) - least - (new.spec.replicas - lasting_pods(new))
    if not old or may_go <= 0:
        return []
    sizes_by_name = {each.name: each.spec.replicas for each in old}
    _take(sizes_by_name, {each.name: _unavailable(each) for each in old}, may_go)
    lasting = {each.name: min(lasting_pods(each), sizes_by_name[each.name]) for each in old}
    spare = sum(lasting.values()) + lasting_pods(new) - least
    _take(sizes_by_name, dict(sizes_by_name), spare)
    return _resized(deployment, old, sizes_by_name)


def empty(deployment: Deployment, sets: Sets) -> list[ScaleSet]:
    """All old replica sets go at once: `Recreate`."""
    return _resized(deployment, sets.active_old, {each.name: 0 for each in sets.active_old})


def has_old_pods(sets: Sets, unfinished: Mapping[str, int]) -> bool:
    """Whether a pod of an old replica set may still be writing, terminating ones among them."""
    return any(each.status.replicas or unfinished.get(each.uid) for each in sets.old)


def _unavailable(each: ReplicaSet) -> int:
    return each.spec.replicas - lasting_pods(each)


def _take(sizes: dict[str, int], most: Mapping[str, int], count: int) -> None:
    """Take `count` away, from the oldest on, of each at most so many."""
    for name, at_most in most.items():
        taken = max(min(at_most, count), 0)
        sizes[name] -= taken
        count -= taken


def _resized(
    deployment: Deployment, sets: Iterable[ReplicaSet], sizes: Mapping[str, int]
) -> list[ScaleSet]:
    changed = (each for each in sets if sizes[each.name] != each.spec.replicas)
    return [step for each in changed for step in scaled(deployment, each, sizes[each.name])]
