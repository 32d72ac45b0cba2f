"""Carrying out what was decided: pods failed and deleted by force; and what is told of others."""

from contextlib import suppress
from typing import Any, assert_never

import msgspec

from mooring import log
from mooring.client.contract import Client, Part
from mooring.controllers.pod_gc.metrics import CollectionCounts
from mooring.controllers.pod_gc.plan import ForceDelete, Plan, Tell, Why
from mooring.errors import NotFound
from mooring.model.keys import Key
from mooring.model.node import Node
from mooring.model.pod import Pod, PodPhase
from mooring.reconcile.apply import apply
from mooring.reconcile.informer import Informer
from mooring.reconcile.recorder import Recorder

_log = log.get("mooring.pod_gc")


class Effects:
    def __init__(self, client: Client, recorder: Recorder, pods: Informer[Pod]) -> None:
        self.counts = CollectionCounts()
        self.told: set[str] = set()  # uids of pods that wait for their node
        self._client = client
        self._recorder = recorder
        self._pods = pods

    async def perform(self, plan: Plan) -> None:
        """In order, up to the first step that fails.

        Raises: what the API said; try again later.
        """
        for step in plan.steps:
            match step:
                case ForceDelete():
                    with suppress(NotFound):
                        await self._force(step, plan.because)
                case Tell(emit):
                    self.told.add(emit.about.uid)
                    apply(emit, self._recorder)
                case other:
                    assert_never(other)

    async def is_gone(self, node: str) -> bool:
        """Whether the API says so now. Raises: ApiError, ConnectionLost."""
        try:
            await self._client.get(Node, Key("", node))
        except NotFound:
            return True
        return False

    async def collect(self, pod: Pod) -> None:
        """Delete a finished pod. Raises: ApiError, ConnectionLost."""
        with suppress(NotFound):
            await self._client.delete(pod, grace_seconds=0)
            self.counts.forced[pod.namespace, Why.TERMINATED] += 1

    async def _force(self, step: ForceDelete, because: str) -> None:
        pod = step.pod
        if not pod.is_finished:
            status: dict[str, Any] = {"phase": PodPhase.FAILED.value}
            if step.conditions != pod.status.conditions:
                status["conditions"] = msgspec.to_builtins(step.conditions)
            pod = await self._client.patch(pod, {"status": status}, Part.STATUS)
            self._pods.fold(pod)
        await self._client.delete(pod, grace_seconds=0)
        self.counts.forced[pod.namespace, step.why] += 1
        _log.info("pod forced", pod=pod.key, node=pod.spec.node_name, because=because)
