"""The role `sidecars`: all sidecars of many drivers in one process, on one set of informers.

Each sidecar of each driver has `Loops` of its own, which live while the driver is served and this
process has the lease: a driver that goes takes its handlers, queues and figures with it.
"""

import asyncio
import socket
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Final

import msgspec
from prometheus_client import Metric
from prometheus_client.registry import Collector

from mooring import log
from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.csi.cause import asked_by
from mooring.csi.channel import Connection, Observer
from mooring.csi.metrics import OF_SIDECAR, calls_histogram, observing
from mooring.model.keys import Key
from mooring.reconcile.leadership import FencedClient
from mooring.reconcile.lease import TERMS, LeaderElection, Terms
from mooring.reconcile.loops import Loops
from mooring.reconcile.worker import lasting
from mooring.sidecars.attacher import run as attacher
from mooring.sidecars.driver import Abilities, Driver
from mooring.sidecars.driver_connection import DriverConnection
from mooring.sidecars.fenced import FencedCalls, FencedGroupCalls, FencedSnapshotCalls
from mooring.sidecars.health import run as health
from mooring.sidecars.lease_holders import LeaseHolders
from mooring.sidecars.lease_name import (
    lease_of_attacher,
    lease_of_health_monitor,
    lease_of_provisioner,
    lease_of_resizer,
    lease_of_snapshotter,
)
from mooring.sidecars.options import SidecarOptions
from mooring.sidecars.provisioner import run as provisioner
from mooring.sidecars.resizer import run as resizer
from mooring.sidecars.snapshotter import run as snapshotter

_log = log.get("mooring.sidecars")

NAME: Final = "sidecars"


class Sidecar(msgspec.Struct, frozen=True):
    lease: Callable[[str], str]  # its name, by the driver's: that of upstream's sidecar
    watch: Callable[[Loops, SidecarOptions], object]  # its informers fill before a driver comes
    build: Callable[[Loops, Driver, SidecarOptions], object]
    is_needed: Callable[[Abilities], bool] = lambda _: True
    needs_place: bool = True  # where it serves one node: the driver has to name that one's place


SIDECARS: Final[Mapping[str, Sidecar]] = {
    "provisioner": Sidecar(lease_of_provisioner, provisioner.watch, provisioner.build),
    "attacher": Sidecar(lease_of_attacher, attacher.watch, attacher.build),
    "resizer": Sidecar(
        lease_of_resizer,
        resizer.watch,
        resizer.build,
        is_needed=lambda abilities: abilities.needs_resizer,
    ),
    "snapshotter": Sidecar(
        lease_of_snapshotter,
        snapshotter.watch,
        snapshotter.build,
        is_needed=lambda abilities: abilities.needs_snapshotter,
        needs_place=False,  # a label says which node's a snapshot is
    ),
    "health-monitor": Sidecar(
        lease_of_health_monitor,
        health.watch,
        health.build,
        is_needed=lambda abilities: health.mode_of(abilities) is not health.Mode.NOT_AT_ALL,
    ),
}


class Leases(msgspec.Struct, frozen=True):
    """One per driver and sidecar, so that no other process works beside this one."""

    namespace: str = ""  # empty: this process is alone and needs no lease
    identity: str = ""  # empty: another one for each process
    terms: Terms = TERMS
    yields: bool = False  # to who holds a lease of the same name, in whichever namespace
    alone_for: frozenset[str] = frozenset()  # drivers without sidecars of their own: no yielding


Connect = Callable[[str, str, Observer, Clock], Connection]
"""To a socket, and the name of its driver as far as it is known."""


def dial(endpoint: str, driver: str, observer: Observer, clock: Clock) -> Connection:
    return Connection(endpoint, driver=driver, observer=observer, clock=clock)


NO_LEASES: Final = Leases()
NO_OPTIONS: Final[Mapping[str, SidecarOptions]] = {}


class SidecarsRole:
    """`Role`: the sidecars of every driver that it is given; `run` runs until cancelled."""

    name: Final = NAME

    def __init__(
        self,
        loops: Loops,
        options: SidecarOptions,
        leases: Leases = NO_LEASES,
        sidecars: Iterable[str] = SIDECARS,
        by_driver: Mapping[str, SidecarOptions] = NO_OPTIONS,
        connect: Connect = dial,
    ) -> None:
        process = f"{socket.gethostname()}_{uuid.UUID(int=loops.rng.getrandbits(128))}"
        self._loops = loops
        self._options = msgspec.structs.replace(options, identity=options.identity or process)
        self._leases = msgspec.structs.replace(leases, identity=leases.identity or process)
        self._by_driver = by_driver
        self._connect = connect
        self._sidecars = {name: SIDECARS[name] for name in sorted(sidecars)}
        self._others = LeaseHolders(loops, leases.namespace) if leases.yields else None
        self._calls = calls_histogram(OF_SIDECAR)
        self._running: list[Loops] = []
        self._endpoints: dict[str, str] = {}  # by driver, or by themselves
        self._names: dict[str, str] = {}  # likewise; empty: any driver that answers there
        self._serving: dict[str, asyncio.Task[None]] = {}
        self._tasks: asyncio.TaskGroup | None = None
        for sidecar in self._sidecars.values():
            sidecar.watch(loops, options)
        loops.count(self._calls, _Running(self._running))
        loops.add(self._run)

    def add(self, driver: str, endpoint: str) -> None:
        """Serve the driver at this socket from now on, instead of any other of its name."""
        if self._endpoints.get(driver) != endpoint:
            self.remove(driver)
            self._add(driver, endpoint, driver)

    def add_unnamed(self, endpoint: str) -> None:
        """Serve the driver that answers at this socket, for as long as this runs."""
        self._add(endpoint, endpoint, "")

    def remove(self, driver: str) -> None:
        """Serve it no longer; what was begun is finished by the next process that serves it."""
        self._endpoints.pop(driver, None)
        self._names.pop(driver, None)
        task = self._serving.pop(driver, None)
        if task is not None:
            task.cancel()

    async def run(self) -> None:
        await self._loops.run()

    async def synced(self) -> None:
        await self._loops.synced()

    def collectors(self) -> Iterable[Collector]:
        return self._loops.collectors()

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            try:
                for key in self._endpoints:
                    self._begin(tasks, key)
                await asyncio.Event().wait()  # there may be no driver yet
            finally:
                self._tasks = None

    # one driver

    def _add(self, key: str, endpoint: str, name: str) -> None:
        self._endpoints[key], self._names[key] = endpoint, name
        if self._tasks is not None:
            self._begin(self._tasks, key)

    def _begin(self, tasks: asyncio.TaskGroup, key: str) -> None:
        serve = partial(self._serve_as, self._names[key], self._endpoints[key])
        served = lasting(NAME, self._loops.clock, serve, key)
        self._serving[key] = tasks.create_task(served)

    async def _serve_as(self, name: str, endpoint: str) -> None:
        with asked_by(NAME):
            await self._serve(name, endpoint)

    async def _serve(self, name: str, endpoint: str) -> None:
        clock = self._loops.clock
        observer = observing(self._calls, name) if name else observing(self._calls)
        async with self._connect(endpoint, name, observer, clock) as connection:
            there = DriverConnection(connection, clock, self._options.node)
            driver = await there.wait_ready()
            while True:
                if name and driver.name != name:
                    _log.warning("a socket lies about its driver", says=driver.name, expected=name)
                    driver = await there.changed(driver)
                    continue
                driver = await self._serve_until_changed(driver, there)

    async def _serve_until_changed(self, driver: Driver, there: DriverConnection) -> Driver:
        _log.info("serving a driver", driver=driver.name)
        async with asyncio.TaskGroup() as tasks:
            parts = [
                tasks.create_task(self._stand(name, sidecar, driver))
                for name, sidecar in self._sidecars.items()
                if sidecar.is_needed(driver.abilities) and _has_place(name, sidecar, driver)
            ]
            changed = await there.changed(driver)
            for part in parts:
                part.cancel()
        return changed

    async def _stand(self, name: str, sidecar: Sidecar, driver: Driver) -> None:
        with asked_by(name):
            await self._stand_for(sidecar, driver)

    async def _stand_for(self, sidecar: Sidecar, driver: Driver) -> None:
        """Run it while this process leads, by a lease of upstream's name."""
        leases = self._leases
        if not leases.namespace:
            await self._lead(sidecar, driver, self._loops.client)
            return
        lease = Key(leases.namespace, sidecar.lease(driver.name))
        if self._others is None or driver.name in leases.alone_for:
            await self._elect(sidecar, driver, lease)
            return
        while True:
            await self._others.wait_free(lease.name)
            async with asyncio.TaskGroup() as tasks:
                elected = tasks.create_task(self._elect(sidecar, driver, lease))
                await self._others.wait_taken(lease.name)
                elected.cancel()

    async def _elect(self, sidecar: Sidecar, driver: Driver, lease: Key) -> None:
        loops, leases = self._loops, self._leases
        election = LeaderElection(
            loops.client, loops.clock, loops.rng, lease, leases.identity, leases.terms
        )
        fence = election.leadership
        fenced = msgspec.structs.replace(
            driver,
            calls=FencedCalls(driver.calls, fence),
            snapshots=FencedSnapshotCalls(driver.snapshots, fence),
            groups=FencedGroupCalls(driver.groups, fence),
        )
        client = FencedClient(loops.client, fence)

        async def lead() -> None:
            await loops.caught_up(election.taken_from)  # with what the leader before wrote last
            await self._lead(sidecar, fenced, client)

        await election.run(lead)

    async def _lead(self, sidecar: Sidecar, driver: Driver, client: Client) -> None:
        loops = self._loops.part(client)
        self._running.append(loops)
        try:
            sidecar.build(loops, driver, self._options_of(driver.name))
            await loops.run()
        finally:
            self._running.remove(loops)
            loops.close()

    def _options_of(self, driver: str) -> SidecarOptions:
        chosen = self._by_driver.get(driver, self._options)
        return msgspec.structs.replace(chosen, identity=self._options.identity)


def _has_place(name: str, sidecar: Sidecar, driver: Driver) -> bool:
    """Whether the sidecar can tell which volumes are on its own node, if it serves that alone."""
    if not sidecar.needs_place or driver.own_node is None or driver.own_node.place is not None:
        return True
    _log.warning(
        "a driver that names no place for its node cannot be served node by node",
        driver=driver.name,
        node=driver.own_node.name,
        sidecar=name,
    )
    return False


class _Running(Collector):
    """What the sidecars count that are running now."""

    def __init__(self, running: list[Loops]) -> None:
        self._running = running

    def collect(self) -> Iterator[Metric]:
        for loops in self._running:
            for collector in loops.collectors():
                yield from collector.collect()
