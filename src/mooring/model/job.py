"""Job: pods that run until as many as wanted have succeeded."""

from typing import ClassVar, Final

import msgspec

from mooring.model.condition import Condition, is_condition_true
from mooring.model.meta import Resource
from mooring.model.pod_owner import PodOwner, Template
from mooring.model.selector import LabelSelector, SelectorDocument, of_pods
from mooring.model.wire import Wire

TRACKING: Final = "batch.kubernetes.io/job-tracking"
"""The finalizer of a pod whose end has not been counted."""

OWN_CONTROLLER: Final = "kubernetes.io/job-controller"

COMPLETE: Final = "Complete"
FAILED: Final = "Failed"
SUSPENDED: Final = "Suspended"
FAILURE_TARGET: Final = "FailureTarget"
SUCCESS_CRITERIA_MET: Final = "SuccessCriteriaMet"


class ExitCodes(Wire, frozen=True):
    operator: str = ""
    container_name: str | None = None
    values: tuple[int, ...] = ()


class ConditionPattern(Wire, frozen=True):
    type: str = ""
    status: str = ""


class FailureRule(Wire, frozen=True):
    action: str = ""
    on_exit_codes: ExitCodes | None = None
    on_pod_conditions: tuple[ConditionPattern, ...] = ()


class FailurePolicy(Wire, frozen=True):
    rules: tuple[FailureRule, ...] = ()


class SuccessRule(Wire, frozen=True):
    succeeded_indexes: str | None = None
    succeeded_count: int | None = None


class SuccessPolicy(Wire, frozen=True):
    rules: tuple[SuccessRule, ...] = ()


class JobSpec(Wire, frozen=True):
    parallelism: int = 1
    completions: int | None = None
    active_deadline_seconds: int | None = None
    pod_failure_policy: FailurePolicy | None = None
    success_policy: SuccessPolicy | None = None
    backoff_limit: int = 6
    backoff_limit_per_index: int | None = None
    max_failed_indexes: int | None = None
    selector: SelectorDocument = SelectorDocument()
    template: Template = msgspec.field(default_factory=dict)
    ttl_seconds_after_finished: int | None = None
    completion_mode: str = "NonIndexed"
    suspend: bool = False
    pod_replacement_policy: str = "TerminatingOrFailed"
    managed_by: str | None = None


class Uncounted(Wire, frozen=True):
    succeeded: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


class JobStatus(Wire, frozen=True):
    conditions: tuple[Condition, ...] = ()
    start_time: str | None = None
    completion_time: str | None = None
    active: int = 0
    succeeded: int = 0
    failed: int = 0
    terminating: int | None = None
    completed_indexes: str = ""
    failed_indexes: str | None = None
    uncounted_terminated_pods: Uncounted | None = None
    ready: int | None = None

    @property
    def uncounted(self) -> Uncounted:
        return self.uncounted_terminated_pods or Uncounted()

    def has(self, condition: str) -> bool:
        return is_condition_true(self.conditions, condition)


class Job(PodOwner, frozen=True):
    resource: ClassVar = Resource(
        "batch", "v1", "Job", "jobs", namespaced=True, orphans_by_default=True
    )

    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()

    def selector(self) -> LabelSelector:
        return of_pods(self.spec.selector)

    @property
    def is_finished(self) -> bool:
        return self.status.has(COMPLETE) or self.status.has(FAILED)

    @property
    def is_indexed(self) -> bool:
        return self.spec.completion_mode == "Indexed"

    @property
    def is_ours(self) -> bool:
        """Whether this controller looks after it, and no other."""
        return self.spec.managed_by in (None, OWN_CONTROLLER)
