"""How many pods of a job are missing or too many."""

import msgspec

from mooring.controllers.job.decide.backoff import finished_at, seconds_left
from mooring.controllers.job.decide.end import Standing
from mooring.controllers.job.decide.indexes import all_failures_of, pending_indexes, surplus
from mooring.controllers.job.decide.pods import new_indexed_pod, new_pod
from mooring.controllers.job.plan import DropPod
from mooring.controllers.job.view import Backoff, JobView
from mooring.controllers.owned_pods.deletion_order import in_deletion_order
from mooring.controllers.owned_pods.plan import MOST_AT_ONCE, CreatePods
from mooring.model.pod import Pod


class Managed(msgspec.Struct, frozen=True):
    steps: tuple[DropPod | CreatePods, ...] = ()
    again: float | None = None


def manage(view: JobView, standing: Standing, backoff: Backoff) -> Managed:
    """Either pods go or pods come, never both."""
    job = view.job
    active = [pod for pod in standing.pods if view.is_active(pod)]
    wanted = 0 if job.spec.suspend else _wanted(view, standing)
    if gone := _too_many(view, active, len(active) - wanted):
        return Managed(tuple(DropPod(job, pod) for pod in gone[:MOST_AT_ONCE]))
    terminating = 0
    if job.spec.pod_replacement_policy == "Failed":
        terminating = sum(map(view.is_terminating, standing.pods))
    missing = wanted - terminating - len(active)
    if job.spec.suspend or missing <= 0:
        return Managed()
    is_per_index = job.spec.backoff_limit_per_index is not None
    if not is_per_index and (pause := seconds_left(backoff, view.now)):
        return Managed(again=pause)
    return _create(view, standing, min(missing, MOST_AT_ONCE))


def _wanted(view: JobView, standing: Standing) -> int:
    spec = view.job.spec
    if spec.completions is None:
        return standing.active if standing.succeeded else spec.parallelism
    return max(min(spec.completions - standing.succeeded, spec.parallelism), 0)


def _too_many(view: JobView, active: list[Pod], least: int) -> list[Pod]:
    gone, left = surplus(view, active) if view.job.is_indexed else ([], active)
    if len(gone) < least:
        gone += in_deletion_order(left, {}, view.now)[: least - len(gone)]
    return gone


def _create(view: JobView, standing: Standing, missing: int) -> Managed:
    job = view.job
    if not job.is_indexed:
        return Managed((CreatePods(job, tuple(new_pod(job) for _ in range(missing))),))
    replaced = standing.indexes.replaced
    indexes = pending_indexes(view, standing.pods, standing.indexes, missing)
    pauses = {index: _pause(view, replaced.get(index)) for index in indexes}
    due = [index for index in indexes if not pauses[index]]
    if not due:
        return Managed(again=min(pauses.values(), default=None))
    documents = tuple(new_indexed_pod(job, index, replaced.get(index)) for index in due)
    return Managed((CreatePods(job, documents),), min(filter(None, pauses.values()), default=None))


def _pause(view: JobView, replaced: Pod | None) -> float:
    if replaced is None:
        return 0.0
    return seconds_left(Backoff(all_failures_of(replaced) + 1, finished_at(replaced)), view.now)
