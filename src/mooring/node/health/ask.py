"""Asking one driver about the volumes that its pods have here, a few at a time."""

import asyncio
from collections.abc import Iterable, Iterator

import msgspec

from mooring import log
from mooring.csi.capability import NodeCapability
from mooring.csi.outcome import Code, Done, Refused, Uncertain
from mooring.model.health import HealthCondition
from mooring.model.pod import Pod
from mooring.model.storage_terms import VolumeMode
from mooring.model.volume_source import CsiSource
from mooring.node.actual import Actual, ActualVolume, DeviceState
from mooring.node.desired import Desired
from mooring.node.health.answers import of_condition, of_volume
from mooring.plugins.csi.drivers import Driver
from mooring.plugins.csi.paths import CsiPaths

CALL_SECONDS = 15.0
AT_ONCE = 4  # calls to one driver

_log = log.get("mooring.node.health")


class Asked(msgspec.Struct, frozen=True):
    """One volume of one pod, as a driver knows it."""

    pod: Pod
    names: frozenset[str]  # in the pod
    handle: str
    published: str  # "": it is not, nor was it tried
    staged: str


class Answer(msgspec.Struct, frozen=True):
    asked: Asked
    conditions: tuple[HealthCondition, ...] | None  # None: the driver did not say


def volumes_of_driver(
    desired: Desired, actual: Actual, paths: CsiPaths, driver: str
) -> Iterator[Asked]:
    """Persistent volumes that are here, or were tried; inline ones have no life of their own."""
    for wanted in tuple(desired.volumes()):
        volume = wanted.use.volume
        source = None if volume is None else volume.spec.csi
        here = actual.find(wanted.name)
        if source is None or source.driver != driver or here is None:
            continue
        for uid, by in wanted.pods.items():
            published = _published(paths, here, uid) if uid in here.pods else ""
            staged = _staged(paths, here, source)
            yield Asked(by.pod, by.outer_names, source.volume_handle, published, staged)


def _published(paths: CsiPaths, here: ActualVolume, pod_uid: str) -> str:
    if here.use.mode is VolumeMode.BLOCK:
        return str(paths.block_publishes(here.use.name) / pod_uid)
    return str(paths.target(pod_uid, here.use.name))


def _staged(paths: CsiPaths, here: ActualVolume, source: CsiSource) -> str:
    if here.device is DeviceState.NOT_MOUNTED:
        return ""
    if here.use.mode is VolumeMode.BLOCK:
        return str(paths.block_staging(here.use.name))
    return str(paths.staging(source.driver, source.volume_handle))


class VolumeQuestions:
    """To one driver, in one round. After a call that hangs, the rest of the round is left out."""

    def __init__(self, driver: Driver, can: frozenset[NodeCapability]) -> None:
        self._driver = driver
        self._stages = NodeCapability.STAGE_UNSTAGE_VOLUME in can
        self._has_health = NodeCapability.GET_VOLUME_HEALTH in can
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._hangs = False

    async def ask(self, volumes: Iterable[Asked]) -> list[Answer]:
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(self._ask(each)) for each in volumes]
        return [task.result() for task in running]

    async def _ask(self, asked: Asked) -> Answer:
        async with self._slots:
            if self._hangs:
                return Answer(asked, None)
            return Answer(asked, await self._conditions(asked))

    async def _conditions(self, asked: Asked) -> tuple[HealthCondition, ...] | None:
        if self._has_health:
            health = await self._driver.health.get(
                asked.handle,
                asked.published,
                asked.staged if self._stages else "",
                within=CALL_SECONDS,
            )
            if isinstance(health, Done):
                return of_volume(health.value)
            self._note(asked, health)
            return None
        if not asked.published:
            return None
        stats = await self._driver.node.get_stats(
            asked.handle, asked.published, within=CALL_SECONDS
        )
        if not isinstance(stats, Done):
            self._note(asked, stats)
            return None
        condition = stats.value.condition
        return None if condition is None else of_condition(condition)

    def _note(self, asked: Asked, outcome: Refused | Uncertain) -> None:
        """That it was not answered: what is known of the volume stays."""
        self._hangs = self._hangs or outcome.code is Code.DEADLINE_EXCEEDED
        because = outcome.text
        _log.info("health unknown", driver=self._driver.name, volume=asked.handle, because=because)


def asks_volumes(can: frozenset[NodeCapability]) -> bool:
    """The RPC of 1.13, or the condition that drivers up to 1.12 put into their statistics."""
    older = {NodeCapability.GET_VOLUME_STATS, NodeCapability.VOLUME_CONDITION}
    return NodeCapability.GET_VOLUME_HEALTH in can or older <= can
