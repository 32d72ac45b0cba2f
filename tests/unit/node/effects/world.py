"""A node's volumes with a played outside: pictures, operations and effects, but nobody who wakes.

Instead, `once` goes round until nothing can be done now, and `settle` lets pauses pass as well.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, Self

import msgspec
from msgspec.structs import replace

from mooring.model.claim import Claim
from mooring.model.meta import ObjectMeta
from mooring.model.node import AttachedVolume, Node, NodeStatus
from mooring.model.node_selector import (
    NodeOperator,
    NodeRequirement,
    NodeSelector,
    NodeSelectorTerm,
)
from mooring.model.pod import Pod
from mooring.model.reference import ClaimRef, ObjectReference
from mooring.model.storage_terms import AccessMode, VolumeMode
from mooring.model.volume import Volume, VolumeNodeAffinity, VolumeSpec
from mooring.model.volume_use import VolumeUse
from mooring.node.actual import Actual, ActualVolume, Attachability, DeviceState, PodMount, PodState
from mooring.node.context import NodeContext
from mooring.node.decide import decide
from mooring.node.desired import Desired, WantedBy, WantedVolume
from mooring.node.effects.run import Effects
from mooring.node.operations import Operations
from mooring.node.plan import Operation
from mooring.node.view import View
from mooring.plugins.contract import Attachable, DeviceMountable
from mooring.plugins.layout import Layout
from mooring.plugins.registry import Registry
from mooring.plugins.unique_name import unique_name
from mooring.reconcile.operations import PutOff, Started
from mooring.reconcile.recorder import Recorder
from tests.fakes.client import FakeClient
from tests.fakes.clock import VirtualClock, settle
from tests.fakes.fake_server import FakeServer
from tests.fakes.mounts import FakeMounts
from tests.fakes.plugins import Backend, FakeDisk, FakePlugin
from tests.unit.plugins.world import a_host

NODE = "n1"
MOST_ROUNDS = 200

Doc = dict[str, Any]


class Told(msgspec.Struct, frozen=True):
    """An event."""

    about: str  # kind and name
    type: str
    reason: str
    message: str


class FakeRecorder(Recorder):
    def __init__(self, client: FakeClient, clock: VirtualClock) -> None:
        rng = Random(1)  # noqa: S311  no secret depends on it
        super().__init__(client, clock, rng, "kubelet", NODE)
        self.told: list[Told] = []

    def record(self, reference: ObjectReference, type: str, reason: str, message: str) -> None:
        about = f"{reference.kind} {reference.name}"
        self.told.append(Told(about, str(type), reason, message))


class FakeOwnNode:
    """`status` and `in_use` are what the API has, `heard` what was last heard of `status`."""

    name = NODE

    def __init__(self) -> None:
        self.status: dict[str, str] = {}
        self.in_use: tuple[str, ...] = ()
        self.heard: dict[str, str] = {}
        self.has: dict[str, str] = {}

    def attached(self) -> Mapping[str, str]:
        return self.heard

    def labels(self) -> Mapping[str, str]:
        return self.has

    async def read(self) -> Node:
        attached = tuple(AttachedVolume(name, device) for name, device in self.status.items())
        return Node(
            metadata=ObjectMeta(name=NODE, labels=self.has),
            status=NodeStatus(volumes_attached=attached, volumes_in_use=self.in_use),
        )


class FakeLocks:
    """Loop devices in memory."""

    def __init__(self) -> None:
        self.held: set[Path] = set()

    def find_or_attach(self, backing: Path) -> Path:
        self.held.add(backing)
        return Path("/dev/loop7")

    def detach_backing(self, backing: Path) -> None:
        self.held.discard(backing)


MakePlugin = Callable[[Backend, Layout], FakePlugin]


class NodeWorld:
    """Entered, it can run operations; left, whatever still runs is cancelled."""

    def __init__(self, root: Path, make_plugin: MakePlugin = FakeDisk) -> None:
        self.clock = VirtualClock()
        self.server = FakeServer(self.clock)
        self.client = FakeClient(self.server, self.clock)
        self.recorder = FakeRecorder(self.client, self.clock)
        self.own_node = FakeOwnNode()
        self.mounts = FakeMounts()
        self.locks = FakeLocks()
        self.backend = Backend()
        host = a_host(root, self.mounts)
        host.layout.root.mkdir(parents=True, exist_ok=True)
        (host.layout.root / "device").touch()
        self.plugin = make_plugin(self.backend, host.layout)
        self.context = NodeContext(
            host,
            Registry((self.plugin,)),
            Desired(lambda name: None),
            Actual(lambda name, pod_uid: self.check()),
            self.client,
            self.recorder,
            self.clock,
            self.own_node,
            device_locks=self.locks,
        )
        self.check: Callable[[], None] = lambda: None  # after every change of the actual picture
        self.began: list[Operation] = []
        self._tasks = asyncio.TaskGroup()
        self._running: set[asyncio.Task[Any]] = set()
        self._start_over()

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self.cancel()
        await self._tasks.__aexit__(*error)

    def _start_over(self) -> None:
        self.operations = Operations(self.clock, self._run, lambda operation: None)

    async def _run(self, operation: Operation) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        await Effects(self.context).run(operation)

    # what happens to it

    def restart(self, *traces: tuple[str, str]) -> None:
        """All that the node knew is gone; it reads its disk. Nothing of it runs.

        `traces` are volumes and pods of which directories are left, though nothing is mounted.
        """
        is_reading = True
        reconstructed = Actual(lambda name, pod_uid: None if is_reading else self.check())
        self.context = replace(self.context, actual=reconstructed)
        self._start_over()
        mounted = {thing[1:3] for thing in self.backend.there if thing[0] == "files"}
        for name, uid in sorted(mounted | set(traces)):
            use = self._on_disk(name)
            here = self._found(use, uid)
            reconstructed.reconstructed(here, PodMount(uid, use, PodState.UNCERTAIN))
        for thing in self.backend.there:
            if thing[0] == "device":
                reconstructed.device_reconstructed(self._found(self._on_disk(thing[1]), ""))
        is_reading = False
        self.check()

    def use_registry(self, registry: Registry) -> None:
        """Other plugins from now on."""
        self.context = replace(self.context, registry=registry)

    def _on_disk(self, name: str) -> VolumeUse:
        is_block = isinstance(self.plugin, FakeDisk) and name.startswith("block")
        if is_block and isinstance(self.plugin, FakeDisk):
            return self.plugin.rebuild_block(name, "")
        return self.plugin.rebuild(name, "")

    def _found(self, use: VolumeUse, pod_uid: str) -> ActualVolume:
        name = unique_name(self.plugin, use, pod_uid)
        is_shared = isinstance(self.plugin, DeviceMountable)
        return ActualVolume(
            name,
            self.plugin.name,
            use,
            attachability=Attachability.UNCERTAIN,
            device=DeviceState.UNCERTAIN if is_shared else DeviceState.NOT_MOUNTED,
        )

    def want(
        self,
        pod_uid: str,
        use: VolumeUse,
        *,
        pod: Pod | None = None,
        size_limit: int | None = None,
        reported_in_use: bool = True,
    ) -> str:
        """The volume's unique name."""
        pod = pod or a_pod(pod_uid)
        name = unique_name(self.plugin, use, pod_uid)
        wanted = WantedVolume(
            name,
            self.plugin.name,
            use,
            is_attachable=isinstance(self.plugin, Attachable),
            is_device_mountable=isinstance(self.plugin, DeviceMountable),
            capacity=0 if use.volume is None else use.volume.size.bytes_ceil(),
        )
        now = self.clock.monotonic()
        by = WantedBy(pod, use, frozenset({use.name}), now, size_limit)
        self.context.desired.want(wanted, by)
        if reported_in_use:
            self.report_in_use()
        return name

    def report_in_use(self) -> None:
        names = frozenset(wanted.name for wanted in self.context.desired.volumes())
        self.context.desired.report_in_use(names)

    def drop(self, pod_uid: str) -> None:
        self.context.desired.drop_pod(pod_uid)

    # going on

    async def once(self) -> None:
        """Go round until nothing can be done now."""
        for _ in range(MOST_ROUNDS):
            begun, _ = self.start()
            if not begun:
                return
            await self.idle()
        raise AssertionError("it never comes to rest")

    async def settle(self) -> None:
        """Go round, and let pauses pass, until nothing is left to do."""
        for _ in range(MOST_ROUNDS):
            begun, pauses = self.start()
            if begun:
                await self.idle()
            elif pauses:
                await self.clock.advance(min(pauses))
            else:
                return
        raise AssertionError("it is never finished")

    def start(self) -> tuple[int, Sequence[float]]:
        """How many operations began, and the pauses of those that must wait."""
        begun, pauses = 0, []
        names = {volume.name for volume in self.context.desired.volumes()}
        names |= {volume.name for volume in self.context.actual.volumes()}
        for name in sorted(names):
            for operation in decide(self.view(name)).operations:
                match self.operations.start(operation, self._tasks):
                    case PutOff(seconds):
                        pauses.append(seconds)
                    case Started():
                        begun += 1
                        self.began.append(operation)
                    case _:
                        pass
        return begun, pauses

    def view(self, name: str) -> View:
        wanted = self.context.desired.find(name)
        return View(
            name,
            wanted,
            self.context.actual.find(name),
            busy=self.operations.busy(name),
            attaches_itself=self.context.attaches_itself,
            is_attached=name in self.own_node.heard,
            grows_on_node=wanted is not None and not wanted.use.read_only,
        )

    async def idle(self) -> None:
        """Wait for what runs, or for the cut."""
        await settle(1)
        if self._running:
            cut = asyncio.ensure_future(self.backend.cut_reached.wait())
            runs = asyncio.ensure_future(asyncio.wait(set(self._running)))
            await asyncio.wait({cut, runs}, return_when=asyncio.FIRST_COMPLETED)
            cut.cancel()
            runs.cancel()
            await asyncio.wait({cut, runs})

    async def cancel(self) -> None:
        """Whatever runs is cancelled, wherever it is."""
        running = set(self._running)
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)
        self.backend.stop_cutting()

    # what is known

    def here(self) -> ActualVolume:
        """The only volume here."""
        (volume,) = self.context.actual.volumes()
        return volume

    def picture(self) -> "Picture | None":
        volumes = list(self.context.actual.volumes())
        if not volumes:
            return None
        pods = {uid: mount.state for uid, mount in volumes[0].pods.items()}
        return Picture(volumes[0].device, pods)

    def events(self) -> tuple[tuple[str, str], ...]:
        """Of pods: reason and message, each once."""
        told = [one for one in self.recorder.told if one.about.startswith("Pod ")]
        return tuple(dict.fromkeys((one.reason, one.message) for one in told))

    # objects

    def claim(self, capacity: str = "1Gi", **status: Any) -> Claim:
        doc: Doc = {
            "metadata": {"name": "data", "namespace": "default"},
            "spec": {
                "accessModes": status.pop("access_modes", ["ReadWriteOnce"]),
                "resources": {"requests": {"storage": status.pop("requested", "2Gi")}},
            },
            "status": {"phase": "Bound", "capacity": {"storage": capacity}} | status,
        }
        if annotations := doc["status"].pop("annotations", None):
            doc["metadata"]["annotations"] = annotations
        return self.server.create(Claim, doc)


class Picture(msgspec.Struct, frozen=True):
    """What the node believes of its only volume."""

    device: DeviceState
    pods: Mapping[str, PodState] = msgspec.field(default_factory=dict)


Act = Callable[[NodeWorld], Awaitable[None]]


def affinity_for(term: NodeSelectorTerm) -> VolumeNodeAffinity:
    return VolumeNodeAffinity(NodeSelector((term,)))


_IN_ZONE = NodeRequirement(key="zone", operator=NodeOperator.IN, values=("other",))
OTHER_ZONE = affinity_for(NodeSelectorTerm(match_expressions=(_IN_ZONE,)))


def a_pod(uid: str = "p1") -> Pod:
    return Pod(metadata=ObjectMeta(name=uid, namespace="default", uid=uid))


def a_use(
    name: str = "pv",
    *modes: AccessMode,
    size: str = "",
    mode: VolumeMode = VolumeMode.FILESYSTEM,
    read_only: bool = False,
    **spec: Any,
) -> VolumeUse:
    """A persistent volume; with a size it is that of the claim `data`."""
    if size:
        spec["capacity"] = {"storage": size}
        spec["claim_ref"] = ClaimRef(
            kind="PersistentVolumeClaim", namespace="default", name="data", uid="uid-1"
        )
    volume = Volume(
        metadata=ObjectMeta(name=name, uid=f"uid-of-{name}"),
        spec=VolumeSpec(access_modes=modes, volume_mode=mode, **spec),
    )
    return VolumeUse(volume=volume, read_only=read_only)
