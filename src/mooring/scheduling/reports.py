"""Telling why a pod has no node: an Event, and the condition PodScheduled."""

from contextlib import suppress
from enum import StrEnum

import msgspec

from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.errors import NotFound
from mooring.model.condition import Condition, set_condition
from mooring.model.event import EventType
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.model.reference import ObjectReference
from mooring.model.timestamp import to_seconds
from mooring.reconcile.informer import Informer
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.recorder import Recorder
from mooring.reconcile.worker import Settled, Verdict
from mooring.scheduling.effects import report

SCHEDULED = "PodScheduled"
LONGEST_NOTE = 1024  # bytes of an event's message


class Reason(StrEnum):
    UNSCHEDULABLE = "Unschedulable"  # no node will do
    ERROR = "SchedulerError"  # something went wrong; it is tried again


class _Report(msgspec.Struct, frozen=True):
    uid: str
    condition: Condition
    forgets_node: bool  # the one that it was nominated for


class Reports:
    """Events go out at once; conditions are written by workers that serve `queue`."""

    def __init__(
        self, client: Client, clock: Clock, recorder: Recorder, pods: Informer[Pod]
    ) -> None:
        self.queue: KeyedQueue[Key] = KeyedQueue(clock)
        self._client = client
        self._clock = clock
        self._recorder = recorder
        self._pods = pods
        self._wanted: dict[Key, _Report] = {}

    def refused(
        self, pod: Pod, reason: Reason, message: str, *, forgets_node: bool = False
    ) -> None:
        self._warn(pod, message)
        condition = Condition(
            SCHEDULED,
            "False",
            reason.value,
            message,
            observed_generation=pod.metadata.generation or None,
        )
        self._wanted[pod.key] = _Report(pod.uid, condition, forgets_node)
        self.queue.add(pod.key)

    def skipped(self, pod: Pod) -> None:
        self._warn(pod, f"skip schedule deleting pod: {pod.key}")

    def placed(self, pod: Pod, node: str) -> None:
        self._wanted.pop(pod.key, None)
        message = f"Successfully assigned {pod.key} to {node}"
        reference = ObjectReference.to(pod)
        self._recorder.record(reference, EventType.NORMAL, "Scheduled", message)

    async def reconcile(self, key: Key) -> Verdict:
        """Write the condition of a pod that was last reported."""
        wanted, pod = self._wanted.get(key), self._pods.get(key)
        if wanted is not None and pod is not None and _is_due(wanted, pod):
            now = to_seconds(self._clock.now())
            conditions = set_condition(pod.status.conditions, wanted.condition, now)
            nominated = "" if wanted.forgets_node else pod.status.nominated_node_name
            is_told = conditions is pod.status.conditions
            if not is_told or nominated != pod.status.nominated_node_name:
                with suppress(NotFound):  # else there is nothing to write it on
                    written = await report(self._client, pod, conditions, nominated=nominated)
                    self._pods.fold(written)
        if self._wanted.get(key) is wanted:
            self._wanted.pop(key, None)
        return Settled()

    def _warn(self, pod: Pod, message: str) -> None:
        reference = ObjectReference.to(pod)
        self._recorder.record(reference, EventType.WARNING, "FailedScheduling", shortened(message))


def _is_due(wanted: _Report, pod: Pod) -> bool:
    return pod.uid == wanted.uid and not pod.is_scheduled and not pod.is_deleting


def shortened(message: str) -> str:
    """The API takes no longer note."""
    if len(message) <= LONGEST_NOTE:
        return message
    return message[: LONGEST_NOTE - 4] + " ..."
