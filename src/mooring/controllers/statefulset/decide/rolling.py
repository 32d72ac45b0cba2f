"""Rolling updates: pods of another revision are deleted, and made anew by the next pass.

From the highest number down to the partition, and never more at once than may be unavailable.
"""

from collections.abc import Mapping, Sequence

from mooring.controllers.owned_pods.plan import DeletePod
from mooring.controllers.statefulset.plan import Stage
from mooring.controllers.statefulset.view import Member, StatefulSetView
from mooring.model.stateful_set import StatefulSet, UpdateType


def decide_rolling(view: StatefulSetView, members: Mapping[int, Member], update: str) -> Stage:
    """Before: all wanted pods were made, or are in this plan."""
    set_ = view.set
    strategy = set_.spec.update_strategy
    if strategy.type is not UpdateType.ROLLING_UPDATE:
        return Stage()
    rolling, wanted = strategy.rolling_update, set_.ordinals
    partition = 0 if rolling is None else rolling.partition
    targets = [n for n in reversed(wanted) if n >= wanted.start + partition]
    if rolling is None or rolling.max_unavailable is None:
        return _one_by_one(set_, members, targets, update)
    return _several(set_, members, targets, update, rolling.max_unavailable)


def _one_by_one(
    set_: StatefulSet, members: Mapping[int, Member], targets: Sequence[int], update: str
) -> Stage:
    for ordinal in targets:
        member = members.get(ordinal)
        if member is None:
            return Stage(f"pod {set_.pod_name(ordinal)} is made")
        if member.revision != update and not member.is_leaving:
            because = f"pod {member.pod.name} has another revision"
            return Stage(because, (DeletePod(set_, member.pod),))
        if not member.is_healthy:
            return Stage(f"pod {member.pod.name} is not available yet")
    return Stage()


def _several(
    set_: StatefulSet,
    members: Mapping[int, Member],
    targets: Sequence[int],
    update: str,
    most: int | str,
) -> Stage:
    """As many at once as may be unavailable; without an order, the unhealthy go first."""
    found = [members.get(ordinal) for ordinal in set_.ordinals]
    unavailable = sum(member is None or not member.is_healthy for member in found)
    old = [
        member
        for ordinal in targets
        if (member := members.get(ordinal)) is not None
        and member.revision != update
        and not member.is_leaving
    ]
    broken = [] if set_.is_ordered else [member for member in old if not member.is_available]
    budget = max(0, most_unavailable(most, set_.spec.replicas) - unavailable)
    going = [*broken, *[member for member in old if member.is_available][:budget]]
    if not going:
        return Stage(f"{unavailable} pods are not available") if old else Stage()
    steps = tuple(DeletePod(set_, member.pod) for member in going)
    return Stage(f"pod {going[0].pod.name} has another revision", steps)


def most_unavailable(most: int | str, replicas: int) -> int:
    """A percentage is rounded down; one may always be unavailable."""
    if isinstance(most, str):
        most = int(most.removesuffix("%")) * replicas // 100
    return max(1, most)
