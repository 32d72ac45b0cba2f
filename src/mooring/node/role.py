"""The role `node`: this machine's pods and their volumes, its status, and its server."""

import asyncio
from collections.abc import Iterable
from functools import partial
from typing import Final

import msgspec
from prometheus_client.registry import Collector

from mooring.csi.cause import asked_by
from mooring.host.blocking import bulkheads, in_thread
from mooring.host.usage import of_filesystem
from mooring.model.condition import is_condition_true
from mooring.model.node import Node
from mooring.node.admission.host import look
from mooring.node.container_statistics import ContainerStatistics
from mooring.node.csi import NodeCsi
from mooring.node.eviction import run as eviction
from mooring.node.flex import NodeFlex
from mooring.node.health import run as health
from mooring.node.images import image_store
from mooring.node.kubelet import Kubelet, NodeEnvironment, Restart, node_environment
from mooring.node.options import NodeOptions
from mooring.node.pod_runtime import pod_runtime
from mooring.node.root import NodeRoot
from mooring.node.server.serving import NodeServer
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
from mooring.node.summary import Measure, Summary
from mooring.oci.probe import Probed, probe
from mooring.plugins.csi.drivers import Drivers
from mooring.plugins.registry import built_in
from mooring.reconcile.loops import Loops
from mooring.reconcile.worker import lasting

NAME: Final = "node"


class MachineInfo(msgspec.Struct, frozen=True):
    """The machine as it was at the start."""

    identity: Identity
    amounts: Amounts
    runtime: Probed  # what runs containers, or why nothing can

    @property
    def address(self) -> str:
        return next(iter(self.identity.addresses), "")


async def read_machine(root: NodeRoot, runtime: Probed | None = None) -> MachineInfo:
    """`runtime`: if it was looked for already."""
    identity = await in_thread(read_identity)
    amounts = await in_thread(read_amounts, root.layout.root)
    return MachineInfo(identity, amounts, runtime or await probe())


def build(loops: Loops, root: NodeRoot, options: NodeOptions, machine: MachineInfo) -> "NodeRole":
    """Containers run if the machine can run any. Raises: UsageError."""
    labels = document.labels(options.name, machine.identity)
    environment = node_environment(
        loops, root, options.name, labels, document.allocatable(machine.amounts, options.release)
    )
    csi = NodeCsi(loops, environment.host, environment.own_node)
    flex = NodeFlex(loops, environment.host, options.volume_plugin_dir)
    kubelet = Kubelet(
        loops,
        environment,
        built_in(environment.host, csi=csi.plugin, prober=flex.prober, release=options.release),
        partial(pod_runtime, address=machine.address, options=options, probed=machine.runtime),
        machine.address,
        look(options.allowed_unsafe_sysctls),
        Restart(read=flex.reconstruct),
    )
    csi.serve(kubelet.volumes)
    flex.serve(kubelet.volumes)
    identity = msgspec.structs.replace(machine.identity, release=options.release)
    if kubelet.server is not None:
        endpoint = _endpoint(kubelet.server, options)
        identity = msgspec.structs.replace(identity, endpoint=endpoint)
    stuck = _add_status(loops, environment, kubelet, identity, options)
    context, find_pod = kubelet.volumes.context, kubelet.workers.informer.get
    health.build(loops, context, csi.drivers, find_pod, options.volume_stats_period)
    return NodeRole(loops, environment, kubelet, csi.drivers, stuck)


def _endpoint(server: NodeServer, options: NodeOptions) -> KubeletEndpoint:
    address = "" if options.listens_everywhere else options.listen
    return KubeletEndpoint(address, server.port, server.fingerprint)


def _add_status(
    loops: Loops,
    environment: NodeEnvironment,
    kubelet: Kubelet,
    identity: Identity,
    options: NodeOptions,
) -> StuckVolumes:
    """The node's reports: its status, its lease, the usage of its volumes."""
    client, clock, rng = loops.client, loops.clock, loops.rng
    volumes, own_node = kubelet.volumes, environment.own_node
    measure = partial(in_thread, read_amounts, environment.host.layout.root)
    stuck = StuckVolumes(volumes, bulkheads())
    report = Report(client, clock, rng, own_node, volumes, identity, measure)
    stuck.on_change(report.report_stuck(stuck.text))
    store = image_store(environment.host.layout.root)
    report.report_images(partial(in_thread, lambda: document.images(store.list())))
    kubelet.on_synced(report.volumes_synced)
    statistics = Statistics(volumes, options.volume_stats_period)
    containers = ContainerStatistics(kubelet.containers.storage, clock)
    eviction.build(loops, kubelet, statistics, containers, options.release)
    if kubelet.server is not None:
        root_usage = partial(in_thread, of_filesystem, environment.host.layout.root)
        pods = kubelet.workers.informer.all
        measure_pod = Measure(statistics.of_pod, containers.of_pod, root_usage)
        summary = Summary(own_node.name, measure_pod, pods, clock)
        kubelet.server.show_summary(summary.document)
        loops.add(summary.run)
    for name, run in {
        "node status": report.run,
        "node lease": Heartbeat(client, clock, rng, own_node, options.holding).run,
        "volume statistics": statistics.run,
    }.items():
        loops.add(partial(lasting, name, clock, run))
    loops.count(statistics)
    return stuck


class NodeRole:
    """`Role`, `Settling`, `Troubled`. Volumes stay mounted when it stops."""

    name: Final = NAME

    def __init__(
        self,
        loops: Loops,
        environment: NodeEnvironment,
        kubelet: Kubelet,
        drivers: Drivers,
        stuck: StuckVolumes,
    ) -> None:
        self.drivers = drivers  # those that have registered here
        self._loops = loops
        self._own_node = environment.own_node
        self._workers = kubelet.workers
        self._stuck = stuck
        self._knows_volumes = asyncio.Event()  # that an earlier process has left here
        self._is_registered = asyncio.Event()  # as a Node that is Ready
        kubelet.on_synced(self._knows_volumes.set)
        self._own_node.informer.on_change(self._node_changed)

    async def run(self) -> None:
        with asked_by(NAME):
            await self._loops.run()

    async def synced(self) -> None:
        await self._own_node.informer.synced.wait()
        await self._workers.informer.synced.wait()

    async def ready(self) -> None:
        """Return when its Node is Ready, and by this process's word."""
        await self._knows_volumes.wait()
        await self._is_registered.wait()

    def _node_changed(self, _: Node | None, after: Node | None) -> None:
        if after is not None and is_condition_true(after.status.conditions, "Ready"):
            self._is_registered.set()

    def troubles(self) -> str:
        """The stuck calls, without paths, for /healthz; empty if there are none."""
        names = self._stuck.names()
        return f"stuck: {names}" if names else ""

    def collectors(self) -> Iterable[Collector]:
        return self._loops.collectors()
