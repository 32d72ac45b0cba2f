"""Whether a pod is ready, and for how long it has been."""

from collections.abc import Iterable
from datetime import datetime

from mooring.model.condition import find_condition, is_condition_true
from mooring.model.pod import Pod


def is_ready(pod: Pod) -> bool:
    return is_condition_true(pod.status.conditions, "Ready")


def ready_for(pod: Pod, now: datetime) -> float:
    """Seconds since the pod became ready; below zero when it is not."""
    ready = find_condition(pod.status.conditions, "Ready")
    if ready is None or not ready.is_true:
        return -1.0
    if ready.last_transition_time is None:
        return 0.0
    seconds = (now - datetime.fromisoformat(ready.last_transition_time)).total_seconds()
    return max(seconds, 0.0)


def is_available(pod: Pod, min_ready_seconds: int, now: datetime) -> bool:
    return ready_for(pod, now) >= min_ready_seconds


def seconds_until_available(
    pods: Iterable[Pod], min_ready_seconds: int, now: datetime
) -> float | None:
    """When the next pod will have been ready for long enough; None: nothing is waited for."""
    ages = (ready_for(pod, now) for pod in pods)
    waits = [min_ready_seconds - age for age in ages if 0 <= age < min_ready_seconds]
    return min(waits, default=None)
