"""Telling of capacity: classes, places and volumes that change wake it, and a slow clock."""

import asyncio
from contextlib import ExitStack
from typing import Final

from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.csi.capability import ControllerCapability
from mooring.model.csi_driver import CsiDriver
from mooring.model.csi_node import CsiNode
from mooring.model.keys import Key
from mooring.model.node import Node
from mooring.model.storage_capacity import StorageCapacity
from mooring.model.storage_class import StorageClass
from mooring.model.wellknown import Label
from mooring.reconcile.backoff import Backoff
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.worker import Settled, Verdict, lasting, serve
from mooring.sidecars.driver import Driver
from mooring.sidecars.provisioner.caches import Caches
from mooring.sidecars.provisioner.capacity.decide import decide
from mooring.sidecars.provisioner.capacity.effects import Effects
from mooring.sidecars.provisioner.capacity.plan import Pair
from mooring.sidecars.provisioner.capacity.view import CapacityView, pair_of, wanted_pairs
from mooring.sidecars.provisioner.options import AS_UPSTREAM
from mooring.sidecars.provisioner.topology import ClusterTopology
from mooring.sidecars.watched import Watched

WORKERS = 4
POLL_SECONDS = 60.0  # drivers do not say when others take their room
SOON_SECONDS = 1.0  # many volumes come and go together
RETRY: Final = Backoff(first=1.0, cap=300.0)
BY_PAIR: Final = "driver and pair"


class PlacesChanged:
    """The key under which all pairs are worked out anew."""


_PLACES: Final = PlacesChanged()


class CapacityCaches:
    def __init__(self, drivers: Watched[CsiDriver], capacities: Watched[StorageCapacity]) -> None:
        self.drivers = drivers
        self.capacities = capacities
        capacities.cache.add_index(BY_PAIR, lambda known: ((_driver_of(known), pair_of(known)),))

    async def synced(self) -> None:
        await self.drivers.cache.synced.wait()
        await self.capacities.cache.synced.wait()


class CapacityTeller:
    """Serves one driver while `run` runs."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        driver: Driver,
        caches: Caches,
        own: CapacityCaches,
        namespace: str,
    ) -> None:
        self.queue: KeyedQueue[Pair | PlacesChanged] = KeyedQueue(clock, RETRY)
        self._clock = clock
        self._driver = driver
        self._caches = caches
        self._own = own
        self._wanted: frozenset[Pair] = frozenset()
        self._is_wanted = asyncio.Event()
        known = own.capacities.cache
        self._effects = Effects(client, driver, known, namespace, AS_UPSTREAM.call_seconds)

    async def run(self) -> None:
        if not self._driver.abilities.can(ControllerCapability.GET_CAPACITY):
            return
        await self._caches.synced()
        await self._own.synced()
        with ExitStack() as told:
            told.enter_context(self._caches.classes.telling(self._on_class))
            told.enter_context(self._caches.nodes.telling(self._on_node))
            told.enter_context(self._caches.csi_nodes.telling(self._on_csi_node))
            told.enter_context(self._own.drivers.telling(self._on_driver))
            told.enter_context(self._own.capacities.telling(self._on_capacity))
            self.queue.add(_PLACES)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(lasting("capacity", self._clock, self._poll))
                for _ in range(WORKERS):
                    tasks.create_task(serve(self.queue, self.reconcile))

    def volumes_changed(self) -> None:
        """A volume came or went."""
        for pair in self._wanted:
            self.queue.add_after(pair, SOON_SECONDS)

    async def reconcile(self, key: Pair | PlacesChanged) -> Verdict:
        if isinstance(key, PlacesChanged):
            self._work_out_pairs()
            return Settled()
        storage_class = self._caches.find_class(key.class_name)
        room = None
        if key in self._wanted and storage_class is not None:
            room = await self._effects.ask(storage_class, key)
        known = self._own.capacities.cache.by_index(BY_PAIR, (self._driver.name, key))
        await self._effects.perform(decide(CapacityView(key, tuple(known), room)), self._owner())
        return Settled()

    def _work_out_pairs(self) -> None:
        owner, cluster = self._owner(), None
        if self._driver.abilities.has_topology:
            nodes, csi_nodes = self._caches.nodes.cache, self._caches.csi_nodes.cache
            cluster = ClusterTopology(self._driver.name, nodes.all(), csi_nodes.all())
        wanted: frozenset[Pair] = frozenset()
        if owner is not None and owner.spec.storage_capacity:
            wanted = wanted_pairs(self._driver.name, self._caches.classes.cache.all(), cluster)
        known = {
            pair_of(each)
            for each in self._own.capacities.cache.all()
            if _driver_of(each) == self._driver.name
        }
        before, self._wanted = self._wanted, wanted
        for pair in (wanted - before) | ((before | known) - wanted):
            self.queue.add(pair)
        if wanted:
            self._is_wanted.set()
        else:
            self._is_wanted.clear()

    def _owner(self) -> CsiDriver | None:
        return self._own.drivers.cache.get(Key("", self._driver.name))

    async def _poll(self) -> None:
        while True:
            await self._is_wanted.wait()
            await self._clock.sleep(POLL_SECONDS)
            for pair in self._wanted:
                self.queue.add(pair)

    # what wakes it

    def _on_class(self, before: StorageClass | None, after: StorageClass | None) -> None:
        changed = after or before
        if changed is not None and changed.provisioner == self._driver.name:
            self.queue.add(_PLACES)

    def _on_node(self, before: Node | None, after: Node | None) -> None:
        if before is None or after is None or before.metadata.labels != after.metadata.labels:
            self.queue.add(_PLACES)

    def _on_csi_node(self, before: CsiNode | None, after: CsiNode | None) -> None:
        name = self._driver.name
        was = before.find_driver(name) if before else None
        if was != (after.find_driver(name) if after else None):
            self.queue.add(_PLACES)

    def _on_driver(self, before: CsiDriver | None, after: CsiDriver | None) -> None:
        changed = after or before
        if changed is not None and changed.name == self._driver.name:
            self.queue.add(_PLACES)

    def _on_capacity(self, before: StorageCapacity | None, after: StorageCapacity | None) -> None:
        """Only what others did to it: our own writes are here before their echo is."""
        changed = after or before
        if changed is None or _driver_of(changed) != self._driver.name:
            return
        pair = pair_of(changed)
        if after is None or pair not in self._wanted:
            self.queue.add(pair)


def _driver_of(known: StorageCapacity) -> str:
    return known.metadata.labels.get(Label.CAPACITY_DRIVER, "")
