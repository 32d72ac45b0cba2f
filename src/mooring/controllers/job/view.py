"""The view of one job: its pods, those it may adopt, its back-off, and the time."""

from datetime import datetime

import msgspec

from mooring.model.job import TRACKING, Job
from mooring.model.pod import Pod, PodPhase


class Backoff(msgspec.Struct, frozen=True):
    """How often pods have failed since one succeeded, and when the last did."""

    failures: int = 0
    last: datetime | None = None


class JobView(msgspec.Struct, frozen=True):
    job: Job
    pods: tuple[Pod, ...]  # its own, and those of its namespace without a controller
    doomed: frozenset[str]  # uids of pods whose deletion was asked for, though it is not seen yet
    backoff: Backoff
    now: datetime

    def is_going(self, pod: Pod) -> bool:
        return pod.is_deleting or pod.uid in self.doomed

    def is_active(self, pod: Pod) -> bool:
        return not pod.is_finished and not self.is_going(pod)

    def is_terminating(self, pod: Pod) -> bool:
        return not pod.is_finished and self.is_going(pod)

    def has_failed(self, pod: Pod) -> bool:
        """A pod that is deleted before its end counts as failed, unless only failed ones do."""
        if pod.status.phase is PodPhase.FAILED:
            return True
        if self.job.spec.pod_replacement_policy == "Failed":
            return False
        return self.is_going(pod) and pod.status.phase is not PodPhase.SUCCEEDED


def is_tracked(pod: Pod) -> bool:
    """Its end has not been counted."""
    return TRACKING in pod.metadata.finalizers


def has_succeeded(pod: Pod) -> bool:
    return pod.status.phase is PodPhase.SUCCEEDED
