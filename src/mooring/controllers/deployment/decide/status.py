"""What a deployment shows: counts, whether enough pods are available, how the rollout goes."""

from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec

from mooring.controllers.deployment.decide.limits import least_available
from mooring.controllers.deployment.decide.sets import Sets, wanted_pods
from mooring.controllers.deployment.view import DeploymentView
from mooring.model.condition import find_condition
from mooring.model.deployment import (
    NO_DEADLINE,
    Deployment,
    DeploymentCondition,
    DeploymentStatus,
)
from mooring.model.replica_set import ReplicaSet
from mooring.model.replica_status import REPLICA_FAILURE
from mooring.model.timestamp import to_seconds

AVAILABLE = "Available"
PROGRESSING = "Progressing"
COMPLETED = "NewReplicaSetAvailable"
TIMED_OUT = "ProgressDeadlineExceeded"
PAUSED = "DeploymentPaused"

Conditions = tuple[DeploymentCondition, ...]


def has_deadline(deployment: Deployment) -> bool:
    return deployment.spec.progress_deadline_seconds != NO_DEADLINE


def is_complete(deployment: Deployment, status: DeploymentStatus) -> bool:
    wanted = deployment.spec.replicas
    return (
        status.updated_replicas == wanted
        and status.replicas == wanted
        and status.available_replicas == wanted
        and status.observed_generation >= deployment.metadata.generation
    )


def counted(view: DeploymentView, sets: Sets) -> DeploymentStatus:
    """The counts, and the conditions that do not depend on how the rollout goes."""
    deployment = view.deployment
    available = sum(each.status.available_replicas for each in sets.all)
    return DeploymentStatus(
        observed_generation=deployment.metadata.generation,
        replicas=sum(each.status.replicas for each in sets.all),
        updated_replicas=0 if sets.new is None else sets.new.status.replicas,
        ready_replicas=sum(each.status.ready_replicas for each in sets.all),
        available_replicas=available,
        unavailable_replicas=max(wanted_pods(sets.all) - available, 0),
        terminating_replicas=sum(each.status.terminating_replicas or 0 for each in sets.all),
        conditions=_available(view, available, _paused(view, sets)),
        collision_count=deployment.status.collision_count,
    )


def rolled_out(view: DeploymentView, sets: Sets) -> DeploymentStatus:
    """As `counted`, and how the rollout goes."""
    status = counted(view, sets)
    conditions = _progress(view, sets, status)
    failures = [*_failures([sets.new] if sets.new else []), *_failures(sets.all)]
    if failures:
        conditions = put(conditions, failures[0], view.now)
    else:
        conditions = without(conditions, REPLICA_FAILURE)
    return msgspec.structs.replace(status, conditions=conditions)


def created(view: DeploymentView, sets: Sets, name: str) -> DeploymentStatus:
    """After the replica set of this name was created."""
    return _told(view, sets, "True", "NewReplicaSetCreated", f'Created new replica set "{name}"')


def not_created(view: DeploymentView, sets: Sets, name: str, why: str) -> DeploymentStatus:
    return _told(view, sets, "False", "ReplicaSetCreateError", failure_text(name, why))


def failure_text(name: str, why: str) -> str:
    return f'Failed to create new replica set "{name}": {why}'


def seconds_until_deadline(deployment: Deployment, now: datetime) -> float | None:
    """When to look whether the rollout has failed; None: nothing is waited for."""
    progress = deployment.status.find_condition(PROGRESSING)
    if progress is None or not has_deadline(deployment) or deployment.spec.paused:
        return None
    if progress.reason in (COMPLETED, TIMED_OUT) or is_complete(deployment, deployment.status):
        return None
    return max((_deadline(deployment, progress) - now).total_seconds(), 0.0) + 1


def _told(
    view: DeploymentView, sets: Sets, status: str, reason: str, message: str
) -> DeploymentStatus:
    base = counted(view, sets)
    if not has_deadline(view.deployment):
        return base
    told = DeploymentCondition(type=PROGRESSING, status=status, reason=reason, message=message)
    return msgspec.structs.replace(base, conditions=put(base.conditions, told, view.now))


def _paused(view: DeploymentView, sets: Sets) -> Conditions:
    """A pause stops the clock of the deadline: it begins anew when the pause is over."""
    deployment, conditions = view.deployment, view.deployment.status.conditions
    progress = deployment.status.find_condition(PROGRESSING)
    if not has_deadline(deployment):
        return without(conditions, PROGRESSING)
    if deployment.is_deleting or (progress is not None and progress.reason == TIMED_OUT):
        return conditions
    is_paused = progress is not None and progress.reason == PAUSED
    if deployment.spec.paused and not is_paused:
        told = ("Unknown", PAUSED, "Deployment is paused")
    elif not deployment.spec.paused and is_paused:
        told = ("Unknown", "DeploymentResumed", "Deployment is resumed")
    elif progress is None and sets.new is not None:
        told = ("True", "FoundNewReplicaSet", f'Found new replica set "{sets.new.name}"')
    else:
        return conditions
    return put(conditions, DeploymentCondition(PROGRESSING, *told), view.now)


def _available(view: DeploymentView, available: int, conditions: Conditions) -> Conditions:
    if available >= least_available(view.deployment):
        told = ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
    else:
        message = "Deployment does not have minimum availability."
        told = ("False", "MinimumReplicasUnavailable", message)
    return put(conditions, DeploymentCondition(AVAILABLE, *told), view.now)


def _progress(view: DeploymentView, sets: Sets, status: DeploymentStatus) -> Conditions:
    deployment, conditions = view.deployment, status.conditions
    present = status.find_condition(PROGRESSING)
    stays = status.replicas == status.updated_replicas and _has_reason(present, COMPLETED)
    if not has_deadline(deployment) or stays:
        return conditions
    who = f'Deployment "{deployment.name}"'
    if sets.new is not None:
        who = f'ReplicaSet "{sets.new.name}"'
    if is_complete(deployment, status):
        told = ("True", COMPLETED, f"{who} has successfully progressed.")
        return put(conditions, DeploymentCondition(PROGRESSING, *told), view.now)
    if _has_progressed(deployment.status, status):
        told = ("True", "ReplicaSetUpdated", f"{who} is progressing.")
        fresh = DeploymentCondition(PROGRESSING, *told)
        return put(conditions, fresh, view.now, again=True)
    if present is not None and _is_late(deployment, present, view.now):
        told = ("False", TIMED_OUT, f"{who} has timed out progressing.")
        return put(conditions, DeploymentCondition(PROGRESSING, *told), view.now)
    return conditions


def _has_progressed(before: DeploymentStatus, now: DeploymentStatus) -> bool:
    return (
        now.updated_replicas > before.updated_replicas
        or now.replicas - now.updated_replicas < before.replicas - before.updated_replicas
        or now.ready_replicas > before.ready_replicas
        or now.available_replicas > before.available_replicas
    )


def _is_late(deployment: Deployment, progress: DeploymentCondition, now: datetime) -> bool:
    if progress.reason in (COMPLETED, TIMED_OUT):
        return progress.reason == TIMED_OUT
    return _deadline(deployment, progress) < now


def _deadline(deployment: Deployment, progress: DeploymentCondition) -> datetime:
    """Without a time of its last news: long past."""
    since = datetime.fromisoformat(progress.last_update_time or "1970-01-01T00:00:00Z")
    return since + timedelta(seconds=deployment.spec.progress_deadline_seconds)


def _has_reason(condition: DeploymentCondition | None, reason: str) -> bool:
    return condition is not None and condition.reason == reason


def _failures(sets: Iterable[ReplicaSet]) -> Iterable[DeploymentCondition]:
    for each in sets:
        failure = find_condition(each.status.conditions, REPLICA_FAILURE)
        if failure is not None:
            yield DeploymentCondition(
                REPLICA_FAILURE, failure.status, failure.reason, failure.message
            )


def put(
    conditions: Conditions, wanted: DeploymentCondition, now: datetime, *, again: bool = False
) -> Conditions:
    """`conditions` with `wanted` in place of the one of its type, and the times of both.

    One with the same status and reason stays as it is, unless it is news `again`.
    """
    present = next((each for each in conditions if each.type == wanted.type), None)
    moment = to_seconds(now)
    since: str | None = moment
    if present is not None and present.status == wanted.status:
        if present.reason == wanted.reason and not again:
            return conditions
        since = present.last_transition_time
    wanted = msgspec.structs.replace(wanted, last_update_time=moment, last_transition_time=since)
    return (*without(conditions, wanted.type), wanted)


def without(conditions: Conditions, kind: str) -> Conditions:
    return tuple(each for each in conditions if each.type != kind)
