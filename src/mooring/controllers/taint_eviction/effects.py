"""Carrying out what was decided: timers of pods, and their deletion."""

from contextlib import suppress
from typing import assert_never

import msgspec

from mooring import log
from mooring.client.contract import Client, Part
from mooring.controllers.taint_eviction.metrics import EvictionCounts
from mooring.controllers.taint_eviction.plan import DropTimer, Evict, Plan, SetTimer
from mooring.controllers.taint_eviction.view import Timer
from mooring.errors import NotFound
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.model.steps import Emit
from mooring.reconcile.apply import apply
from mooring.reconcile.informer import Informer
from mooring.reconcile.recorder import Recorder

_log = log.get("mooring.taint_eviction")


class Effects:
    def __init__(self, client: Client, recorder: Recorder, pods: Informer[Pod]) -> None:
        self.timers: dict[Key, Timer] = {}
        self.counts = EvictionCounts()
        self._client = client
        self._recorder = recorder
        self._pods = pods

    async def perform(self, plan: Plan) -> None:
        """In order, up to the first step that fails.

        Raises: what the API said; try again later.
        """
        for step in plan.steps:
            match step:
                case SetTimer(pod, timer):
                    self.timers[pod.key] = timer
                case DropTimer(pod):
                    self.timers.pop(pod.key, None)
                case Evict():
                    with suppress(NotFound):
                        await self._evict(step)
                    self.timers.pop(step.pod.key, None)
                case Emit():
                    apply(step, self._recorder)
                case other:
                    assert_never(other)

    async def _evict(self, step: Evict) -> None:
        pod = step.pod
        if step.conditions != pod.status.conditions:
            change = {"status": {"conditions": msgspec.to_builtins(step.conditions)}}
            pod = await self._client.patch(pod, change, Part.STATUS)
            self._pods.fold(pod)
        await self._client.delete(pod)
        self.counts.deleted += 1
        _log.info("pod evicted", pod=pod.key, node=pod.spec.node_name)
