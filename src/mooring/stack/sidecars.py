"""The sidecars of many drivers in one process, on one set of caches."""

import asyncio
import random
import socket
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping
from enum import StrEnum
from functools import partial
from typing import Final, TypeVar

import msgspec
from prometheus_client.registry import Collector

from mooring import log
from mooring.client.contract import EVERYTHING, Client, Scope
from mooring.clock import Clock
from mooring.csi.channel import Connection
from mooring.csi.metrics import OF_SIDECAR, calls_histogram, observing
from mooring.model.attachment import Attachment
from mooring.model.claim import Claim
from mooring.model.csi_driver import CsiDriver
from mooring.model.csi_node import CsiNode
from mooring.model.keys import Key
from mooring.model.meta import ApiObject
from mooring.model.node import Node
from mooring.model.storage_capacity import StorageCapacity
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume
from mooring.model.wellknown import Label
from mooring.reconcile.leadership import FencedClient
from mooring.reconcile.lease import TERMS, LeaderElection, Terms
from mooring.reconcile.metrics import LoopMetrics
from mooring.reconcile.recorder import Recorder
from mooring.reconcile.reflector import Reflector
from mooring.reconcile.worker import lasting
from mooring.sidecars.attacher import caches as attacher_caches
from mooring.sidecars.attacher.run import Attacher
from mooring.sidecars.driver import Driver
from mooring.sidecars.driver_connection import DriverConnection
from mooring.sidecars.fenced import FencedCalls
from mooring.sidecars.lease_name import lease_of_attacher, lease_of_provisioner
from mooring.sidecars.provisioner import caches as provisioner_caches
from mooring.sidecars.provisioner.capacity.effects import MANAGER
from mooring.sidecars.provisioner.capacity.run import CapacityCaches, CapacityTeller
from mooring.sidecars.provisioner.metrics import ProvisionerMetrics
from mooring.sidecars.provisioner.options import AS_UPSTREAM, Settings
from mooring.sidecars.provisioner.run import Provisioner
from mooring.sidecars.watched import Watched

_log = log.get("mooring.sidecars")

T = TypeVar("T", bound=ApiObject)
Lead = Callable[[], Awaitable[None]]

CAPACITY_NAMESPACE = "kube-system"


class Sidecar(StrEnum):
    PROVISIONER = "provisioner"
    ATTACHER = "attacher"


_LEASES: Mapping[Sidecar, Callable[[str], str]] = {
    Sidecar.PROVISIONER: lease_of_provisioner,
    Sidecar.ATTACHER: lease_of_attacher,
}


class Work(msgspec.Struct, frozen=True):
    """Which sidecars are run, and how."""

    sidecars: frozenset[Sidecar] = frozenset(Sidecar)
    lease_namespace: str = ""  # empty: this process is alone and needs no lease
    capacity_namespace: str = CAPACITY_NAMESPACE
    provisioning: Settings = AS_UPSTREAM
    lease_identity: str = ""  # empty: another one for each process
    lease_terms: Terms = TERMS


ALL_ALONE: Final = Work()


class SidecarsRole:
    """Serves every driver that it is told of; `run` runs it until cancelled."""

    name: Final = "sidecars"

    def __init__(
        self, client: Client, clock: Clock, chance: random.Random, work: Work = ALL_ALONE
    ) -> None:
        self._client = client
        self._clock = clock
        self._chance = chance
        self._work = work
        self._identity = f"{socket.gethostname()}_{uuid.UUID(int=chance.getrandbits(128))}"
        self._loops = LoopMetrics()
        self._calls = calls_histogram(OF_SIDECAR)
        self._provisioned = ProvisionerMetrics()
        self._informers: list[Reflector[ApiObject]] = []
        volumes, csi_nodes = self._watched(Volume), self._watched(CsiNode)
        attachments = self._watched(Attachment)
        self._attaching = attacher_caches.Caches(attachments, volumes, csi_nodes)
        self._provisioning: provisioner_caches.Caches | None = None
        self._capacity: CapacityCaches | None = None
        if Sidecar.PROVISIONER in work.sidecars:
            self._provisioning = provisioner_caches.Caches(
                self._watched(Claim),
                volumes,
                self._watched(StorageClass),
                self._watched(Node),
                csi_nodes,
                attachments,
            )
            ours = Scope(labels=f"{Label.CAPACITY_MANAGED_BY}={MANAGER}")
            self._capacity = CapacityCaches(
                self._watched(CsiDriver), self._watched(StorageCapacity, ours)
            )
        self._endpoints: dict[str, str] = {}  # by driver, or by themselves
        self._names: dict[str, str] = {}  # likewise; empty: whoever answers
        self._serving: dict[str, asyncio.Task[None]] = {}
        self._tasks: asyncio.TaskGroup | None = None

    def add(self, driver: str, endpoint: str) -> None:
        """Serve the driver at this socket from now on, instead of any other of its name."""
        if self._endpoints.get(driver) != endpoint:
            self.remove(driver)
            self._add(driver, endpoint, driver)

    def add_unnamed(self, endpoint: str) -> None:
        """Serve whichever driver answers at this socket, for as long as this runs."""
        self._add(endpoint, endpoint, "")

    def remove(self, driver: str) -> None:
        """Serve it no longer; what was begun is finished by whoever serves it next."""
        self._endpoints.pop(driver, None)
        task = self._serving.pop(driver, None)
        if task is not None:
            task.cancel()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            for informer in self._informers:
                tasks.create_task(informer.run())
            for key in self._endpoints:
                self._begin(tasks, key)
            tasks.create_task(asyncio.Event().wait())  # there may be no driver yet

    async def synced(self) -> None:
        for informer in self._informers:
            await informer.synced.wait()

    def collectors(self) -> Iterable[Collector]:
        return self._loops, self._calls, self._provisioned

    # one driver

    def _add(self, key: str, endpoint: str, name: str) -> None:
        self._endpoints[key], self._names[key] = endpoint, name
        if self._tasks is not None:
            self._begin(self._tasks, key)

    def _begin(self, tasks: asyncio.TaskGroup, key: str) -> None:
        serve = partial(self._serve, self._names[key], self._endpoints[key])
        self._serving[key] = tasks.create_task(lasting("sidecars", self._clock, serve, key))

    async def _serve(self, name: str, endpoint: str) -> None:
        observer = observing(self._calls, name) if name else observing(self._calls)
        async with Connection(endpoint, observer=observer, clock=self._clock) as connection:
            there = DriverConnection(connection, self._clock)
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
                tasks.create_task(self._lead(sidecar, driver))
                for sidecar in sorted(self._work.sidecars)
            ]
            changed = await there.changed(driver)
            for part in parts:
                part.cancel()
        return changed

    async def _lead(self, sidecar: Sidecar, driver: Driver) -> None:
        """With a lease of upstream's name, so that none of those works beside us."""

        async def lead(client: Client, driver: Driver) -> None:
            match sidecar:
                case Sidecar.PROVISIONER:
                    await self._provision(client, driver)
                case Sidecar.ATTACHER:
                    await self._attach(client, driver)

        if not self._work.lease_namespace:
            await lead(self._client, driver)
            return
        lease = Key(self._work.lease_namespace, _LEASES[sidecar](driver.name))
        identity = self._work.lease_identity or self._identity
        terms = self._work.lease_terms
        election = LeaderElection(self._client, self._clock, self._chance, lease, identity, terms)
        fence = election.leadership
        fenced = msgspec.structs.replace(driver, calls=FencedCalls(driver.calls, fence))
        await election.run(lambda: lead(FencedClient(self._client, fence), fenced))

    async def _provision(self, client: Client, driver: Driver) -> None:
        if self._provisioning is None or self._capacity is None:
            raise AssertionError("a provisioner without caches")
        recorder = Recorder(client, self._clock, self._chance, f"{driver.name}_{self._identity}")
        capacity = CapacityTeller(
            client,
            self._clock,
            driver,
            self._provisioning,
            self._capacity,
            self._work.capacity_namespace,
        )
        working = Provisioner(
            client,
            self._clock,
            self._chance,
            recorder,
            driver,
            self._provisioning,
            self._provisioned,
            self._work.provisioning,
            capacity.volumes_changed,
        )
        self._loops.add_recorder(driver.name, recorder.counts)
        self._loops.add_queue(f"{driver.name}/claims", working.claims_queue)
        self._loops.add_queue(f"{driver.name}/volumes", working.volumes_queue)
        self._loops.add_queue(f"{driver.name}/capacity", capacity.queue)
        async with asyncio.TaskGroup() as tasks:
            for part in (recorder, capacity, working):
                tasks.create_task(part.run())

    async def _attach(self, client: Client, driver: Driver) -> None:
        fs_type = self._work.provisioning.default_fs_type
        working = Attacher(client, self._clock, driver, self._attaching, fs_type)
        self._loops.add_queue(f"{driver.name}/attachments", working.queue)
        self._loops.add_queue(f"{driver.name}/attached_volumes", working.volumes_queue)
        await working.run()

    def _watched(self, kind: type[T], scope: Scope = EVERYTHING) -> Watched[T]:
        informer = Reflector(self._client, kind, scope, self._clock, self._chance)
        self._informers.append(informer)  # type: ignore[arg-type]  # run alike, whatever the kind
        self._loops.add_informer(f"sidecars/{kind.resource.plural}", informer.counts)
        return Watched(informer)
