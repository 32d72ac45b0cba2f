"""The volumes and pods of a node, in the order in which they start.

The containers from before a restart are found, then the mounts on the disk are reconstructed. Then
pods are watched and served. Nothing is unmounted before every pod was populated, and the API server
was asked about the reconstructed volumes.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final

import msgspec

from mooring.node.admission.decide import Rules
from mooring.node.context import NodeContext
from mooring.node.objects import ApiObjects
from mooring.node.orphans import Orphans
from mooring.node.own_node import WatchedNode
from mooring.node.pod_directory import PodDirectories
from mooring.node.pod_runtime import PodRuntime
from mooring.node.pod_workers import PodWorkers
from mooring.node.pods.contract import PodContainers
from mooring.node.reconstruct import Reconstructed, confirm, reconstruct
from mooring.node.root import NodeRoot
from mooring.node.run import NodeVolumes
from mooring.plugins.registry import Registry
from mooring.plugins.volume_host import Host
from mooring.reconcile.loops import Loops
from mooring.reconcile.metrics import LoopMetrics
from mooring.reconcile.worker import lasting

COMPONENT: Final = "kubelet"  # of events, as far as pods' owners are concerned


class NodeEnvironment(msgspec.Struct, frozen=True):
    """What volumes and plugins have of this machine, and of the API."""

    own_node: WatchedNode
    objects: ApiObjects
    host: Host


def node_environment(
    loops: Loops,
    root: NodeRoot,
    name: str,
    labels: Mapping[str, str],
    allocatable: Mapping[str, str],
) -> NodeEnvironment:
    """`labels` and `allocatable` count while the API has no Node of this name."""
    client, clock, rng = loops.client, loops.clock, loops.rng
    own_node = WatchedNode(client, clock, rng, name, labels, allocatable)
    objects = ApiObjects(client, clock, rng, own_node)
    host = Host(root.layout, root.mounts, objects, clock, rng, name)
    return NodeEnvironment(own_node, objects, host)


class Restart(msgspec.Struct, frozen=True):
    """How a node finds out what was there before: `read` asks the disk, `confirm` the API."""

    read: Callable[[NodeContext], Awaitable[Reconstructed]] = reconstruct
    confirm: Callable[[NodeContext, Reconstructed], Awaitable[None]] = confirm


class Kubelet:
    """Added to `loops`, which run it."""

    def __init__(
        self,
        loops: Loops,
        environment: NodeEnvironment,
        registry: Registry,
        make_runtime: Callable[[NodeContext], PodRuntime],
        address: str,
        rules: Rules | None = None,
        restart: Restart | None = None,
    ) -> None:
        self._clock = loops.clock
        self._restart = restart or Restart()
        self._synced: list[Callable[[], None]] = []
        own_node, objects, host = environment.own_node, environment.objects, environment.host
        recorder = loops.recorder(COMPONENT, own_node.name)
        self.volumes = NodeVolumes(host, registry, loops.client, recorder, loops.clock, own_node)
        own_node.on_attached_change(self.volumes.attached_changed)
        objects.on_change(self.volumes.refresh)
        self._runtime = make_runtime(self.volumes.context)
        directories = PodDirectories(host.layout, host.mounts)
        self.workers = PodWorkers(
            self.volumes, objects, directories, self._runtime.containers, address, rules
        )
        self.server = self._runtime.serve(self.workers.informer.get)
        loops.add(own_node.informer.run)
        loops.add(objects.run)
        loops.add(self.volumes.run, self.volumes.queues())
        loops.add(self._runtime.run)
        if self.server is not None:
            loops.add(self.server.run)
        loops.add(self._serve)
        watches = LoopMetrics()
        watches.add_informer("node/nodes", own_node.informer.counts)
        watches.add_informer("node/pods", self.workers.informer.counts)
        loops.count(watches, self.volumes.context.metrics)

    @property
    def containers(self) -> PodContainers:
        return self._runtime.containers

    def on_synced(self, handler: Callable[[], None]) -> None:
        """`handler` is called when it is known what was on disk."""
        self._synced.append(handler)

    async def _serve(self) -> None:
        await self._runtime.loaded()
        found = await self._read_disk()
        orphans = Orphans(self.volumes, found, self.workers.knows)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.workers.run())
            tasks.create_task(orphans.run())
            confirmed = partial(self._restart.confirm, self.volumes.context, found)
            await lasting("confirming volumes", self._clock, confirmed)
            self.volumes.reconstructed()
            for handler in self._synced:
                handler()

    async def _read_disk(self) -> Reconstructed:
        """While it is not known what is on the disk, no pod is touched; the rest goes on."""
        found: list[Reconstructed] = []

        async def read() -> None:
            found.append(await self._restart.read(self.volumes.context))

        await lasting("reconstruction", self._clock, read)
        return found[0]
