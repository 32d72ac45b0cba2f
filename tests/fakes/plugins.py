"""Volume plugins that do what a test tells them, and know what is really there.

`Backend` is the outside world: a log of every call, a script of how calls end, and the truth. The
plugins are thin: `FakePlugin` sets up files for a pod, `FakeDisk` has a device that is mounted once
and can grow, `FakeCloudDisk` has to be attached as well.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from pathlib import Path

from mooring.model.meta import ObjectMeta
from mooring.model.pod import Pod
from mooring.model.storage_terms import VolumeMode
from mooring.model.volume import Volume, VolumeSpec
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import (
    Attributes,
    DeviceRequest,
    GrowthRequest,
    MountRequest,
    NotStarted,
    Uncertain,
    Usage,
    VolumeError,
)
from mooring.plugins.layout import Layout


class Outcome(Enum):
    """How a call ends; an exception in a script is raised before anything happens."""

    DONE = "it happens, and the caller hears of it"
    FINAL = "it does not happen, and nothing goes on"
    TRANSIENT = "it was not even begun"
    LOST = "it happens, and the caller does not hear of it"
    VOID = "it does not happen, and the caller does not hear of that"
    HANG = "it happens, and the call waits for `release`"
    BUG = "it does not happen, and something else is raised"


Ending = Outcome | Exception
Thing = tuple[str, ...]  # ("attachment", "pv"), ("device", "pv"), ("files", "pv", "p1")


class Backend:
    """`calls` has every call in order, `there` what really is there.

    A thing that is there is whole once somebody was told so. What is not whole was begun by calls
    that nobody heard the end of, and a final failure of such a call clears it away.
    """

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.there: dict[Thing, bool] = {}  # and whether it is whole
        self.requests: list[MountRequest] = []
        self.growths: list[GrowthRequest] = []
        self.on_change: Callable[[], None] = lambda: None
        self.cut_reached = asyncio.Event()
        self._cut_in: int | None = None
        self._released = asyncio.Event()
        self._script: defaultdict[str, deque[Ending]] = defaultdict(deque)

    def script(self, verb: str, *endings: Ending) -> None:
        """The next calls of this verb end so; those behind them are done."""
        self._script[verb].extend(endings)

    def cut(self, points: int) -> None:
        """Stop at so many points from now: before or after something happens, for good."""
        self._cut_in = points

    def release(self) -> None:
        """Let every call that hangs go on, now and later."""
        self._released.set()

    def check(self, verb: str) -> None:
        """For calls that take no time and change nothing."""
        ending = self._next(verb)
        if isinstance(ending, Exception):
            raise ending

    async def bring(self, verb: str, thing: Thing, *words: str) -> None:
        ending = await self._begin(verb, thing, words)
        if ending is Outcome.FINAL and self.there.get(thing) is False:
            del self.there[thing]
        _raise_undone(verb, ending)
        self.there.setdefault(thing, False)
        await self._end(verb, ending)
        self.there[thing] = True

    async def take(self, verb: str, thing: Thing, *words: str) -> None:
        ending = await self._begin(verb, thing, words)
        _raise_undone(verb, ending)
        self.there.pop(thing, None)
        await self._end(verb, ending)

    async def ask(self, verb: str, thing: Thing, *words: str) -> None:
        """A call that changes nothing that has to be undone."""
        ending = await self._begin(verb, thing, words)
        _raise_undone(verb, ending)
        await self._end(verb, ending)

    async def _begin(self, verb: str, thing: Thing, words: Sequence[str]) -> Ending:
        self.calls.append(" ".join((verb, *thing[1:], *words)))
        await self._point()
        return self._next(verb)

    async def _end(self, verb: str, ending: Ending) -> None:
        self.on_change()
        if ending is Outcome.HANG:
            await self._released.wait()
        await self._point()
        if ending is Outcome.LOST:
            raise Uncertain(f"{verb} timed out")

    async def _point(self) -> None:
        turn = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(turn.set_result, None)
        await turn
        if self._cut_in is not None:
            self._cut_in -= 1
            if self._cut_in < 0:
                self.cut_reached.set()
                await asyncio.get_running_loop().create_future()

    def stop_cutting(self) -> None:
        self._cut_in = None
        self.cut_reached.clear()

    def _next(self, verb: str) -> Ending:
        return self._script[verb].popleft() if self._script[verb] else Outcome.DONE


def _raise_undone(verb: str, ending: Ending) -> None:
    if isinstance(ending, Exception):
        raise ending
    match ending:
        case Outcome.FINAL:
            raise VolumeError(f"{verb} refused")
        case Outcome.TRANSIENT:
            raise NotStarted(f"{verb} cannot begin")
        case Outcome.VOID:
            raise Uncertain(f"{verb} timed out")
        case Outcome.BUG:
            raise RuntimeError(f"{verb} is broken")
        case _:
            pass


def always(use: VolumeUse) -> bool:
    return True


class FakeMounter:
    attributes = Attributes(is_managed=True)

    def __init__(self, backend: Backend, path: Path, name: str, pod_uid: str) -> None:
        self.path = path
        self._backend = backend
        self._thing = ("files", name, pod_uid)

    async def set_up(self, request: MountRequest) -> None:
        self._backend.requests.append(request)
        await self._backend.bring("set_up", self._thing)

    async def tear_down(self) -> None:
        await self._backend.take("tear_down", self._thing)

    async def usage(self) -> Usage | None:
        return None


class FakePlugin:
    """Files of one pod: nothing is attached, nothing mounted for all."""

    def __init__(
        self,
        backend: Backend,
        layout: Layout,
        name: str = "example.com/files",
        *,
        serves: Callable[[VolumeUse], bool] = always,
        remounts: bool = False,
        takes_mount_options: bool = True,
    ) -> None:
        self.name = name
        self.takes_mount_options = takes_mount_options
        self._backend = backend
        self._layout = layout
        self._serves = serves
        self._remounts = remounts

    def supports(self, use: VolumeUse) -> bool:
        return self._serves(use)

    def volume_name(self, use: VolumeUse) -> str:
        return use.name

    def wants_remount(self, use: VolumeUse) -> bool:
        return self._remounts

    def mounter(self, use: VolumeUse, pod: Pod) -> FakeMounter:
        self._backend.check("mounter")
        return self._mounter(use.name, pod.uid)

    def unmounter(self, name: str, pod_uid: str) -> FakeMounter:
        self._backend.check("unmounter")
        return self._mounter(name, pod_uid)

    def rebuild(self, name: str, pod_uid: str) -> VolumeUse:
        return VolumeUse(volume=Volume(metadata=ObjectMeta(name=name)))

    def _mounter(self, name: str, pod_uid: str) -> FakeMounter:
        path = self._layout.volume(pod_uid, self.name, name)
        return FakeMounter(self._backend, path, name, pod_uid)


class FakeDevices:
    """Mounts and attaches; a device's path is what `attach` and `wait_for_attach` are told."""

    def __init__(self, backend: Backend, layout: Layout, plugin: str) -> None:
        self._backend = backend
        self._layout = layout
        self._plugin = plugin

    def device_mount_path(self, use: VolumeUse) -> Path:
        self._backend.check("device_mount_path")
        return self._layout.global_mount(self._plugin, use.name)

    async def mount_device(
        self, use: VolumeUse, device: str, target: Path, request: DeviceRequest
    ) -> None:
        await self._backend.bring("mount_device", ("device", use.name))

    async def unmount_device(self, target: Path) -> None:
        await self._backend.take("unmount_device", ("device", target.name))

    async def attach(self, use: VolumeUse, node: str) -> str:
        await self._backend.bring("attach", ("attachment", use.name), node)
        return f"/dev/{use.name}"

    async def are_attached(self, uses: Sequence[VolumeUse], node: str) -> Mapping[str, bool]:
        return {use.name: ("attachment", use.name) in self._backend.there for use in uses}

    async def wait_for_attach(self, use: VolumeUse, device: str, pod: Pod) -> str:
        await self._backend.ask("wait_for_attach", ("attachment", use.name), device)
        return device

    async def detach(self, volume_name: str, node: str) -> None:
        await self._backend.take("detach", ("attachment", volume_name), node)


class FakeMapper:
    """The device of a block volume, for one pod; it is the file `device`, which must exist."""

    def __init__(self, backend: Backend, directory: Path, link: Path, device: Path) -> None:
        self._backend = backend
        self._directory = directory
        self._link = link
        self._device = device
        self._files = ("files", link.name, link.parents[2].name)
        self._once = ("device", link.name)

    def global_map_path(self, use: VolumeUse | None = None) -> Path:
        return self._directory

    def pod_device_link(self) -> Path:
        return self._link

    async def set_up_device(self) -> str:
        await self._backend.bring("set_up_device", self._once)
        return ""

    async def map_pod_device(self) -> str:
        await self._backend.bring("map_pod_device", self._files)
        return str(self._device)

    async def unmap_pod_device(self) -> None:
        await self._backend.take("unmap_pod_device", self._files)

    async def tear_down_device(self, map_path: Path, device: str) -> None:
        await self._backend.take("tear_down_device", self._once)

    async def usage(self) -> Usage | None:
        return None


class FakeDisk(FakePlugin):
    """A device that is mounted once for all pods, or mapped, and grows on the node."""

    def __init__(
        self,
        backend: Backend,
        layout: Layout,
        name: str = "example.com/disk",
        *,
        serves: Callable[[VolumeUse], bool] = always,
        remounts: bool = False,
        takes_mount_options: bool = True,
    ) -> None:
        super().__init__(
            backend,
            layout,
            name,
            serves=serves,
            remounts=remounts,
            takes_mount_options=takes_mount_options,
        )
        self.device = layout.root / "device"  # of every block volume

    def can_mount_device(self, use: VolumeUse) -> bool:
        return True

    def device_mounter(self) -> FakeDevices:
        return FakeDevices(self._backend, self._layout, self.name)

    def device_unmounter(self) -> FakeDevices:
        return self.device_mounter()

    def block_mapper(self, use: VolumeUse, pod: Pod) -> FakeMapper:
        self._backend.check("block_mapper")
        return self.block_unmapper(use.name, pod.uid)

    def block_unmapper(self, name: str, pod_uid: str) -> FakeMapper:
        link = self._layout.device_link(pod_uid, self.name, name)
        directory = self._layout.global_map(self.name, name)
        return FakeMapper(self._backend, directory, link, self.device)

    def rebuild_block(self, name: str, pod_uid: str) -> VolumeUse:
        spec = VolumeSpec(volume_mode=VolumeMode.BLOCK)
        return VolumeUse(volume=Volume(metadata=ObjectMeta(name=name), spec=spec))

    def needs_node_growth(self, use: VolumeUse) -> bool:
        return True

    async def grow_on_node(self, request: GrowthRequest) -> bool:
        self._backend.growths.append(request)
        thing = ("size", request.use.name)
        await self._backend.ask("grow", thing, str(request.old_bytes), str(request.new_bytes))
        return True


class FakeCloudDisk(FakeDisk):
    """A disk that has to be attached, by a controller or by the node."""

    def can_attach(self, use: VolumeUse) -> bool:
        return True

    def attacher(self) -> FakeDevices:
        return self.device_mounter()

    def detacher(self) -> FakeDevices:
        return self.device_mounter()

    async def is_node_full(self, use: VolumeUse, node: str) -> bool:
        return False
