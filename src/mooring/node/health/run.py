"""Health on a node at work: drivers are asked in rounds, as they never call back.

Each driver is a key with rounds of its own, so one that hangs delays only itself.
"""

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from mooring import log
from mooring.csi.capability import NodeCapability
from mooring.csi.outcome import Done
from mooring.errors import Conflict
from mooring.model.backoff import Backoff
from mooring.model.csi_node import CsiNode
from mooring.model.health import HealthCondition, PodVolumeHealth, StorageCondition
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.model.timestamp import to_seconds
from mooring.node.context import NodeContext
from mooring.node.health.answers import BadAnswer, of_storage
from mooring.node.health.ask import (
    CALL_SECONDS,
    Answer,
    VolumeQuestions,
    asks_volumes,
    volumes_of_driver,
)
from mooring.node.health.decide import decide_pod, decide_storage
from mooring.node.health.effects import Effects
from mooring.node.health.metrics import HealthMetrics
from mooring.node.health.plan import WritePodHealth
from mooring.node.health.view import PodView, StorageView
from mooring.plugins.csi.drivers import Driver, Drivers
from mooring.plugins.csi.paths import CsiPaths
from mooring.reconcile.loops import Loops
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.worker import Again, Settled, Verdict, serve

WORKERS = 16  # drivers that are asked at once
RETRY: Final = Backoff(first=1.0, cap=300.0)

_log = log.get("mooring.node.health")

FindPod = Callable[[Key], Pod | None]


def build(
    loops: Loops, context: NodeContext, drivers: Drivers, find_pod: FindPod, period: float
) -> "NodeHealthRounds":
    rounds = NodeHealthRounds(context, drivers, find_pod, period)
    loops.add(rounds.run, {"node_health": rounds.queue})
    loops.count(rounds.metrics)
    return rounds


class NodeHealthRounds:
    """`run` runs them until cancelled."""

    def __init__(
        self, context: NodeContext, drivers: Drivers, find_pod: FindPod, period: float
    ) -> None:
        self.queue: KeyedQueue[str] = KeyedQueue(context.clock, RETRY)  # of drivers
        self.metrics = HealthMetrics()
        self._context = context
        self._drivers = drivers
        self._find_pod = find_pod
        self._period = period
        self._paths = CsiPaths(context.host.layout)
        self._effects = Effects(context.client, context.clock, context.recorder)
        self._told: dict[str, tuple[PodVolumeHealth, ...]] = {}  # by pod uid
        self._stored: dict[str, tuple[StorageCondition, ...]] = {}  # by driver, as the API has it
        drivers.on_come(self._changed)
        drivers.on_go(self._changed)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(WORKERS):
                tasks.create_task(serve(self.queue, self.reconcile))

    def _changed(self, driver: str) -> None:
        self._stored.pop(driver, None)  # the CSINode may be another than before
        self.queue.add(driver)

    async def reconcile(self, name: str) -> Verdict:
        driver = self._drivers.find(name)
        if driver is None:
            self.metrics.forget(name)
            await self._tell_storage(name, ())
            return Settled()
        known = await driver.node.capabilities(within=CALL_SECONDS)
        if not isinstance(known, Done):
            return Again(self._period)
        can = known.value
        has_storage = NodeCapability.GET_STORAGE_HEALTH in can
        if has_storage:
            await self._look_at_storage(driver)
        if asks_volumes(can):
            await self._look_at_volumes(driver, can)
        return Again(self._period) if has_storage or asks_volumes(can) else Settled()

    # storage

    async def _look_at_storage(self, driver: Driver) -> None:
        """Secrets are never sent: the node has none for a driver as a whole."""
        outcome = await driver.health.get_storage(within=CALL_SECONDS)
        if not isinstance(outcome, Done):
            _log.info("health of storage unknown", driver=driver.name, because=outcome.text)
            return
        try:
            said = of_storage(outcome.value)
        except BadAnswer as error:
            _log.warning("health of storage is refused", driver=driver.name, because=error)
            return
        self.metrics.storage[driver.name] = said
        await self._tell_storage(driver.name, said)

    async def _tell_storage(self, driver: str, said: tuple[StorageCondition, ...]) -> None:
        """Nothing is read or written while the driver says what the API has already."""
        stored = self._stored.get(driver)
        if stored is not None and {one.key for one in stored} == {one.key for one in said}:
            return
        if not self._effects.may_write(CsiNode):
            return
        try:
            await self._write_storage(driver, said)
        except Conflict:  # registration writes the CSINode too
            await self._write_storage(driver, said)

    async def _write_storage(self, driver: str, said: tuple[StorageCondition, ...]) -> None:
        csi_node = await self._effects.read_csi_node(self._context.own_node.name)
        if csi_node is None:
            return
        view = StorageView(csi_node, driver, said, to_seconds(self._context.clock.now()))
        await self._effects.perform(decide_storage(view))
        self._stored[driver] = said

    # volumes

    async def _look_at_volumes(self, driver: Driver, can: frozenset[NodeCapability]) -> None:
        context = self._context
        volumes = volumes_of_driver(context.desired, context.actual, self._paths, driver.name)
        answers = await VolumeQuestions(driver, can).ask(tuple(volumes))
        self._measure(driver.name, answers)
        by_pod: dict[str, list[Answer]] = {}
        for answer in answers:
            if answer.conditions is not None:
                by_pod.setdefault(answer.asked.pod.uid, []).append(answer)
        here = set(context.actual.pods())
        for uid in self._told.keys() - here - by_pod.keys():
            del self._told[uid]
        for told in by_pod.values():
            await self._tell_pod(told[0].asked.pod, told)

    async def _tell_pod(self, asked: Pod, answers: Iterable[Answer]) -> None:
        """After a conflict it is decided anew, once, on the newest version."""
        said = {name: answer.conditions or () for answer in answers for name in answer.asked.names}
        pod = self._find_pod(asked.key)
        try:
            await self._tell(asked.uid, pod, said)
        except Conflict:
            await self._tell(asked.uid, await self._effects.read_pod(asked.key), said)

    async def _tell(
        self, uid: str, pod: Pod | None, said: dict[str, tuple[HealthCondition, ...]]
    ) -> None:
        if pod is None or pod.uid != uid or pod.is_finished:
            return
        known = pod.status.volume_health or self._told.get(uid, ())
        plan = decide_pod(PodView(pod, known, said, to_seconds(self._context.clock.now())))
        await self._effects.perform(plan)
        for step in plan.steps:
            if isinstance(step, WritePodHealth):
                self._told[uid] = step.entries

    def _measure(self, driver: str, answers: Iterable[Answer]) -> None:
        """What was not answered stays as it was."""
        before = self.metrics.volumes.get(driver, {})
        found: dict[Key, bool] = {}
        for answer in answers:
            for claim in filter(None, map(partial(_claim, answer.asked.pod), answer.asked.names)):
                if answer.conditions is not None:
                    found[claim] = bool(answer.conditions) or found.get(claim, False)
                elif claim in before:
                    found.setdefault(claim, before[claim])
        self.metrics.volumes[driver] = found


def _claim(pod: Pod, name: str) -> Key | None:
    for volume in pod.spec.volumes:
        if volume.name == name:
            claim = pod.find_claim_name(volume)
            return None if claim is None else Key(pod.namespace, claim)
    return None
