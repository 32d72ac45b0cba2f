"""What a job needs next.

Always true of a plan:

- The end of a pod is written into the status before its finalizer goes, and counted after: each
  pod is counted once, from whatever moment one starts again.
- Pods are either made or dropped, never both, and at most 500 in one pass; none is made for a job
  that is suspended, ending or being deleted.
- Never more pods run than `parallelism`, nor more than completions are missing.
- `Complete` and `Failed` come last: when no pod runs or ends, and none is left to be counted; a job
  that has one of them is not touched again.
- Only pods that are the job's own, or that it adopts, are changed.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from mooring.controllers.job.decide.backoff import after
from mooring.controllers.job.decide.counting import Ended, Tally, ended_of, tally_of
from mooring.controllers.job.decide.end import End, Standing, deadline_of, find_end
from mooring.controllers.job.decide.indexes import Indexes, indexes_of
from mooring.controllers.job.decide.manage import Managed, manage
from mooring.controllers.job.plan import (
    AdoptTracked,
    Decision,
    ReleaseTracked,
    Remember,
    SaveStatus,
    Step,
    Untrack,
)
from mooring.controllers.job.view import JobView, is_tracked
from mooring.controllers.owned_pods.claiming import claim
from mooring.controllers.owned_pods.plan import Adopt, DeletePod
from mooring.controllers.owned_pods.readiness import is_ready
from mooring.model import job_indexes
from mooring.model.condition import Condition, find_condition
from mooring.model.event import EventType
from mooring.model.job import COMPLETE, FAILED, SUSPENDED, Job, JobStatus
from mooring.model.pod import Pod
from mooring.model.steps import Emit, plan
from mooring.model.timestamp import to_seconds


def decide(view: JobView) -> Decision:
    job = view.job
    if job.is_finished or not job.is_ours:
        return Decision(plan("it has finished, or is another controller's"))
    claimed = claim(job, view.pods)
    if claimed.steps:
        changes = (
            AdoptTracked(job, step.pod)
            if isinstance(step, Adopt)
            else ReleaseTracked(job, step.pod)
            for step in claimed.steps
        )
        return Decision(plan("pods change hands", *changes))
    ended = ended_of(view, claimed.pods)
    standing = _standing(view, claimed.pods, ended)
    backoff = after(view.backoff, ended.succeeded, ended.failed)
    end = find_end(view, standing)
    managed = Managed()
    if end is None and not job.is_deleting:
        managed = manage(view, standing, backoff)
    tally = tally_of(view, claimed.pods, standing.indexes, end)
    status = _status(view, standing, tally, end)
    steps: list[Step] = [SaveStatus(job, status)] if status != job.status else []
    if backoff != view.backoff:
        steps.append(Remember(job, backoff))
    if end is not None:
        steps += (DeletePod(job, pod) for pod in claimed.pods if view.is_active(pod))
    steps += map(Untrack, tally.untracked)
    steps += managed.steps
    steps += _events(job, status)
    because = end.message if end is not None else "its pods are counted"
    return Decision(plan(because, *steps), _again(view, end, managed))


def _standing(view: JobView, pods: tuple[Pod, ...], ended: Ended) -> Standing:
    job, status = view.job, view.job.status
    indexes = indexes_of(view, pods) if job.is_indexed else Indexes()
    uncounted = status.uncounted
    succeeded = status.succeeded + len(uncounted.succeeded) + len(ended.succeeded)
    return Standing(
        pods=pods,
        active=sum(map(view.is_active, pods)),
        succeeded=len(indexes.succeeded) if job.is_indexed else succeeded,
        failed=status.failed + len(uncounted.failed) + ended.counting_failures,
        indexes=indexes,
    )


def _again(view: JobView, end: End | None, managed: Managed) -> float | None:
    waits = [] if managed.again is None else [managed.again]
    deadline = deadline_of(view)
    if end is None and deadline is not None:
        waits.append((deadline - view.now).total_seconds())
    return min(waits, default=None)


def _status(view: JobView, standing: Standing, tally: Tally, end: End | None) -> JobStatus:
    job, now = view.job, to_seconds(view.now)
    before, spec = job.status, job.spec
    terminating = sum(map(view.is_terminating, standing.pods))
    ready = sum(view.is_active(pod) and is_ready(pod) for pod in standing.pods)
    start = before.start_time or (None if spec.suspend else now)
    conditions = before.conditions
    if end is not None:
        conditions = _with(conditions, end.condition, "True", end.reason, end.message, now)
    elif not job.is_deleting:
        conditions = _suspended(job, conditions, now)
        if before.has(SUSPENDED) and not spec.suspend:
            start = now
    status = replace(
        before,
        conditions=conditions,
        start_time=start,
        active=standing.active,
        ready=ready,
        terminating=terminating,
        succeeded=tally.succeeded,
        failed=tally.failed,
        uncounted_terminated_pods=tally.uncounted,
    )
    if job.is_indexed:
        failed = standing.indexes.failed
        is_per_index = spec.backoff_limit_per_index is not None
        status = replace(
            status,
            completed_indexes=job_indexes.spelled(tally.indexes),
            failed_indexes=job_indexes.spelled(failed) if is_per_index else None,
        )
    is_tracking = any(map(is_tracked, standing.pods)) or tally.uncounted.succeeded
    if end is None or standing.active or terminating or is_tracking or tally.uncounted.failed:
        return status
    return _finished(status, end, now)


def _finished(status: JobStatus, end: End, now: str) -> JobStatus:
    kind = COMPLETE if end.is_success else FAILED
    conditions = _with(status.conditions, kind, "True", end.reason, end.message, now)
    return replace(
        status,
        conditions=conditions,
        start_time=status.start_time or now,
        completion_time=now if end.is_success else None,
    )


def _suspended(job: Job, conditions: tuple[Condition, ...], now: str) -> tuple[Condition, ...]:
    if job.spec.suspend:
        return _with(conditions, SUSPENDED, "True", "JobSuspended", "Job suspended", now)
    if find_condition(conditions, SUSPENDED) is None:
        return conditions
    return _with(conditions, SUSPENDED, "False", "JobResumed", "Job resumed", now)


def _with(
    conditions: tuple[Condition, ...], kind: str, status: str, reason: str, message: str, now: str
) -> tuple[Condition, ...]:
    present = find_condition(conditions, kind)
    if present is not None and (present.status, present.reason, present.message) == (
        status,
        reason,
        message,
    ):
        return conditions
    new = Condition(kind, status, reason, message, last_transition_time=now, last_probe_time=now)
    if present is None:
        return (*conditions, new)
    return tuple(new if each is present else each for each in conditions)


def _events(job: Job, status: JobStatus) -> Iterable[Emit]:
    """What is told when the status says something new."""
    before, suspended = job.status, find_condition(status.conditions, SUSPENDED)
    if suspended is not None and suspended.is_true != before.has(SUSPENDED):
        word = "Suspended" if suspended.is_true else "Resumed"
        yield Emit(job, EventType.NORMAL, word, suspended.message)
    if status.has(COMPLETE):
        if job.spec.completions is not None and status.succeeded > job.spec.completions:
            told = "Too many succeeded pods running after completion count reached"
            yield Emit(job, EventType.WARNING, "TooManySucceededPods", told)
        yield Emit(job, EventType.NORMAL, "Completed", "Job completed")
    elif (failed := find_condition(status.conditions, FAILED)) is not None:
        yield Emit(job, EventType.WARNING, failed.reason, failed.message)
