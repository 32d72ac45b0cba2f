"""Publishing capacity: classes, places and volumes that change wake it, and a slow clock."""

import asyncio
from functools import cache, partial
from typing import Final

from mooring.client.contract import Scope
from mooring.csi.capability import ControllerCapability
from mooring.model.backoff import Backoff
from mooring.model.csi_driver import CsiDriver
from mooring.model.csi_node import CsiNode
from mooring.model.keys import Key
from mooring.model.node import Node
from mooring.model.storage_capacity import StorageCapacity
from mooring.model.storage_class import StorageClass
from mooring.model.wellknown import Label
from mooring.reconcile.loops import Loops
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.shared_informer import Selection
from mooring.reconcile.worker import Settled, Verdict, lasting, serve
from mooring.sidecars.driver import Driver
from mooring.sidecars.options import SidecarOptions
from mooring.sidecars.provisioner.caches import Caches
from mooring.sidecars.provisioner.capacity.decide import decide
from mooring.sidecars.provisioner.capacity.effects import Effects, manager_of
from mooring.sidecars.provisioner.capacity.plan import Pair
from mooring.sidecars.provisioner.capacity.view import CapacityView, pair_of, wanted_pairs

WORKERS = 4
POLL_SECONDS = 60.0  # drivers do not say when others take their room
SOON_SECONDS = 1.0  # many volumes come and go together
RETRY: Final = Backoff(first=1.0, cap=300.0)
BY_PAIR: Final = "driver and pair"


class TopologyChanged:
    """The key in the queue under which all pairs are worked out anew."""


_TOPOLOGY: Final = TopologyChanged()


@cache
def managed_by(manager: str) -> Selection[StorageCapacity]:
    """What its provisioners have published. Kept, so that those of many drivers share them."""
    labels = Scope(labels=f"{Label.CAPACITY_MANAGED_BY}={manager}")
    return Selection(labels, partial(_is_managed, manager))


def _is_managed(manager: str, capacity: StorageCapacity) -> bool:
    return capacity.metadata.labels.get(Label.CAPACITY_MANAGED_BY) == manager


class CapacityCaches:
    def __init__(self, loops: Loops, own_node: str = "") -> None:
        self.drivers = loops.informer(CsiDriver)
        self.capacities = loops.informer(StorageCapacity, managed_by(manager_of(own_node)))
        self.capacities.add_index(BY_PAIR, _pairs)

    async def synced(self) -> None:
        await self.drivers.synced.wait()
        await self.capacities.synced.wait()


def build(
    loops: Loops, driver: Driver, caches: Caches, options: SidecarOptions
) -> "CapacityController":
    """What publishes the capacity of one driver."""
    own, namespace = CapacityCaches(loops, options.node), options.capacity_namespace
    capacity = CapacityController(loops, driver, caches, own, namespace)
    loops.add(capacity.run, {f"{driver.name}/capacity": capacity.queue})
    return capacity


class CapacityController:
    """Serves one driver while `run` runs."""

    def __init__(
        self, loops: Loops, driver: Driver, caches: Caches, own: CapacityCaches, namespace: str
    ) -> None:
        client, clock = loops.client, loops.clock
        self.queue: KeyedQueue[Pair | TopologyChanged] = KeyedQueue(clock, RETRY)
        self._clock = clock
        self._driver = driver
        self._caches = caches
        self._own = own
        self._wanted: frozenset[Pair] = frozenset()
        self._is_wanted = asyncio.Event()
        known = own.capacities
        self._effects = Effects(client, driver, own.drivers, known, namespace)

    async def run(self) -> None:
        if not self._driver.abilities.can(ControllerCapability.GET_CAPACITY):
            return
        await self._caches.synced()
        await self._own.synced()
        self._caches.classes.on_change(self._on_class)
        nodes, csi_nodes = self._caches.nodes, self._caches.csi_nodes
        if nodes is not None and csi_nodes is not None:
            nodes.on_change(self._on_node)
            csi_nodes.on_change(self._on_csi_node)
        self._own.drivers.on_change(self._on_driver)
        self._own.capacities.on_change(self._on_capacity)
        self.queue.add(_TOPOLOGY)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(lasting("capacity", self._clock, self._poll))
            for _ in range(WORKERS):
                tasks.create_task(serve(self.queue, self.reconcile))

    def volumes_changed(self) -> None:
        """A volume came or went."""
        for pair in self._wanted:
            self.queue.add_after(pair, SOON_SECONDS)

    async def reconcile(self, key: Pair | TopologyChanged) -> Verdict:
        if isinstance(key, TopologyChanged):
            self._work_out_pairs()
            return Settled()
        storage_class = self._caches.find_class(key.class_name)
        room = None
        if key in self._wanted and storage_class is not None:
            room = await self._effects.ask(storage_class, key)
        known = self._own.capacities.by_index(BY_PAIR, (self._driver.name, key))
        await self._effects.perform(decide(CapacityView(key, tuple(known), room)))
        return Settled()

    def _work_out_pairs(self) -> None:
        cluster = None
        if self._driver.abilities.has_topology:
            cluster = self._caches.cluster_of(self._driver)
        wanted: frozenset[Pair] = frozenset()
        told = self._own.drivers.get(Key("", self._driver.name))
        if told is not None and told.spec.storage_capacity:
            wanted = wanted_pairs(self._driver.name, self._caches.classes.all(), cluster)
        known = {
            pair_of(each)
            for each in self._own.capacities.all()
            if _driver_of(each) == self._driver.name
        }
        before, self._wanted = self._wanted, wanted
        for pair in (wanted - before) | ((before | known) - wanted):
            self.queue.add(pair)
        if wanted:
            self._is_wanted.set()
        else:
            self._is_wanted.clear()

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
            self.queue.add(_TOPOLOGY)

    def _on_node(self, before: Node | None, after: Node | None) -> None:
        if before is None or after is None or before.metadata.labels != after.metadata.labels:
            self.queue.add(_TOPOLOGY)

    def _on_csi_node(self, before: CsiNode | None, after: CsiNode | None) -> None:
        name = self._driver.name
        was = before.find_driver(name) if before else None
        if was != (after.find_driver(name) if after else None):
            self.queue.add(_TOPOLOGY)

    def _on_driver(self, before: CsiDriver | None, after: CsiDriver | None) -> None:
        changed = after or before
        if changed is not None and changed.name == self._driver.name:
            self.queue.add(_TOPOLOGY)

    def _on_capacity(self, before: StorageCapacity | None, after: StorageCapacity | None) -> None:
        """Only what others did to it: our own writes are here before their echo is."""
        changed = after or before
        if changed is None or _driver_of(changed) != self._driver.name:
            return
        pair = pair_of(changed)
        if after is None or pair not in self._wanted:
            self.queue.add(pair)


def _pairs(known: StorageCapacity) -> tuple[tuple[str, Pair]]:
    return ((_driver_of(known), pair_of(known)),)


def _driver_of(known: StorageCapacity) -> str:
    return known.metadata.labels.get(Label.CAPACITY_DRIVER, "")
