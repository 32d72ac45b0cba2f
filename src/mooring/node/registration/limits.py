"""How many volumes drivers take on this node, asked again: now and then, if their CSIDriver says
so, and at once when an attachment failed because the node was full."""

import asyncio
from contextlib import suppress
from typing import Protocol

from mooring import log
from mooring.clock import Clock
from mooring.csi.outcome import Done
from mooring.errors import MooringError
from mooring.model.csi_driver import CsiDriver
from mooring.model.keys import Key
from mooring.node.registration.announce import Announcer
from mooring.node.registration.handshake import NODE_INFO_SECONDS
from mooring.plugins.csi.drivers import Driver, Drivers
from mooring.reconcile.deadline import within

_log = log.get("mooring.node.registration")


class DriverObjects(Protocol):
    def get(self, key: Key) -> CsiDriver | None: ...


class VolumeLimits:
    """`run` runs it until cancelled."""

    def __init__(
        self, drivers: Drivers, objects: DriverObjects, announcer: Announcer, clock: Clock
    ) -> None:
        self._drivers = drivers
        self._objects = objects
        self._announcer = announcer
        self._clock = clock
        self._asked: dict[str, float] = {}  # when each driver was last asked
        self._doubted: set[str] = set()
        self._news = asyncio.Event()
        drivers.on_come(self._came)
        drivers.on_full(self._full)

    async def run(self) -> None:
        while True:
            self._news.clear()
            due = {
                driver.name: at for driver in self._drivers if (at := self._due(driver)) is not None
            }
            now = self._clock.monotonic()
            for name in [name for name, at in due.items() if at <= now]:
                await self._refresh(name)
            later = [at for at in due.values() if at > now]
            if len(later) < len(due):
                continue  # what was asked is due anew
            with suppress(TimeoutError):
                if later:
                    async with within(self._clock, min(later) - now):
                        await self._news.wait()
                else:
                    await self._news.wait()

    def changed(self, _: CsiDriver | None, __: CsiDriver | None) -> None:
        """For an informer of CSIDrivers."""
        self._news.set()

    def _came(self, name: str) -> None:
        self._asked[name] = self._clock.monotonic()
        self._news.set()

    def _full(self, name: str) -> None:
        self._doubted.add(name)
        self._news.set()

    def _due(self, driver: Driver) -> float | None:
        """When it is to be asked; None: never."""
        known = self._objects.get(Key("", driver.name))
        period = None if known is None else known.spec.node_allocatable_update_period_seconds
        asked = self._asked.setdefault(driver.name, self._clock.monotonic())
        if driver.name in self._doubted:
            return asked
        return None if period is None else asked + period

    async def _refresh(self, name: str) -> None:
        self._asked[name] = self._clock.monotonic()
        self._doubted.discard(name)
        driver = self._drivers.find(name)
        if driver is None:
            return
        told = await driver.node.get_info(within=NODE_INFO_SECONDS)
        try:
            if not isinstance(told, Done):
                raise MooringError(told.text)
            await self._announcer.update(name, told.value)
        except MooringError as error:
            _log.warning("a driver's limit is not known anew", driver=name, because=error)
