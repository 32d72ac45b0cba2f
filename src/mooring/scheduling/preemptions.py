"""Carrying out preemptions: the node is promised to the pod, then its victims are deleted.

Nobody is deleted on the word of a cache: the pod and each victim are read before.
"""

from contextlib import suppress
from typing import Protocol

import msgspec

from mooring import log
from mooring.client.contract import Client, Part
from mooring.clock import Clock
from mooring.errors import ApiError, Conflict, NotFound
from mooring.model.condition import Condition, set_condition
from mooring.model.event import EventType
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.model.reference import ObjectReference
from mooring.model.timestamp import to_seconds
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.recorder import Recorder
from mooring.reconcile.worker import PASSING, Settled, Verdict
from mooring.scheduling.decide.preemption import DISRUPTION_TARGET, PREEMPTED
from mooring.scheduling.plan import Preemption

_log = log.get("mooring.scheduler")


class _Ordered(msgspec.Struct, frozen=True):
    pod: Pod
    preemption: Preemption
    outranked: tuple[Pod, ...]  # to which the node was promised before


class Scheduler(Protocol):
    def preempted(self, key: Key, *, promised: bool) -> None:
        """All victims of this pod's preemption are ending, or it does not want the node any more.

        `promised`: whether it still waits for the node.
        """
        ...


class Preemptions:
    """Serve `queue`; keys are those of the pods that get the room."""

    def __init__(
        self, client: Client, clock: Clock, recorder: Recorder, scheduler: Scheduler
    ) -> None:
        self.queue: KeyedQueue[Key] = KeyedQueue(clock)
        self._client = client
        self._clock = clock
        self._recorder = recorder
        self._scheduler = scheduler
        self._ordered: dict[Key, _Ordered] = {}

    def __contains__(self, key: Key) -> bool:
        return key in self._ordered

    def start(self, pod: Pod, preemption: Preemption, outranked: list[Pod]) -> None:
        self._ordered[pod.key] = _Ordered(pod, preemption, tuple(outranked))
        self.queue.add(pod.key)

    async def reconcile(self, key: Key) -> Verdict:
        """Raises: what passes; it is tried again later. After a refusal the pod is free to look."""
        ordered = self._ordered.get(key)
        if ordered is None:
            return Settled()
        pod = await self._find(ordered.pod)
        is_waiting = pod is not None and not pod.is_scheduled and not pod.is_deleting
        if pod is not None and is_waiting:
            try:
                await self._carry_out(ordered, pod)
            except PASSING:
                raise
            except ApiError as error:
                _log.warning("preemption refused", pod=key, because=error)
        self._ordered.pop(key, None)
        self._scheduler.preempted(key, promised=is_waiting)
        return Settled()

    async def _carry_out(self, ordered: _Ordered, pod: Pod) -> None:
        node = ordered.preemption.node
        await self._nominate(pod, node)
        for victim in ordered.preemption.victims:
            await self._end(victim, pod, node)
        for other in ordered.outranked:
            await self._withdraw(other, node)

    async def _find(self, seen: Pod) -> Pod | None:
        """The pod as it is now; None when it is gone, or another has its name."""
        try:
            pod = await self._client.get(Pod, seen.key)
        except NotFound:
            return None
        return pod if pod.uid == seen.uid else None

    async def _nominate(self, pod: Pod, node: str) -> None:
        if pod.status.nominated_node_name != node:
            await self._client.patch(pod, {"status": {"nominatedNodeName": node}}, Part.STATUS)

    async def _end(self, seen: Pod, pod: Pod, node: str) -> None:
        victim = await self._find(seen)
        if victim is None or victim.is_deleting or victim.is_finished:
            return
        if victim.spec.node_name not in {node, ""} or victim.spec.priority >= pod.spec.priority:
            return
        with suppress(NotFound):
            victim = await self._client.patch(victim, self._mark(victim, pod), Part.STATUS)
            await self._client.delete(victim)
        message = f"Preempted by pod {pod.uid} on node {node}"
        self._recorder.record(ObjectReference.to(victim), EventType.NORMAL, "Preempted", message)
        _log.info("pod preempted", pod=victim.key, by=pod.key, node=node)

    def _mark(self, victim: Pod, pod: Pod) -> dict[str, object]:
        condition = Condition(
            DISRUPTION_TARGET,
            "True",
            PREEMPTED,
            f"{pod.spec.scheduler_name}: preempting to accommodate a higher priority pod",
            observed_generation=victim.metadata.generation or None,
        )
        now = to_seconds(self._clock.now())
        conditions = set_condition(victim.status.conditions, condition, now)
        return {"status": {"conditions": msgspec.to_builtins(conditions)}}

    async def _withdraw(self, seen: Pod, node: str) -> None:
        """A pod of lower priority does not get the node any more; it may look elsewhere."""
        other = await self._find(seen)
        if other is None or other.status.nominated_node_name != node:
            return
        with suppress(NotFound, Conflict):  # who wrote it meanwhile knows better
            await self._client.patch(other, {"status": {"nominatedNodeName": None}}, Part.STATUS)
