"""What a deployment does next; every plan is one step that leads to another look.

In this order: replica sets are adopted and released; the one of the present template says what it
has from the deployment; a change of size is carried out; only then a rollout goes on. The status
comes last, so that it never tells of what has not been done.
"""

from collections.abc import Sequence

from msgspec import structs

from mooring.controllers.deployment.decide.revision import missing_annotations, new_set
from mooring.controllers.deployment.decide.rollout import (
    empty,
    first_size,
    grow,
    has_old_pods,
    shrink,
)
from mooring.controllers.deployment.decide.scaling import scale, scaled, was_scaled
from mooring.controllers.deployment.decide.sets import Sets, age_of, revision_of, sort_out
from mooring.controllers.deployment.decide.status import (
    counted,
    created,
    is_complete,
    not_created,
    rolled_out,
)
from mooring.controllers.deployment.plan import (
    AdoptSet,
    AnnotateSet,
    Collided,
    CreateSet,
    DeleteSet,
    NotCreated,
    Plan,
    ReleaseSet,
    SaveStatus,
    Step,
)
from mooring.controllers.deployment.view import DeploymentView
from mooring.controllers.owned_pods.ownership import split
from mooring.model.deployment import Deployment, DeploymentStatus, StrategyType
from mooring.model.replica_set import ReplicaSet
from mooring.model.steps import plan
from mooring.model.wellknown import Annotation


def decide(view: DeploymentView) -> Plan:
    deployment = view.deployment
    parts = split(deployment, deployment.selector(), view.sets)
    sets = sort_out(deployment, parts.kept)
    if deployment.is_deleting:
        return plan("it is being deleted", *_saved(view, sets, counted(view, sets)))
    claims: list[Step] = [
        *(AdoptSet(deployment, each) for each in parts.adopted),
        *(ReleaseSet(deployment, each) for each in parts.released),
    ]
    if claims:
        return plan("replica sets change hands", *claims)
    if sets.new is not None and (said := _unsaid(deployment, sets, sets.new)):
        return plan("the replica set of the template becomes the newest", *said)
    if deployment.spec.paused:
        steps: list[Step] = [*scale(deployment, sets), *_cleaned(deployment, sets)]
        return plan("it is paused", *steps, *_saved(view, sets, counted(view, sets)))
    if was_scaled(deployment, sets):
        resized = scale(deployment, sets)
        return plan("its size was changed", *resized, *_saved(view, sets, counted(view, sets)))
    if deployment.spec.strategy.type is StrategyType.RECREATE:
        return _recreate(view, sets)
    return _roll(view, sets)


def decide_failed(view: DeploymentView, outcome: Collided | NotCreated) -> Plan:
    """What to write when the new replica set could not be created."""
    deployment = view.deployment
    parts = split(deployment, deployment.selector(), view.sets)
    sets = sort_out(deployment, parts.kept)
    match outcome:
        case Collided():
            count = (deployment.status.collision_count or 0) + 1
            status = structs.replace(deployment.status, collision_count=count)
            return plan("another replica set has the name", *_saved(view, sets, status))
        case NotCreated(name, error):
            status = not_created(view, sets, name, str(error))
            return plan("the replica set was refused", *_saved(view, sets, status))


def _roll(view: DeploymentView, sets: Sets) -> Plan:
    deployment, new = view.deployment, sets.new
    if new is None:
        return _begin(view, sets, first_size(deployment, sets))
    status = _saved(view, sets, rolled_out(view, sets))
    if grown := grow(deployment, sets, new):
        return plan("there is room for new pods", *grown, *status)
    if shrunk := shrink(deployment, sets, new):
        return plan("old pods are not needed", *shrunk, *status)
    return _finish(view, sets)


def _recreate(view: DeploymentView, sets: Sets) -> Plan:
    deployment, new = view.deployment, sets.new
    status = _saved(view, sets, rolled_out(view, sets))
    if emptied := empty(deployment, sets):
        return plan("old pods go before new ones come", *emptied, *status)
    if has_old_pods(sets, view.unfinished):
        return plan("old pods are still there", *status)
    if new is None:
        return _begin(view, sets, deployment.spec.replicas)
    if new.spec.replicas != deployment.spec.replicas:
        grown = scaled(deployment, new, deployment.spec.replicas)
        return plan("the old pods are gone", *grown, *status)
    return _finish(view, sets)


def _begin(view: DeploymentView, sets: Sets, replicas: int) -> Plan:
    step = CreateSet(view.deployment, new_set(view.deployment, sets, replicas))
    revision = step.document["metadata"]["annotations"][Annotation.REVISION]
    saved = SaveStatus(view.deployment, created(view, sets, step.name), revision)
    return plan("there is no replica set of the template", step, saved)


def _finish(view: DeploymentView, sets: Sets) -> Plan:
    deployment = view.deployment
    is_done = is_complete(deployment, deployment.status)
    cleaned = _cleaned(deployment, sets) if is_done else []
    because = "it is rolled out" if is_done else "pods are waited for"
    return plan(because, *cleaned, *_saved(view, sets, rolled_out(view, sets)))


def _unsaid(deployment: Deployment, sets: Sets, new: ReplicaSet) -> list[AnnotateSet]:
    missing, least = missing_annotations(deployment, sets), deployment.spec.min_ready_seconds
    if not missing and new.spec.min_ready_seconds == least:
        return []
    return [AnnotateSet(new, missing, least)]


def _cleaned(deployment: Deployment, sets: Sets) -> list[DeleteSet]:
    """Of the old ones beyond the limit, those without pods; the lowest revisions first."""
    kept = [each for each in sets.old if not each.is_deleting]
    surplus = len(kept) - deployment.spec.revision_history_limit
    oldest = sorted(kept, key=lambda each: (revision_of(each), age_of(each)))
    return [DeleteSet(each) for each in oldest[: max(surplus, 0)] if _is_empty(each)]


def _is_empty(each: ReplicaSet) -> bool:
    return (
        not each.spec.replicas
        and not each.status.replicas
        and each.metadata.generation <= each.status.observed_generation
    )


def _saved(view: DeploymentView, sets: Sets, status: DeploymentStatus) -> Sequence[Step]:
    deployment = view.deployment
    revision = (
        "" if sets.new is None else sets.new.metadata.annotations.get(Annotation.REVISION, "")
    )
    present = deployment.metadata.annotations.get(Annotation.REVISION, "")
    if status == deployment.status and revision in ("", present):
        return ()
    return (SaveStatus(deployment, status, revision),)
