"""Whether a job is to end, and how: failure before success, and what was said once stands."""

from datetime import datetime

import msgspec

from mooring.controllers.job.decide.failure_policy import meaning_of
from mooring.controllers.job.decide.indexes import Indexes, find_success
from mooring.controllers.job.view import JobView
from mooring.model.condition import find_condition
from mooring.model.job import FAILURE_TARGET, SUCCESS_CRITERIA_MET
from mooring.model.pod import Pod, PodPhase
from mooring.model.timestamp import shifted


class End(msgspec.Struct, frozen=True):
    condition: str  # FailureTarget or SuccessCriteriaMet, before all pods have gone
    reason: str
    message: str

    @property
    def is_success(self) -> bool:
        return self.condition == SUCCESS_CRITERIA_MET


class Standing(msgspec.Struct, frozen=True):
    """How far the job has come, with what is not counted yet."""

    pods: tuple[Pod, ...]
    active: int
    succeeded: int
    failed: int
    indexes: Indexes


def find_end(view: JobView, standing: Standing) -> End | None:
    status = view.job.status
    for kind in (SUCCESS_CRITERIA_MET, FAILURE_TARGET):
        said = find_condition(status.conditions, kind)
        if said is not None and said.is_true:
            return End(kind, said.reason, said.message)
    return _failure(view, standing) or _success(view, standing)


def deadline_of(view: JobView) -> datetime | None:
    spec, start = view.job.spec, view.job.status.start_time
    if spec.active_deadline_seconds is None or spec.suspend or start is None:
        return None
    return shifted(datetime.fromisoformat(start), spec.active_deadline_seconds)


def _failure(view: JobView, standing: Standing) -> End | None:
    spec = view.job.spec
    for pod in standing.pods:
        if view.has_failed(pod) and (why := meaning_of(spec.pod_failure_policy, pod).message):
            return End(FAILURE_TARGET, "PodFailurePolicy", why)
    if standing.failed > spec.backoff_limit or _restarted_too_often(view, standing.pods):
        why = "Job has reached the specified backoff limit"
        return End(FAILURE_TARGET, "BackoffLimitExceeded", why)
    deadline = deadline_of(view)
    if deadline is not None and view.now >= deadline:
        why = "Job was active longer than specified deadline"
        return End(FAILURE_TARGET, "DeadlineExceeded", why)
    if view.job.is_indexed and spec.backoff_limit_per_index is not None:
        return _failed_indexes(view, standing.indexes)
    return None


def _failed_indexes(view: JobView, indexes: Indexes) -> End | None:
    spec = view.job.spec
    if spec.max_failed_indexes is not None and len(indexes.failed) > spec.max_failed_indexes:
        why = "Job has exceeded the specified maximal number of failed indexes"
        return End(FAILURE_TARGET, "MaxFailedIndexesExceeded", why)
    done = len(indexes.failed) + len(indexes.succeeded)
    if indexes.failed and done >= (spec.completions or 0):
        return End(FAILURE_TARGET, "FailedIndexes", "Job has failed indexes")
    return None


def _restarted_too_often(view: JobView, pods: tuple[Pod, ...]) -> bool:
    """Of pods that are restarted in place, the restarts count."""
    spec = view.job.spec
    if (spec.template.get("spec") or {}).get("restartPolicy") != "OnFailure":
        return False
    restarts = sum(
        container.restart_count
        for pod in pods
        if pod.status.phase in (PodPhase.RUNNING, PodPhase.PENDING)
        for container in (*pod.status.init_container_statuses, *pod.status.container_statuses)
    )
    return restarts >= spec.backoff_limit if spec.backoff_limit else restarts > 0


def _success(view: JobView, standing: Standing) -> End | None:
    spec = view.job.spec
    if view.job.is_indexed:
        succeeded, completions = standing.indexes.succeeded, spec.completions or 0
        if (met := find_success(spec.success_policy, succeeded, completions)) is not None:
            return End(SUCCESS_CRITERIA_MET, "SuccessPolicy", met)
    if standing.active:
        return None
    needed = 1 if spec.completions is None else spec.completions
    if standing.succeeded >= needed:
        why = "Reached expected number of succeeded pods"
        return End(SUCCESS_CRITERIA_MET, "CompletionsReached", why)
    return None
