"""Telling of health: in the statuses of pods and of the CSINode, and as events."""

from typing import assert_never

import msgspec

from mooring import log
from mooring.client.contract import Client, Part
from mooring.clock import Clock
from mooring.errors import Forbidden, NotFound
from mooring.model.csi_node import CsiNode
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.model.steps import Emit
from mooring.node.health.plan import Plan, WritePodHealth, WriteStorageHealth
from mooring.reconcile.apply import apply
from mooring.reconcile.recorder import Recorder

DROPPED_SECONDS = 1800.0  # where the API server keeps no health, it is tried so often

_log = log.get("mooring.node.health")


class Effects:
    def __init__(self, client: Client, clock: Clock, recorder: Recorder) -> None:
        self._client = client
        self._clock = clock
        self._recorder = recorder
        self._not_before = {Pod: 0.0, CsiNode: 0.0}

    def may_write(self, kind: type[Pod] | type[CsiNode]) -> bool:
        """Whether the API server may keep the health of this kind."""
        return self._clock.monotonic() >= self._not_before[kind]

    async def perform(self, plan: Plan) -> None:
        """Raises: ApiError, ConnectionLost."""
        for step in plan.steps:
            match step:
                case Emit():
                    apply(step, self._recorder)
                case WritePodHealth(pod, entries):
                    if self.may_write(Pod):
                        await self._write_pod(pod, {"volumeHealth": msgspec.to_builtins(entries)})
                case WriteStorageHealth(csi_node, entries):
                    await self._write_storage(csi_node, msgspec.to_builtins(entries))
                case other:
                    assert_never(other)

    async def read_pod(self, key: Key) -> Pod | None:
        try:
            return await self._client.get(Pod, key)
        except NotFound:
            return None

    async def read_csi_node(self, name: str) -> CsiNode | None:
        try:
            return await self._client.get(CsiNode, Key("", name))
        except NotFound:
            return None

    async def _write_pod(self, pod: Pod, status: dict[str, object]) -> None:
        try:
            written = await self._client.patch(pod, {"status": status}, Part.STATUS)
        except NotFound:
            return  # the pod is gone
        if not written.status.volume_health:
            self._dropped(Pod)

    async def _write_storage(self, csi_node: CsiNode, entries: list[object]) -> None:
        change = {"status": {"storageHealth": entries or None}}
        try:
            written = await self._client.patch(csi_node, change, Part.STATUS)
        except (NotFound, Forbidden):  # a server before 1.37, or without its feature gate
            self._dropped(CsiNode)
            return
        if entries and not written.status.storage_health:
            self._dropped(CsiNode)

    def _dropped(self, kind: type[Pod] | type[CsiNode]) -> None:
        self._not_before[kind] = self._clock.monotonic() + DROPPED_SECONDS
        _log.info("the API server keeps no health here", kind=kind.resource.kind)
