"""A node: this machine's volumes for its pods, its status, and the watches that feed both."""

import asyncio
import random
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
from prometheus_client.registry import Collector

from mooring import log
from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.errors import HostError
from mooring.host.blocking import bulkheads, in_thread
from mooring.host.contract import MountOps
from mooring.host.mount import Mounts
from mooring.node.admission.host import look
from mooring.node.eviction import Evictions
from mooring.node.objects import ApiObjects
from mooring.node.orphans import Orphans
from mooring.node.own_node import WatchedNode
from mooring.node.pod_directory import PodDirectories
from mooring.node.pod_workers import PodWorkers
from mooring.node.reconstruct import Reconstructed, confirm, reconstruct
from mooring.node.run import NodeVolumes
from mooring.node.statistics import Statistics
from mooring.node.status import document
from mooring.node.status.hardware import (
    Amounts,
    Identity,
    KubeletEndpoint,
    read_amounts,
    read_identity,
)
from mooring.node.status.heartbeat import Heartbeat
from mooring.node.status.report import Report
from mooring.node.stuck import StuckVolumes
from mooring.oci.host_root import HOST_DIRECTORY, put_away
from mooring.oci.probe import Probed, probe
from mooring.plugins.contract import Host
from mooring.plugins.csi.drivers import Drivers
from mooring.plugins.layout import Layout
from mooring.plugins.registry import built_in
from mooring.reconcile.metrics import LoopMetrics
from mooring.reconcile.recorder import Recorder
from mooring.reconcile.worker import lasting
from mooring.stack.node_csi import NodeCsi
from mooring.stack.node_home import take_home
from mooring.stack.node_root import node_root
from mooring.stack.pods import Terms, pods_of

COMPONENT = "kubelet"  # who tells pods' owners of volumes, as far as they are concerned
CANNOT_MOUNT = (
    "this node may not mount: pods get only volumes that are plain directories; "
    "run it as root to give them all"
)

_log = log.get("mooring.node")


class Place(msgspec.Struct, frozen=True):
    """Where a node is."""

    name: str
    layout: Layout
    mounts: MountOps
    cannot: str = ""  # why nothing can be mounted there; empty: everything can


def root_of(data_dir: Path, wanted: Path | None) -> Path:
    """The root directory of the node that belongs to a data directory. Raises: UsageError."""
    return take_home(data_dir, Mounts(), wanted)


@contextmanager
def place_of(name: str, root_dir: Path) -> Iterator[Place]:
    """The node's root directory, held while the context is entered; what is mounted stays.

    Raises: UsageError.
    """
    mounts = Mounts()
    with node_root(root_dir, mounts) as root:
        if root.cannot:
            _log.warning(CANNOT_MOUNT, node=name, because=root.cannot)
        try:
            yield Place(name, root.layout, mounts, root.cannot)
        finally:
            _put_away(root.layout.root / HOST_DIRECTORY, mounts)


def _put_away(directory: Path, mounts: MountOps) -> None:
    """What was mounted for this process alone."""
    try:
        put_away(mounts, directory)
    except HostError as error:
        _log.debug("what containers see of the host stays mounted", path=directory, because=error)


async def build_node(
    client: Client, clock: Clock, chance: random.Random, place: Place, terms: Terms
) -> "NodeRole":
    """Containers run if this machine can run any. Raises: UsageError."""
    seen = await in_thread(look_at, place)
    return NodeRole(client, clock, chance, place, terms, await probe(), seen)


class Seen(msgspec.Struct, frozen=True):
    """The machine as it was at the start."""

    identity: Identity
    amounts: Amounts


def look_at(place: Place) -> Seen:
    """Blocks."""
    return Seen(read_identity(), read_amounts(place.layout.root))


class NodeRole:
    """`run` runs it until cancelled; nothing that is mounted is taken away for that."""

    name: Final = "node"

    def __init__(
        self,
        client: Client,
        clock: Clock,
        chance: random.Random,
        place: Place,
        terms: Terms,
        probed: Probed,
        seen: Seen,
    ) -> None:
        self._clock = clock
        measure = partial(in_thread, read_amounts, place.layout.root)
        identity, amounts = seen.identity, seen.amounts
        labels, allocatable = document.labels(place.name, identity), document.allocatable(amounts)
        self._own_node = WatchedNode(client, clock, chance, place.name, labels, allocatable)
        self._objects = ApiObjects(client, clock, chance, self._own_node)
        host = Host(place.layout, place.mounts, self._objects, clock, chance, place.name)
        self._recorder = Recorder(client, clock, chance, COMPONENT, place.name)
        self._csi = NodeCsi(host, client, self._own_node)
        registry = built_in(host, csi=self._csi.plugin)
        self._volumes = NodeVolumes(host, registry, client, self._recorder, clock, self._own_node)
        self._csi.serve(self._volumes)
        self._own_node.on_attached_change(self._volumes.attached_changed)
        self._objects.on_change(self._volumes.refresh)
        address = next(iter(identity.addresses), "")
        self._pods = pods_of(self._volumes.context, address, terms, probed)
        directories = PodDirectories(place.layout, place.mounts)
        self._pod_workers = PodWorkers(
            self._volumes,
            self._objects,
            directories,
            self._pods.containers,
            address,
            look(terms.allowed_unsafe_sysctls),
        )
        self._server = self._pods.serve(self._pod_workers.informer.get)
        if self._server is not None:
            told = "" if terms.listens_everywhere else terms.listen
            endpoint = KubeletEndpoint(told, self._server.port, self._server.fingerprint)
            identity = msgspec.structs.replace(identity, endpoint=endpoint)
        self._stuck = StuckVolumes(self._volumes, bulkheads())
        self._report = Report(
            client, clock, chance, self._own_node, self._volumes, identity, measure
        )
        self._stuck.on_change(self._report.tell_stuck(self._stuck.text))
        self._heartbeat = Heartbeat(client, clock, chance, self._own_node)
        self._statistics = Statistics(self._volumes)
        self._evictions = Evictions(self._volumes.context, self._statistics)
        self._turns = {
            "node status": self._report.run,
            "node lease": self._heartbeat.run,
            "volume statistics": self._statistics.run,
            "evictions": self._evictions.run,
        }
        self._loops = self._measured()

    @property
    def drivers(self) -> Drivers:
        """Those that have registered here."""
        return self._csi.drivers

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._recorder.run())
            tasks.create_task(self._own_node.informer.run())
            for name, run in self._turns.items():
                tasks.create_task(lasting(name, self._clock, run))
            tasks.create_task(self._objects.run())
            tasks.create_task(self._csi.run())
            tasks.create_task(self._volumes.run())
            tasks.create_task(self._pods.run())
            if self._server is not None:
                tasks.create_task(self._server.run())
            tasks.create_task(self._serve())

    async def synced(self) -> None:
        await self._own_node.informer.synced.wait()
        await self._pod_workers.informer.synced.wait()

    def troubles(self) -> str:
        """What is stuck here, for anybody to read; empty: nothing is."""
        names = self._stuck.names()
        return f"stuck: {names}" if names else ""

    def collectors(self) -> Iterable[Collector]:
        own = (self._loops, self._volumes.context.metrics, self._statistics)
        return (*own, *self._csi.collectors())

    async def _serve(self) -> None:
        """The disk first: what is there must not be taken for what is not."""
        await self._pods.loaded()
        found = await self._reconstructed()
        orphans = Orphans(self._volumes, found, self._pod_workers.knows)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._pod_workers.run())
            tasks.create_task(orphans.run())
            confirmed = partial(confirm, self._volumes.context, found)
            await lasting("confirming volumes", self._clock, confirmed)
            self._volumes.reconstructed()
            self._report.volumes_synced()

    async def _reconstructed(self) -> Reconstructed:
        """While it is not known what is on the disk, no pod is touched; the rest goes on."""
        found: list[Reconstructed] = []

        async def look() -> None:
            found.append(await reconstruct(self._volumes.context))

        await lasting("reconstruction", self._clock, look)
        return found[0]

    def _measured(self) -> LoopMetrics:
        loops = LoopMetrics()
        loops.add_informer("node/nodes", self._own_node.informer.counts)
        loops.add_informer("node/pods", self._pod_workers.informer.counts)
        loops.add_recorder(COMPONENT, self._recorder.counts)
        loops.add_informer("node/csidrivers", self._csi.objects.counts)
        loops.add_queue("node_volumes", self._volumes.volume_queue)
        loops.add_queue("node_pods", self._volumes.pod_queue)
        loops.add_queue("node_registrations", self._csi.registrations.queue)
        return loops
