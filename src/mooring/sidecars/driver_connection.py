"""Connecting to the driver behind a socket, and noticing when it changes."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec

from mooring import log
from mooring.clock import Clock
from mooring.csi.capability import (
    ControllerCapability,
    GroupCapability,
    NodeCapability,
    PluginService,
)
from mooring.csi.channel import Connection
from mooring.csi.controller import Controller
from mooring.csi.group_snapshots import GroupSnapshots
from mooring.csi.identity import Identity
from mooring.csi.node import Node
from mooring.csi.outcome import Done, Uncertain
from mooring.csi.requests import DriverInfo
from mooring.csi.snapshots import Snapshots
from mooring.model.backoff import Backoff
from mooring.sidecars.driver import Abilities, Driver
from mooring.sidecars.health.calls import HealthOfDriver
from mooring.sidecars.own_node import OwnNode

_log = log.get("mooring.sidecars")

PAUSES = Backoff(first=0.1, cap=5.0)
ASKING_SECONDS = 5.0
SILENT_SECONDS = 2.0  # before the missing driver is logged

T = TypeVar("T")


class Lacking(msgspec.Struct, frozen=True):
    """A driver that cannot be used yet, and why."""

    what: str


class DriverConnection:
    """The driver behind one connection; it may not be there yet, and may become another."""

    def __init__(self, connection: Connection, clock: Clock, own_node: str = "") -> None:
        self._connection = connection
        self._own_node = own_node  # that it serves alone; empty: the driver reaches all volumes
        self._clock = clock
        self._identity = Identity(connection)
        self._controller = Controller(connection)
        self._snapshots = Snapshots(connection)
        self._groups = GroupSnapshots(connection)
        self._health = HealthOfDriver(connection)
        self._node = Node(connection)

    async def wait_ready(self) -> Driver:
        """Wait until the driver listens, is ready, and has told what it can do."""
        return await self._until_told(self._ask)

    async def wait_named(self) -> str:
        """The same, for its name alone.

        The part of a driver on a node may speak of a controller service that is served elsewhere.
        """
        return (await self._until_told(self._ask_info)).name

    async def _until_told(self, ask: Callable[[], Awaitable[T | Lacking]]) -> T:
        failures = 0
        while True:
            await self._listens()
            answer = await ask()
            if not isinstance(answer, Lacking):
                return answer
            failures += 1
            _log.info("waiting for a driver", at=self._connection.endpoint, because=answer.what)
            await self._clock.sleep(PAUSES.delay(failures))

    async def _listens(self) -> None:
        try:
            async with asyncio.timeout(SILENT_SECONDS):
                await self._connection.wait_ready()
        except TimeoutError:
            at = self._connection.endpoint
            _log.info("waiting for a driver", at=at, because="nobody listens there")
            await self._connection.wait_ready()

    async def changed(self, driver: Driver) -> Driver:
        """Return when the driver came back as another, or able to do something else."""
        while True:
            await self._connection.wait_lost()
            _log.warning("driver lost", driver=driver.name, at=self._connection.endpoint)
            now = await self.wait_ready()
            if _told(now) != _told(driver):
                return now

    async def _ask_info(self) -> DriverInfo | Lacking:
        ready = await self._identity.probe(within=ASKING_SECONDS)
        if not isinstance(ready, Done):
            return Lacking(ready.text)
        if not ready.value:
            return Lacking("it is not ready yet")
        info = await self._identity.get_info(within=ASKING_SECONDS)
        if not isinstance(info, Done):
            return Lacking(info.text)
        self._connection.driver = info.value.name
        return info.value

    async def _ask(self) -> Driver | Lacking:
        info = await self._ask_info()
        if isinstance(info, Lacking):
            return info
        told = await self._identity.capabilities(within=ASKING_SECONDS)
        if not isinstance(told, Done):
            return Lacking(told.text)
        able: frozenset[ControllerCapability] = frozenset()
        if PluginService.CONTROLLER_SERVICE in told.value.services:
            controller = await self._controller.capabilities(within=ASKING_SECONDS)
            if not isinstance(controller, Done):
                return Lacking(controller.text)
            able = controller.value
        grouped: frozenset[GroupCapability] = frozenset()
        if PluginService.GROUP_CONTROLLER_SERVICE in told.value.services:
            groups = await self._groups.capabilities(within=ASKING_SECONDS)
            if not isinstance(groups, Done):
                return Lacking(groups.text)
            grouped = groups.value
        abilities = Abilities(told.value.services, able, told.value.expansion, groups=grouped)
        if not abilities.expands:
            node = await self._node.capabilities(within=ASKING_SECONDS)
            if isinstance(node, Uncertain):
                return Lacking(node.text)
            # A driver without a node part at this socket refuses.
            expands = isinstance(node, Done) and NodeCapability.EXPAND_VOLUME in node.value
            abilities = msgspec.structs.replace(abilities, node_expands=expands)
        own_node = await self._ask_own_node(abilities) if self._own_node else None
        if isinstance(own_node, Lacking):
            return own_node
        calls = self._controller, self._snapshots, self._groups, self._health
        return Driver(info.name, abilities, *calls, own_node)

    async def _ask_own_node(self, abilities: Abilities) -> OwnNode | Lacking:
        told = await self._node.get_info(within=ASKING_SECONDS)
        match told:
            case Done(info) if abilities.has_topology:
                return OwnNode(self._own_node, info.topology)
            case Uncertain():
                return Lacking(told.text)
            case _:  # one without a node part at this socket refuses
                return OwnNode(self._own_node)


def _told(driver: Driver) -> tuple[object, ...]:
    return driver.name, driver.abilities, driver.own_node
