"""A node's volumes and pods against a whole API in this process.

`Cluster.node()` runs them, as a process of theirs would; leaving it kills them. Most plugins are
played (`Cluster.backend` knows what happened); with `real=True` they are those that Mooring has, on
a directory of the test and mounts in memory.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.user import node_user
from mooring.client.contract import EVERYTHING, Client, Listing, Scope, T
from mooring.client.local import LocalClient
from mooring.errors import Forbidden
from mooring.model.claim import Claim
from mooring.model.document import Doc
from mooring.model.keys import Key
from mooring.model.kubernetes_version import NEWEST
from mooring.model.meta import ApiObject
from mooring.model.pod import Pod
from mooring.model.volume_use import VolumeUse
from mooring.node.container_statistics import ContainerStatistics
from mooring.node.context import NodeContext
from mooring.node.eviction import run as eviction
from mooring.node.kubelet import Kubelet, Restart, node_environment
from mooring.node.own_node import WatchedNode
from mooring.node.pod_runtime import PodRuntime
from mooring.node.pod_workers import PodWorkers
from mooring.node.pods.contract import PodContainers, PodVolumes
from mooring.node.pods.no_runtime import NoContainers
from mooring.node.reconstruct import Reconstructed, reconstruct
from mooring.node.root import NodeRoot
from mooring.node.run import NodeVolumes
from mooring.node.server.paths import FindPod
from mooring.node.statistics import Statistics
from mooring.node.status.hardware import Amounts, Identity
from mooring.node.status.report import Report
from mooring.plugins.layout import Layout
from mooring.plugins.registry import Registry, built_in
from mooring.plugins.volume_host import Host
from mooring.reconcile.loops import Loops
from tests.fakes.api import ApiUnderTest
from tests.fakes.mounts import FakeMounts
from tests.fakes.objects import CLAIMS, DEFAULT, NODES, PODS, VOLUMES, a_claim, a_node, a_volume
from tests.fakes.plugins import Backend, FakeCloudDisk, FakeDisk, FakePlugin
from tests.scenarios.binding import cluster as binding
from tests.scenarios.neighbours import FOREVER, Mortal

NODE = "n1"
DISK = "example.com/disk"
CLOUD = "example.com/cloud"
SCRATCH = "example.com/scratch"
FILES = "example.com/files"
ADDRESS = "10.0.0.7"


class MoodyCloud(FakeCloudDisk):
    """Its driver may say that nothing need be attached, or that the node is full."""

    is_attachable = True
    is_full = False
    wants_republish = False

    def can_attach(self, use: VolumeUse) -> bool:
        return self.is_attachable

    def wants_remount(self, use: VolumeUse) -> bool:
        return self.wants_republish

    async def is_node_full(self, use: VolumeUse, node: str) -> bool:
        return self.is_full


class FakeContainers(NoContainers):
    """Containers that start, stop and linger as told. After a restart those of `left` are there."""

    def __init__(self) -> None:
        self.running: set[str] = set()  # by pod uid
        self.started: list[tuple[str, tuple[str, ...]]] = []  # pod, names of its volumes
        self.may_stop = asyncio.Event()
        self.may_stop.set()

    async def start(self, pod: Pod, volumes: PodVolumes) -> None:
        self.running.add(pod.uid)
        self.started.append((pod.name, tuple(sorted(volumes.reach()))))

    async def stop(self, pod: Pod) -> None:
        await self.may_stop.wait()
        self.running.discard(pod.uid)

    def are_gone(self, pod_uid: str) -> bool:
        return pod_uid not in self.running


class Grumpy(Mortal):
    """A client whose next deletions and reads of claims are refused, or wait."""

    refusals: list[Exception]
    outages: list[Exception]
    may_read: asyncio.Event
    may_watch: asyncio.Event  # claims; they are listed first
    watch_outages: list[Exception]
    lists_pods: bool = True
    may_watch_claims: bool = True  # False: as Kubernetes has it
    refused: int = 0  # lists and watches of claims
    reads: int = 0  # of claims

    async def get(self, kind: type[T], key: Key) -> T:
        if kind is Claim:
            self.reads += 1
            await self.may_read.wait()
            if self.outages:
                raise self.outages.pop(0)
        return await super().get(kind, key)

    async def list(self, kind: type[T], scope: Scope = EVERYTHING) -> Listing[T]:
        if kind is Pod and not self.lists_pods:
            await asyncio.get_running_loop().create_future()
        if kind is Claim and not self.may_watch_claims:
            self.refused += 1
            raise Forbidden("can only get individual resources of this type")
        if kind is Claim:
            await self.may_watch.wait()
            if self.watch_outages:
                raise self.watch_outages.pop(0)
        return await super().list(kind, scope)

    async def delete(self, seen: ApiObject, *, grace_seconds: int | None = None) -> None:
        if self.refusals:
            raise self.refusals.pop(0)
        await super().delete(seen, grace_seconds=grace_seconds)


class FakePodRuntime:
    """`PodRuntime` with these containers; nobody is served."""

    def __init__(self, containers: PodContainers, run: Callable[[], Awaitable[None]]) -> None:
        self.containers = containers
        self._run = run

    def serve(self, find_pod: FindPod) -> None:
        pass

    async def loaded(self) -> None:
        pass

    async def run(self) -> None:
        await self._run()


class RunningNode(msgspec.Struct, frozen=True):
    volumes: NodeVolumes
    workers: PodWorkers
    client: Grumpy
    own_node: WatchedNode


class Cluster(binding.Cluster):
    def __init__(self, api: ApiUnderTest, root: Path) -> None:
        super().__init__(api)
        self.layout = Layout(root)
        self.mounts = FakeMounts()
        self.backend = Backend()
        self.containers = FakeContainers()
        self.cloud = MoodyCloud(self.backend, self.layout, CLOUD, serves=_serving("csi"))
        self.outages: list[Exception] = []  # of claims that are read
        self.may_read = asyncio.Event()
        self.may_read.set()
        self.may_watch_claims = True
        self.may_watch = asyncio.Event()
        self.may_watch.set()
        self.watch_outages: list[Exception] = []
        self.reports_use = True  # the node's status says at once what is in use
        self.release = NEWEST
        self.reports_status = False  # all of its status is written, as in a process of its own

    @asynccontextmanager
    async def node(
        self,
        *,
        real: bool = False,
        found: Callable[[NodeContext], None] | None = None,
        is_reconstructed: bool = True,
        with_workers: bool = True,
    ) -> AsyncIterator[RunningNode]:
        """With the rights of a node, and no others; built and started as a process does it.

        `found` plays what is read back of played volumes, which never ends without
        `is_reconstructed`. Without `with_workers` the node never gets its list of pods: nobody but
        the test looks after them.
        """
        client = self._client(lists_pods=with_workers)
        loops = Loops("node", client, self.clock, Random(1))  # noqa: S311  not for secrets
        root = NodeRoot(self.layout, self.mounts)
        environment = node_environment(loops, root, NODE, {}, {"memory": "8Gi"})
        host = environment.host
        registry = built_in(host) if real else self.plugins(host, client)
        restart = self._restart(found, is_reconstructed=is_reconstructed)
        kubelet = Kubelet(loops, environment, registry, self.pod_runtime, ADDRESS, restart=restart)
        volumes = kubelet.volumes
        statistics = Statistics(volumes)
        containers = ContainerStatistics(kubelet.containers.storage, self.clock)
        eviction.build(loops, kubelet, statistics, containers, self.release)
        if self.reports_use:
            volumes.on_in_use_change(lambda: volumes.reported_in_use(volumes.in_use()))
        if self.reports_status:
            own_node = environment.own_node
            report = Report(client, self.clock, loops.rng, own_node, volumes, Identity(), _measure)
            kubelet.on_synced(report.volumes_synced)
            loops.add(report.run)
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(loops.run())
            await self.settle()
            yield RunningNode(volumes, kubelet.workers, client, environment.own_node)
            running.cancel()

    def _client(self, *, lists_pods: bool) -> Grumpy:
        parts = self.api.parts
        access = parts.access
        api = InProcessApi(parts.backend, node_user(NODE), access.part_verbs, access.check)
        client = Grumpy(LocalClient(api), FOREVER)
        client.refusals, client.outages = self.refusals, self.outages
        client.may_read, client.lists_pods = self.may_read, lists_pods
        client.may_watch_claims = self.may_watch_claims
        client.may_watch, client.watch_outages = self.may_watch, self.watch_outages
        return client

    def _restart(
        self, found: Callable[[NodeContext], None] | None, *, is_reconstructed: bool
    ) -> Restart:
        async def read(context: NodeContext) -> Reconstructed:
            on_disk = await reconstruct(context)
            if found is not None:
                found(context)
            return on_disk

        async def never(context: NodeContext, on_disk: Reconstructed) -> None:
            await asyncio.get_running_loop().create_future()

        return Restart(read) if is_reconstructed else Restart(read, never)

    def pod_runtime(self, context: NodeContext) -> PodRuntime:
        """Who runs containers, and what has to run for that."""
        return FakePodRuntime(self.containers, _nothing)

    def plugins(self, host: Host, client: Client) -> Registry:
        """Played ones."""
        backend, layout = self.backend, self.layout
        return Registry(
            (
                self.cloud,
                FakeDisk(backend, layout, DISK, serves=_serving("hostPath")),
                FakePlugin(backend, layout, SCRATCH, serves=_serving("emptyDir")),
                FakePlugin(backend, layout, FILES, serves=_serving("configMap"), remounts=True),
            )
        )

    # what is there

    async def uid(self, pod: str = "web") -> str:
        doc = await self.find(PODS, pod)
        assert doc is not None, f"{pod} is gone"
        return str(doc["metadata"]["uid"])

    async def said(self, *reasons: str) -> list[tuple[str, str, str]]:
        """Type, reason and message of the node's events, oldest first; all, or of these."""
        items = (await self.api.get(f"{DEFAULT}/events")).doc["items"]
        items.sort(key=lambda item: int(item["metadata"]["resourceVersion"]))
        return [
            (item["type"], item["reason"], item["message"])
            for item in items
            if item["source"]["component"] == "kubelet"
            and (not reasons or item["reason"] in reasons)
        ]

    def did(self, *verbs: str) -> list[str]:
        """What plugins were asked to do; all, or these verbs."""
        return [call for call in self.backend.calls if not verbs or call.split()[0] in verbs]

    async def reason(self, pod: str = "web") -> str:
        """Why its container waits."""
        doc = await self.find(PODS, pod)
        assert doc is not None
        return str(doc["status"]["containerStatuses"][0]["state"]["waiting"]["reason"])

    # what people do

    async def attach(self, *volumes: str) -> None:
        """As the attach/detach controller does it."""
        attached = [{"name": f"{CLOUD}/{name}", "devicePath": f"/dev/{name}"} for name in volumes]
        await self.patch(NODES, NODE, {"status": {"volumesAttached": attached}}, "/status")

    async def a_node(self) -> None:
        await self.create(NODES, a_node(NODE))

    async def bound(self, claim: str = "data", volume: str = "disk", **spec: Any) -> None:
        """A claim and its volume, on a disk of this node unless `spec` says otherwise."""
        source = {"csi": None, "hostPath": {"path": f"/mnt/{volume}"}}
        await self.create(CLAIMS, a_claim(claim, volumeName=volume, storageClassName=""))
        await self.create(VOLUMES, a_volume(volume, "1Gi", **(source | spec)))
        await self.bind(claim, volume)

    async def bind(self, claim: str = "data", volume: str = "disk") -> None:
        """As the binder does it."""
        doc = await self.find(CLAIMS, claim)
        assert doc is not None
        reference = {"namespace": "default", "name": claim, "uid": doc["metadata"]["uid"]}
        await self.patch(VOLUMES, volume, {"spec": {"claimRef": reference}})
        status = {"phase": "Bound", "capacity": {"storage": "1Gi"}}
        await self.patch(CLAIMS, claim, {"status": status}, "/status")


async def _nothing() -> None:
    pass


async def _measure() -> Amounts:
    return Amounts(memory=8 << 30, memory_free=4 << 30, storage=8 << 30, storage_free=4 << 30)


def _serving(source: str) -> Callable[[VolumeUse], bool]:
    return lambda use: use.source is not None and use.source[0] == source


def a_pod(name: str = "web", *volumes: Doc, unused: tuple[str, ...] = (), **spec: Any) -> Doc:
    """A pod on the node; each volume is mounted in its one container, unless it is unused."""
    mounts = [
        {"name": volume["name"], "mountPath": f"/{volume['name']}"}
        for volume in volumes
        if volume["name"] not in unused
    ]
    container = {"name": "main", "image": "busybox:1", "volumeMounts": mounts}
    has: Doc = {
        "nodeName": NODE,
        "volumes": list(volumes),
        "containers": [container],
        "automountServiceAccountToken": False,
    }
    return {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name}, "spec": has | spec}


def scratch(name: str = "tmp") -> Doc:
    return {"name": name, "emptyDir": {}}


def claimed(claim: str = "data", name: str = "", *, read_only: bool = False) -> Doc:
    source = {"claimName": claim, "readOnly": read_only}
    return {"name": name or claim, "persistentVolumeClaim": source}


def config(name: str = "settings") -> Doc:
    return {"name": name, "configMap": {"name": name}}
