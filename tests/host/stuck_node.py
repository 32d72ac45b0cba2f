"""A node of several pods, with little patience for disks that hang."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

from msgspec.structs import replace

from mooring.clock import RealClock
from mooring.host import blocking
from mooring.host.bulkhead import Bulkheads, Limits
from mooring.host.contract import MountOps
from mooring.host.daemon_threads import DaemonThreads
from mooring.host.mountinfo import read_table
from mooring.model.claim import Claim
from mooring.model.event import Event
from mooring.model.pod import Pod
from mooring.model.volume import Volume
from mooring.node.orphans import Orphans
from mooring.node.pod_directory import PodDirectories
from mooring.node.reconstruct import confirm, reconstruct
from mooring.node.run import NodeVolumes
from mooring.node.statistics import Statistics
from mooring.node.stuck import StuckVolumes
from mooring.plugins.registry import built_in
from mooring.reconcile.recorder import Recorder
from tests.fakes.client import FakeClient
from tests.fakes.fake_server import FakeServer
from tests.unit.node.effects.world import FakeOwnNode
from tests.unit.plugins.world import a_host

PATIENCE = Limits(slow_seconds=0.05, most_seconds=0.4)

Doc = dict[str, Any]


class StuckNode:
    """`running` is one life of it; another on the same root finds what it left."""

    def __init__(self, root: Path, mounts: MountOps, server: FakeServer | None = None) -> None:
        clock = RealClock()
        self.root = root
        self.server = server or FakeServer(clock)
        self._mounts = mounts
        self._host = replace(a_host(root, mounts), clock=clock)
        self.layout = self._host.layout
        client = FakeClient(self.server, clock)
        rng = Random(1)  # noqa: S311  no secret depends on it
        self._recorder = Recorder(client, clock, rng, "kubelet", "n1")
        registry = built_in(self._host)
        self.volumes = NodeVolumes(
            self._host, registry, client, self._recorder, clock, FakeOwnNode()
        )
        self.directories = PodDirectories(self.layout, mounts)
        self.statistics = Statistics(self.volumes)
        self._known: set[str] = set()

    @asynccontextmanager
    async def running(self, *pods: Pod) -> AsyncIterator[Bulkheads]:
        """`pods` are those that the API knows from before."""
        self.layout.pods.mkdir(parents=True, exist_ok=True)
        bulkheads = Bulkheads(DaemonThreads().start, PATIENCE)
        blocking.install(bulkheads)
        self.stuck = StuckVolumes(self.volumes, bulkheads)
        self._known = {pod.uid for pod in pods}
        reconstructed = await reconstruct(self.volumes.context)
        orphans = Orphans(self.volumes, reconstructed, self._known.__contains__)
        async with asyncio.TaskGroup() as tasks:
            parts = (self.volumes, orphans, self._recorder)
            running = [tasks.create_task(one.run()) for one in parts]
            await confirm(self.volumes.context, reconstructed)
            self.volumes.reconstructed()
            self.volumes.first_picture(self._known)
            yield bulkheads
            bulkheads.leave_within(1.0)
            for task in running:
                task.cancel()

    def pod(self, name: str, volume: Doc, **spec: Any) -> Pod:
        container = {
            "name": "main",
            "image": "none",
            "volumeMounts": [{"name": "data", "mountPath": "/data"}],
        }
        has = {"volumes": [{"name": "data"} | volume], "containers": [container]}
        metadata = {"name": name, "namespace": "default"}
        return self.server.create(Pod, {"metadata": metadata, "spec": has | spec})

    def local(self, name: str, path: Path) -> Doc:
        """A pod's volume behind which there is a directory of this machine."""
        size = {"storage": "8Mi"}
        claim = self.server.create(
            Claim,
            {
                "metadata": {"name": name, "namespace": "default"},
                "spec": {"volumeName": name, "accessModes": ["ReadWriteOnce"]},
                "status": {"phase": "Bound", "capacity": size},
            },
        )
        self.server.create(
            Volume,
            {
                "metadata": {"name": name},
                "spec": {
                    "capacity": size,
                    "accessModes": ["ReadWriteOnce"],
                    "local": {"path": str(path)},
                    "claimRef": {"namespace": "default", "name": name, "uid": claim.uid},
                },
                "status": {"phase": "Bound"},
            },
        )
        return {"persistentVolumeClaim": {"claimName": name}}

    async def bring(self, pod: Pod) -> None:
        """Returns once it has its volumes."""
        self._known.add(pod.uid)
        await self.directories.make(pod.uid)
        await self.volumes.mounted(pod)

    async def put_away(self, pod: Pod) -> None:
        self.volumes.release(pod.uid)
        await self.volumes.gone(pod.uid)
        await self.directories.remove(pod.uid)
        self._known.discard(pod.uid)

    def warnings(self, reason: str) -> list[str]:
        events = self.server.list(Event).items
        return [event.message for event in events if event.reason == reason]

    def mounted(self) -> list[str]:
        return [entry.at for entry in read_table().below(self.layout.pods.resolve())]
