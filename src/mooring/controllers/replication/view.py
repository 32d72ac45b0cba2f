"""The view of one replication controller: its pods, those it may adopt, and the time."""

from collections.abc import Iterable
from datetime import datetime

import msgspec

from mooring.model.condition import find_condition, is_condition_true
from mooring.model.pod import Pod
from mooring.model.replication_controller import ReplicationController


class ControllerView(msgspec.Struct, frozen=True):
    controller: ReplicationController
    pods: tuple[Pod, ...]  # its own, and matching ones without a controller
    now: datetime


def view(
    controller: ReplicationController, pods: Iterable[Pod], doomed: Iterable[str], now: datetime
) -> ControllerView:
    """`doomed` are uids of pods whose deletion was asked for, though that is not seen yet."""
    going = frozenset(doomed)
    return ControllerView(
        controller, tuple(pod for pod in pods if _counts(pod) and pod.uid not in going), now
    )


def _counts(pod: Pod) -> bool:
    """Pods that have ended, or are about to, are no replicas."""
    return not pod.is_finished and not pod.is_deleting


def is_ready(pod: Pod) -> bool:
    return is_condition_true(pod.status.conditions, "Ready")


def ready_for(pod: Pod, now: datetime) -> float:
    """Seconds since the pod became ready; below zero when it is not."""
    ready = find_condition(pod.status.conditions, "Ready")
    if ready is None or not ready.is_true:
        return -1.0
    if ready.last_transition_time is None:
        return 0.0
    return (now - datetime.fromisoformat(ready.last_transition_time)).total_seconds()
