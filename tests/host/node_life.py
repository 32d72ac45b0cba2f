"""A node on this machine's real mounts, with one pod that has one volume, for as long as it lives.

What it asks the API for is played; its disk, its mounts and its devices are real.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from enum import Enum
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from msgspec.structs import replace

from mooring.clock import RealClock
from mooring.host.contract import MountOps
from mooring.host.mountinfo import read_table
from mooring.model.claim import Claim
from mooring.model.pod import Pod
from mooring.model.volume import Volume
from mooring.node.orphans import Orphans
from mooring.node.pod_directory import PodDirectories
from mooring.node.reconstruct import confirm, reconstruct
from mooring.node.run import NodeVolumes
from mooring.plugins.contract import Mounter
from mooring.plugins.layout import Layout
from mooring.plugins.registry import built_in
from mooring.reconcile.recorder import Recorder
from tests.fakes.client import FakeClient
from tests.fakes.fake_server import FakeServer
from tests.fakes.waiting import until
from tests.host.conftest import loop_devices
from tests.unit.node.effects.world import FakeOwnNode
from tests.unit.plugins.world import a_host, picture_of

UID = "1c5d3a0e-0000-4000-8000-000000000001"
SECONDS = 20.0

Doc = dict[str, Any]


class Kind(Enum):
    FILES = "emptyDir on disk"
    MEMORY = "emptyDir in memory"
    WRITTEN = "files that the node writes"
    DIRECTORY = "local directory"
    DEVICE = "local device with ext4"
    BLOCK = "local device as it is"

    @property
    def is_kept(self) -> bool:
        """Whether its data outlive the pod."""
        return self in (Kind.DIRECTORY, Kind.DEVICE)


class Scene(msgspec.Struct, frozen=True):
    """Where a node lives, and what its pod's volume is."""

    root: str
    kind: Kind
    source: str = ""  # the path of a local volume

    @property
    def layout(self) -> Layout:
        return Layout(Path(self.root) / "node")


class Life:
    """One process's time; the next has the same scene, and nothing else of it."""

    def __init__(self, scene: Scene, mounts: MountOps) -> None:
        clock = RealClock()
        self.scene = scene
        self.layout = scene.layout
        host = replace(a_host(Path(scene.root), mounts), clock=clock)
        server = FakeServer(clock)
        client = FakeClient(server, clock)
        rng = Random(1)  # noqa: S311  no secret depends on it
        recorder = Recorder(client, clock, rng, "kubelet", "n1")
        self.pod = _create(server, scene)
        self.volumes = NodeVolumes(host, built_in(host), client, recorder, clock, FakeOwnNode())
        self.directories = PodDirectories(host.layout, mounts)
        self._known: set[str] = set()

    @asynccontextmanager
    async def running(self, *, has_pod: bool) -> AsyncIterator[None]:
        """Started anew; `has_pod` says whether the API still knows the pod."""
        self.layout.pods.mkdir(parents=True, exist_ok=True)
        self._known = {UID} if has_pod else set()
        reconstructed = await reconstruct(self.volumes.context)
        orphans = Orphans(self.volumes, reconstructed, self._known.__contains__)
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(one.run()) for one in (self.volumes, orphans)]
            await confirm(self.volumes.context, reconstructed)
            self.volumes.reconstructed()
            self.volumes.first_picture(self._known)
            yield
            for task in running:
                task.cancel()

    async def bring(self) -> Path | None:
        """Returns where its files are, once the pod has its volume."""
        await self.directories.make(UID)
        await self.volumes.mounted(self.pod)
        reach = self.volumes.reach(UID)["data"].reach
        return reach.path if isinstance(reach, Mounter) else None

    async def put_away(self) -> None:
        """The pod has gone, and so has everything of it."""
        self.volumes.release(UID)
        await self.volumes.gone(UID)
        await self.directories.remove(UID)
        self._known.clear()
        await self.cleared()

    async def cleared(self) -> None:
        """Returns once nothing is left. Raises: TimeoutError."""
        actual = self.volumes.context.actual
        await until(lambda: not list(actual.volumes()) and not left_of(self.scene), SECONDS)


def picture(scene: Scene) -> tuple[list[tuple[str, ...]], list[tuple[str, str]], list[str]]:
    """Every file, mount and loop device of the node, told without their place on this disk."""
    root = scene.layout.root.resolve()
    mounts = sorted(
        (str(entry.mount_point.relative_to(root)), entry.fs_type)
        for entry in read_table().below(root)
    )
    return picture_of(root), mounts, _held(scene)


def left_of(scene: Scene) -> list[str]:
    """What a pod that is gone must not leave."""
    root = scene.layout.root.resolve()
    left = [entry.at for entry in read_table().below(root)]
    left += map(str, scene.layout.pods.glob("*"))
    for pattern in ("*/*/mounts/*", "*/*/volumeDevices/*", "*/volumeDevices/*"):
        left += map(str, scene.layout.plugins.glob(pattern))
    return left + _held(scene)


def _held(scene: Scene) -> list[str]:
    """What loop devices hold open."""
    inside = f"{scene.layout.root.resolve()}/"
    held = (backing for _, backing in loop_devices() if backing.startswith(inside))
    return [backing.removeprefix(inside) for backing in held]


def _create(server: FakeServer, scene: Scene) -> Pod:
    volume: Doc = {"name": "data"}
    container: Doc = {"name": "main", "image": "none"}
    match scene.kind:
        case Kind.FILES:
            volume["emptyDir"] = {}
        case Kind.MEMORY:
            volume["emptyDir"] = {"medium": "Memory"}
        case Kind.WRITTEN:
            item = {"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}
            volume["downwardAPI"] = {"items": [item], "defaultMode": 0o644}
        case _:
            volume["persistentVolumeClaim"] = {"claimName": "claim"}
            _create_claimed(server, scene)
    if scene.kind is Kind.BLOCK:
        container["volumeDevices"] = [{"name": "data", "devicePath": "/dev/xvda"}]
    else:
        container["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    pod = server.create(
        Pod,
        {
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"volumes": [volume], "containers": [container]},
        },
    )
    return replace(pod, metadata=replace(pod.metadata, uid=UID))


def _create_claimed(server: FakeServer, scene: Scene) -> None:
    size = {"storage": "8Mi"}
    modes = ["ReadWriteOnce"]
    mode = "Block" if scene.kind is Kind.BLOCK else "Filesystem"
    claim = server.create(
        Claim,
        {
            "metadata": {"name": "claim", "namespace": "default"},
            "spec": {
                "volumeName": "pv",
                "accessModes": modes,
                "volumeMode": mode,
                "resources": {"requests": size},
            },
            "status": {"phase": "Bound", "capacity": size},
        },
    )
    reference = {"namespace": "default", "name": "claim", "uid": claim.uid}
    server.create(
        Volume,
        {
            "metadata": {"name": "pv"},
            "spec": {
                "capacity": size,
                "accessModes": modes,
                "volumeMode": mode,
                "claimRef": {"kind": "PersistentVolumeClaim"} | reference,
                "local": {"path": scene.source},
            },
        },
    )
