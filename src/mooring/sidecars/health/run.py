"""The health monitor of one driver at work: it asks in rounds, as drivers never call back.

A driver that lists is asked once a round; one that does not is asked for each volume, each once a
round, by a bounded number of workers.
"""

import asyncio
from enum import Enum, auto
from functools import partial
from typing import Final

from mooring import log
from mooring.csi.capability import ControllerCapability
from mooring.csi.cause import because_of
from mooring.csi.outcome import Done
from mooring.csi.volume import Condition
from mooring.model.backoff import Backoff
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.volume import Volume
from mooring.reconcile.loops import Loops
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.worker import Settled, Verdict, lasting, serve
from mooring.sidecars.driver import Abilities, Driver, HealthCalls
from mooring.sidecars.health.decide import decide_condition, decide_health
from mooring.sidecars.health.effects import Effects, condition_of, found_by_get, reported
from mooring.sidecars.health.view import (
    Before,
    ConditionView,
    HealthView,
    NotListed,
    Reported,
)
from mooring.sidecars.options import SidecarOptions
from mooring.sidecars.writing import ConflictBackoff

_log = log.get("mooring.health")

WORKERS = 10
CALL_SECONDS = 15.0
ROUND_SECONDS = 60.0
LIST_SECONDS = 300.0  # of drivers up to 1.12, as upstream
DROPPED_SECONDS = 1800.0  # where the API server keeps no health
RETRY: Final = Backoff(first=1.0, cap=300.0)
BY_CSI_DRIVER: Final = "csi driver"


class Mode(Enum):
    """How a driver is asked."""

    LIST_HEALTH = auto()
    GET_HEALTH = auto()
    LIST_CONDITIONS = auto()
    GET_CONDITION = auto()
    NOT_AT_ALL = auto()


def mode_of(abilities: Abilities) -> Mode:
    """The RPCs of 1.13 before those of 1.12, and lists before single questions."""
    can, capability = abilities.can, ControllerCapability
    if can(capability.LIST_VOLUME_HEALTH):
        return Mode.LIST_HEALTH
    if can(capability.GET_VOLUME_HEALTH):
        return Mode.GET_HEALTH
    if can(capability.VOLUME_CONDITION) and can(capability.LIST_VOLUMES):
        return Mode.LIST_CONDITIONS
    if can(capability.VOLUME_CONDITION) and can(capability.GET_VOLUME):
        return Mode.GET_CONDITION
    return Mode.NOT_AT_ALL


class Caches:
    """Index functions have names: monitors of many drivers then share the indexes."""

    def __init__(self, loops: Loops) -> None:
        self.claims = loops.informer(Claim)
        self.volumes = loops.informer(Volume)
        self.volumes.add_index(BY_CSI_DRIVER, _drivers)

    async def synced(self) -> None:
        await self.claims.synced.wait()
        await self.volumes.synced.wait()


def watch(loops: Loops, _options: SidecarOptions) -> None:
    """Ask for all informers that health monitors share."""
    Caches(loops)


def build(loops: Loops, driver: Driver, options: SidecarOptions) -> "HealthMonitor":
    """The health monitor of one driver."""
    component = f"csi-pv-monitor-controller-{driver.name}"
    caches = Caches(loops)
    recorder = loops.recorder(component, counted_as=f"{driver.name}/health")
    effects = Effects(loops.client, loops.clock, caches.claims, recorder)
    monitor = HealthMonitor(loops, driver, caches, effects)
    loops.add(monitor.run, {f"{driver.name}/health": monitor.queue})
    return monitor


class HealthMonitor:
    """Serves one driver while `run` runs."""

    def __init__(self, loops: Loops, driver: Driver, caches: Caches, effects: Effects) -> None:
        self.queue: KeyedQueue[Key] = KeyedQueue(loops.clock, RETRY)
        self.mode = mode_of(driver.abilities)
        self._clock = loops.clock
        self._driver = driver
        self._caches = caches
        self._effects = effects
        self._outruns = ConflictBackoff()
        self._health: dict[str, Reported] = {}  # by handle, from the last list
        self._conditions: dict[str, Condition] = {}  # likewise
        self._absences: dict[str, int] = {}  # by handle: complete lists without it, in a row
        self._abnormal: set[str] = set()  # handles that events called so

    async def run(self) -> None:
        calls = self._driver.health
        if self.mode is Mode.NOT_AT_ALL or calls is None:
            return
        await self._caches.synced()
        async with asyncio.TaskGroup() as tasks:
            for _ in range(WORKERS):
                tasks.create_task(serve(self.queue, self.reconcile))
            tasks.create_task(lasting("health", self._clock, partial(self._ask_for_ever, calls)))

    async def _ask_for_ever(self, calls: HealthCalls) -> None:
        while True:
            await self.ask_round(calls)
            await self._clock.sleep(self._pause)

    @property
    def _pause(self) -> float:
        if self._effects.is_dropped:
            return DROPPED_SECONDS
        return LIST_SECONDS if self.mode is Mode.LIST_CONDITIONS else ROUND_SECONDS

    async def ask_round(self, calls: HealthCalls) -> None:
        """Ask for the list, if the driver has one; then every volume is looked at."""
        volumes = self._volumes()
        if not volumes:
            return
        if self.mode is Mode.LIST_HEALTH and not await self._list_health(calls, volumes):
            return
        if self.mode is Mode.LIST_CONDITIONS and not await self._list_conditions(calls):
            return
        for volume in volumes.values():
            self.queue.add(volume.key)

    def _volumes(self) -> dict[str, Volume]:
        """The bound ones, by handle."""
        return {
            volume.spec.csi.volume_handle: volume
            for volume in self._caches.volumes.by_index(BY_CSI_DRIVER, self._driver.name)
            if volume.spec.csi is not None and volume.is_bound and not volume.is_deleting
            if self._driver.reaches(volume)
        }

    async def _list_health(self, calls: HealthCalls, volumes: dict[str, Volume]) -> bool:
        """Whether there was a whole list; half of one says nothing."""
        outcome = await calls.list_health(within=CALL_SECONDS)
        if not isinstance(outcome, Done):
            _log.warning("health not listed", driver=self._driver.name, because=outcome.text)
            return False
        self._health = {one.volume_id: reported(one) for one in outcome.value}
        absent = volumes.keys() - self._health.keys()
        self._absences = {handle: self._absences.get(handle, 0) + 1 for handle in absent}
        return True

    async def _list_conditions(self, calls: HealthCalls) -> bool:
        outcome = await calls.list_states(within=CALL_SECONDS)
        if not isinstance(outcome, Done):
            _log.warning("volumes not listed", driver=self._driver.name, because=outcome.text)
            return False
        self._conditions = {
            one.volume.volume_id: one.condition
            for one in outcome.value
            if one.condition is not None
        }
        return True

    async def reconcile(self, key: Key) -> Verdict:
        volume, calls = self._caches.volumes.get(key), self._driver.health
        claim = self._claim_of(volume)
        if volume is None or claim is None or volume.spec.csi is None or calls is None:
            return Settled()
        handle = volume.spec.csi.volume_handle
        with because_of(claim):
            return await self._outruns.look_again(key, self._look(claim, handle, calls))

    async def _look(self, claim: Claim, handle: str, calls: HealthCalls) -> Verdict:
        match self.mode:
            case Mode.LIST_HEALTH:
                listed = self._health.get(handle) or NotListed(self._absences.get(handle, 0))
                await self._tell_health(claim, listed)
            case Mode.GET_HEALTH:
                outcome = await calls.get_health(handle, within=CALL_SECONDS)
                report = found_by_get(outcome)
                if report is not None:
                    await self._tell_health(claim, report)
            case Mode.LIST_CONDITIONS:
                await self._tell_condition(claim, handle, self._conditions.get(handle))
            case Mode.GET_CONDITION:
                state = await calls.get_state(handle, within=CALL_SECONDS)
                await self._tell_condition(claim, handle, condition_of(state))
            case Mode.NOT_AT_ALL:
                pass
        return Settled()

    async def _tell_health(self, claim: Claim, report: Reported | NotListed) -> None:
        await self._effects.perform(decide_health(HealthView(claim, report)))

    async def _tell_condition(self, claim: Claim, handle: str, condition: Condition | None) -> None:
        if condition is None:  # not said: nothing changes
            return
        before = Before.ABNORMAL if handle in self._abnormal else Before.FINE
        view = ConditionView(claim, condition.abnormal, condition.message, before)
        await self._effects.perform(decide_condition(view))
        if condition.abnormal:
            self._abnormal.add(handle)
        else:
            self._abnormal.discard(handle)

    def _claim_of(self, volume: Volume | None) -> Claim | None:
        """The claim that the volume is bound to, by its uid."""
        if volume is None or not volume.is_bound or volume.spec.claim_ref is None:
            return None
        reference = volume.spec.claim_ref
        claim = self._caches.claims.get(Key(reference.namespace, reference.name))
        return claim if claim is not None and claim.uid == reference.uid else None


def _drivers(volume: Volume) -> tuple[str, ...]:
    return (volume.spec.csi.driver,) if volume.spec.csi is not None else ()
