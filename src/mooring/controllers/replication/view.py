"""The view of one replication controller: its pods, those it may adopt, and the time."""

from collections.abc import Iterable
from datetime import datetime

import msgspec

from mooring.controllers.owned_pods.claiming import is_active
from mooring.model.pod import Pod
from mooring.model.replication_controller import ReplicationController


class ControllerView(msgspec.Struct, frozen=True):
    controller: ReplicationController
    pods: tuple[Pod, ...]  # its own, and those without a controller
    now: datetime


def view(
    controller: ReplicationController, pods: Iterable[Pod], doomed: Iterable[str], now: datetime
) -> ControllerView:
    """`doomed` are uids of pods whose deletion was asked for, though that is not seen yet."""
    going = frozenset(doomed)
    counted = tuple(pod for pod in pods if is_active(pod) and pod.uid not in going)
    return ControllerView(controller, counted, now)
