"""A node that really runs pods: real volumes, real containers, an API that is played."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from msgspec.structs import replace

from mooring.clock import RealClock
from mooring.host.mount import Mounts
from mooring.host.mountinfo import read_table
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.node.admission.decide import Rules
from mooring.node.container_statistics import ContainerStatistics
from mooring.node.eviction.run import Evictions
from mooring.node.pod_directory import PodDirectories
from mooring.node.pod_workers import PodWorkers
from mooring.node.pods.container_spec import ContainerSettings
from mooring.node.pods.run import PodRuns, Runtime
from mooring.node.reconstruct import confirm, reconstruct
from mooring.node.run import NodeVolumes
from mooring.node.statistics import Statistics
from mooring.oci.contract import StoredImage
from mooring.plugins.layout import Layout
from mooring.plugins.registry import built_in
from mooring.reconcile.recorder import Recorder
from tests.fakes.client import FakeClient
from tests.fakes.fake_server import FakeServer
from tests.fakes.waiting import until
from tests.host.containers import World, logged
from tests.unit.node.effects.world import FakeOwnNode
from tests.unit.plugins.world import a_host

WEB = Key("default", "web")


class OneImage:
    def __init__(self, image: StoredImage) -> None:
        self._image = image

    def find(self, reference: str) -> StoredImage | None:
        return self._image if reference == "little" else None

    def list(self) -> Sequence[StoredImage]:
        return (self._image,)


class Following:
    def follow(self, pod: Pod) -> None: ...

    def unfollow(self, pod_uid: str) -> None: ...


class PodNode:
    """`running` is one life of the node; the next finds what the last one left.

    Who stores too much is looked for when a test says so.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.root = world.root
        self.layout = Layout(world.root)
        self.server = FakeServer(RealClock())
        self.client = FakeClient(self.server, RealClock())
        self.settings = ContainerSettings("n1", "127.0.0.1")
        self.rules = Rules()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        clock, mounts = RealClock(), Mounts()
        self.layout.pods.mkdir(parents=True, exist_ok=True)
        host = replace(a_host(self.root.parent, mounts), clock=clock, rng=secrets.SystemRandom())
        recorder = Recorder(self.client, clock, host.rng, "kubelet", "n1")
        volumes = NodeVolumes(host, built_in(host), self.client, recorder, clock, FakeOwnNode())
        runtime = Runtime(self.world.containers, OneImage(self.world.image))
        pods = PodRuns(volumes.context, runtime, self.settings)
        directories = PodDirectories(host.layout, mounts)
        workers = PodWorkers(volumes, Following(), directories, pods, rules=self.rules)
        self.evictions = Evictions(
            volumes.context,
            workers.informer.all,
            Statistics(volumes, good_for=0).of_pod,
            ContainerStatistics(pods.storage, clock).of_pod,
            with_sidecars=True,
        )
        self.storage = pods.storage
        found = await reconstruct(volumes.context)
        async with asyncio.TaskGroup() as tasks:
            owned = [tasks.create_task(part.run()) for part in (volumes, pods, recorder, workers)]
            await confirm(volumes.context, found)
            volumes.reconstructed()
            yield
            for task in owned:
                task.cancel()

    def create(self, script: str, **spec: Any) -> Pod:
        container = {
            "name": "main",
            "image": "little",
            "command": ["/bin/sh", "-c", script],
            "terminationMessagePath": "/dev/termination-log",
            "volumeMounts": [{"name": "data", "mountPath": "/data"}],
        }
        has = {
            "nodeName": "n1",
            "restartPolicy": "Always",
            "volumes": [{"name": "data", "emptyDir": {}}],
            "containers": [container],
        }
        metadata = {"name": "web", "namespace": "default"}
        return self.server.create(Pod, {"metadata": metadata, "spec": has | spec})

    def delete(self, grace: int = 30) -> None:
        self.server.delete(self.pod, grace)

    @property
    def pod(self) -> Pod:
        return self.server.get(Pod, WEB)

    async def reaches(self, phase: str) -> Pod:
        await until(lambda: self.pod.status.phase == phase)
        return self.pod

    async def says(self, word: str) -> None:
        """Returns once a container has said it: it is up, and hears signals."""

        def is_said() -> bool:
            found = self.world.containers.list()
            return any(each.log_path.exists() and word in logged(each.log_path) for each in found)

        await until(is_said)

    async def is_gone(self) -> None:
        await until(lambda: self.server.find(Pod, WEB) is None)
        await until(lambda: not self.world.containers.list())

    def mounts(self) -> list[str]:
        return [entry.at for entry in read_table().below(self.layout.pods)]
