"""The status of a stateful set: how many pods there are, how they are, what they are made from."""

from collections.abc import Iterable

import msgspec

from mooring.controllers.revisions.decide import History
from mooring.controllers.statefulset.decide.growth import CLAIMS_GROWN
from mooring.controllers.statefulset.decide.pods import current_revision
from mooring.controllers.statefulset.view import Member, StatefulSetView
from mooring.model.condition import Condition, set_condition
from mooring.model.stateful_set import StatefulSet, StatefulSetStatus
from mooring.model.timestamp import to_seconds


def decide_status(
    view: StatefulSetView,
    members: Iterable[Member],
    history: History,
    growth: Condition | None,
) -> StatefulSetStatus:
    set_, pods = view.set, tuple(members)
    current = current_revision(set_, history)
    staying = [member for member in pods if not member.is_leaving]
    status = StatefulSetStatus(
        observed_generation=set_.metadata.generation,
        replicas=len(pods),
        ready_replicas=sum(member.is_ready for member in pods),
        available_replicas=sum(member.is_available for member in pods),
        current_replicas=sum(member.revision == current for member in staying),
        updated_replicas=sum(member.revision == history.update for member in staying),
        current_revision=current,
        update_revision=history.update,
        collision_count=set_.status.collision_count or 0,
        conditions=_conditions(view, growth),
    )
    return _completed(set_, status)


def _completed(set_: StatefulSet, status: StatefulSetStatus) -> StatefulSetStatus:
    """When every pod has the newest template and is ready, that is the current one."""
    counts = {status.updated_replicas, status.ready_replicas, status.replicas}
    if counts != {set_.spec.replicas}:
        return status
    return msgspec.structs.replace(
        status, current_revision=status.update_revision, current_replicas=status.updated_replicas
    )


def _conditions(view: StatefulSetView, growth: Condition | None) -> tuple[Condition, ...]:
    conditions = view.set.status.conditions
    if growth is None:
        return tuple(each for each in conditions if each.type != CLAIMS_GROWN)
    return set_condition(conditions, growth, to_seconds(view.now))
