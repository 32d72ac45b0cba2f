"""local: a disk, partition or directory of one node, as a persistent volume.

A directory is bound into each pod. A block device with a file system is mounted once, formatted if
it is empty, and bound from there; as a block volume it is mapped into the pod unchanged. The data
outlives the pods; an administrator or an external provisioner cleans up after a claim.
"""

import asyncio
import stat
from enum import Enum, auto
from pathlib import Path
from threading import Lock
from weakref import WeakValueDictionary

import msgspec

from mooring import log
from mooring.errors import HostError, Unformatted, WrongFilesystem
from mooring.host import ownership
from mooring.host.blocking import in_thread, taking
from mooring.host.bulkhead import LONG_SECONDS
from mooring.host.cleanup import clean_up, remove_empty
from mooring.host.filesystem import DEFAULT_TYPE, format_and_mount
from mooring.host.mountinfo import canonical
from mooring.host.ownership import ChangePolicy, FsGroup, View
from mooring.host.refusal import refusals
from mooring.host.resize import resize
from mooring.model.event import EventType
from mooring.model.meta import ObjectMeta
from mooring.model.pod import Pod
from mooring.model.storage_terms import AccessMode, VolumeMode
from mooring.model.volume import Volume, VolumeSpec
from mooring.model.volume_source import LocalSource
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import (
    Attributes,
    DeviceRequest,
    GrowthRequest,
    MountRequest,
    Usage,
    VolumeError,
)
from mooring.plugins.directories import make_directories
from mooring.plugins.layout import escaped
from mooring.plugins.measure import measure_device, measure_filesystem
from mooring.plugins.slow_walk import SlowWalk
from mooring.plugins.volume_host import Host

_log = log.get("mooring.plugins.local")

NAME = "kubernetes.io/local-volume"
ALREADY_MOUNTED = "AlreadyMountedVolume"


class PathType(Enum):
    DIRECTORY = auto()
    DEVICE = auto()


def path_type(path: Path) -> PathType:
    """What is at the volume's path, through links. Asks the disk.

    Raises: VolumeError when it cannot be a volume.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise VolumeError(f'path "{path}" does not exist') from None
    except OSError as error:
        raise VolumeError(f"stat {path}: {error.strerror}") from error
    if stat.S_ISDIR(mode):
        return PathType.DIRECTORY
    if stat.S_ISBLK(mode):
        return PathType.DEVICE
    raise VolumeError("only directory and block device are supported")


class Shared(msgspec.Struct, frozen=True):
    """The directory that all pods of a volume share, and what is behind it."""

    files: Path
    kind: PathType


class LocalMounter:
    def __init__(
        self, host: Host, use: VolumeUse, pod: Pod, shared: Shared, turn: asyncio.Lock
    ) -> None:
        self.path = host.layout.volume(pod.uid, NAME, use.name)
        self.attributes = Attributes(
            read_only=use.read_only, is_managed=not use.read_only, wants_relabel=True
        )
        self._host = host
        self._use = use
        self._pod_uid = pod.uid
        self._files = shared.files
        self._is_mounted_once = shared.kind is PathType.DEVICE
        self._turn = turn  # one pod at a time looks for other mounts of the volume

    async def set_up(self, request: MountRequest) -> None:
        if ".." in self._files.parts:
            raise VolumeError(f"invalid path: {self._files} must not contain '..'")
        async with self._turn:
            if await in_thread(self._host.mounts.is_mount_point, self.path):
                return
            # Before the bind, which says that all is done: a crash in between repeats the walk.
            if request.fs_group is not None:
                await self._give_to(request.fs_group, request)
            await in_thread(self._bind)

    async def usage(self) -> Usage | None:
        return await in_thread(measure_filesystem, self.path)

    async def _give_to(self, gid: int, request: MountRequest) -> None:
        """The first pod's fsGroup applies; pods with another one get an event."""
        shared_gid = await in_thread(self._find_shared_gid)
        if shared_gid is None and not self._use.read_only:
            group = FsGroup(gid, policy=ChangePolicy(request.ownership.value))
            news = SlowWalk(request.tell, self._host.clock, self.path, self._pod_uid)
            await in_thread(self._own, group, news)
        elif shared_gid not in (None, gid):
            request.tell(
                EventType.WARNING,
                ALREADY_MOUNTED,
                f"The requested fsGroup is {gid}, but the volume {self._use.name} has GID "
                f"{shared_gid}. The volume may not be shareable.",
            )

    def _find_shared_gid(self) -> int | None:
        """The group of the files; None when no other pod has them mounted."""
        with refusals(f"failed to check fsGroup for {self._files}"):
            files = self._files.resolve(strict=True)
            pods = self._host.layout.pods.resolve()
            others = self._host.mounts.table().references(files)
            if not any(other.is_relative_to(pods) for other in others):
                return None
            return files.stat().st_gid

    def _own(self, group: FsGroup, news: SlowWalk) -> None:
        # As the pod will see them: a mount below is not part of the bind, and not of the volume.
        ownership.apply(self._files.resolve(), group, news, View.AS_BOUND)

    def _bind(self) -> None:
        if self._is_mounted_once and not self._host.mounts.is_mount_point(self._files):
            # Else the pod would write to the node's own disk, and find nothing of it later.
            raise VolumeError(f"no device is mounted at {self._files}")
        make_directories(self.path)
        try:
            self._host.mounts.bind(self._files, self.path, mount_options(self._use))
        except HostError:
            _remove_if_empty(self.path)
            raise


class LocalUnmounter:
    def __init__(self, host: Host, name: str, pod_uid: str) -> None:
        self.path = host.layout.volume(pod_uid, NAME, name)
        self._mounts = host.mounts

    async def tear_down(self) -> None:
        await in_thread(clean_up, self._mounts, self.path)


class LocalDevices:
    """Mounts block devices once, for all pods; directories are there already."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def device_mount_path(self, use: VolumeUse) -> Path:
        """Asks the disk; "." for a rebuilt volume that was a directory.

        A device that is gone may have left its mount, which can still be taken away.
        Raises: VolumeError.
        """
        mounted_once = self._host.layout.global_mount(NAME, use.name)
        if is_pathless(use):
            return mounted_once if self._is_there(mounted_once) else Path()
        try:
            kind = path_type(path_of(use))
        except VolumeError:
            if not self._is_there(mounted_once):
                raise
            return mounted_once
        return mounted_once if kind is PathType.DEVICE else path_of(use)

    async def mount_device(
        self, use: VolumeUse, device: str, target: Path, request: DeviceRequest
    ) -> None:
        with taking(LONG_SECONDS):
            await in_thread(self._mount, use, target)

    async def unmount_device(self, target: Path) -> None:
        if target.is_relative_to(self._host.layout.global_mount(NAME, "")):
            await in_thread(clean_up, self._host.mounts, target)

    def _is_there(self, mounted_once: Path) -> bool:
        return self._host.mounts.is_mount_point(mounted_once) or mounted_once.exists()

    def _mount(self, use: VolumeUse, target: Path) -> None:
        device = path_of(use)
        if path_type(device) is PathType.DIRECTORY or self._host.mounts.is_mount_point(target):
            return
        fs_type = source_of(use).fs_type or DEFAULT_TYPE
        make_directories(target)
        try:
            format_and_mount(self._host.mounts, device, target, fs_type, mount_options(use))
        except HostError as error:
            _remove_if_empty(target)
            text = (
                f"local: failed to mount device {device} at {target} "
                f"(fstype: {fs_type}), error {error}"
            )
            raise _same_sort(error, text) from error


class LocalBlock:
    """The device of a block volume, for one pod: nothing has to be done to it."""

    def __init__(self, host: Host, name: str, pod_uid: str) -> None:
        # Escaped, unlike that of all other plugins; a kubelet's nodes have it so.
        self._map_path = host.layout.global_map(escaped(NAME), name)
        self._link = host.layout.device_link(pod_uid, NAME, name)
        self._bound = self._map_path / pod_uid

    def pod_device_link(self) -> Path:
        return self._link

    async def usage(self) -> Usage | None:
        return await in_thread(measure_device, self._bound)


class LocalBlockMapper(LocalBlock):
    def __init__(self, host: Host, use: VolumeUse, pod: Pod) -> None:
        super().__init__(host, use.name, pod.uid)
        self._device = path_of(use)

    def global_map_path(self) -> Path:
        return self._map_path

    async def set_up_device(self) -> str:
        return ""

    async def map_pod_device(self) -> str:
        return str(self._device)


class LocalBlockUnmapper(LocalBlock):
    def global_map_path(self, use: VolumeUse) -> Path:
        return self._map_path

    async def unmap_pod_device(self) -> None:
        """Nothing was done."""

    async def tear_down_device(self, map_path: Path, device: str) -> None:
        """Nothing was done."""


class Local:
    name = NAME
    takes_mount_options = True
    access_modes = (AccessMode.ONCE,)  # of nodes, not of pods

    def __init__(self, host: Host) -> None:
        self._host = host
        self._turns: WeakValueDictionary[Path, asyncio.Lock] = WeakValueDictionary()
        self._guard = Lock()  # mounters are made in threads

    def supports(self, use: VolumeUse) -> bool:
        return use.volume is not None and use.volume.spec.local is not None

    def volume_name(self, use: VolumeUse) -> str:
        return use.name

    def wants_remount(self, use: VolumeUse) -> bool:
        return False

    def mounter(self, use: VolumeUse, pod: Pod) -> LocalMounter:
        path = path_of(use)
        kind = path_type(path)
        files = (
            path if kind is PathType.DIRECTORY else self._host.layout.global_mount(NAME, use.name)
        )
        with self._guard:
            turn = self._turns.setdefault(files, asyncio.Lock())
        return LocalMounter(self._host, use, pod, Shared(files, kind), turn)

    def unmounter(self, name: str, pod_uid: str) -> LocalUnmounter:
        return LocalUnmounter(self._host, name, pod_uid)

    def rebuild(self, name: str, pod_uid: str) -> VolumeUse:
        """With the device, if one is mounted for it; a directory has left no trace of its path."""
        path = self._find_device(name, self._host.layout.volume(pod_uid, NAME, name))
        return _rebuilt(name, path, VolumeMode.FILESYSTEM)

    def can_mount_device(self, use: VolumeUse) -> bool:
        return True

    def device_mounter(self) -> LocalDevices:
        return LocalDevices(self._host)

    def device_unmounter(self) -> LocalDevices:
        return LocalDevices(self._host)

    def block_mapper(self, use: VolumeUse, pod: Pod) -> LocalBlockMapper:
        return LocalBlockMapper(self._host, use, pod)

    def block_unmapper(self, name: str, pod_uid: str) -> LocalBlockUnmapper:
        return LocalBlockUnmapper(self._host, name, pod_uid)

    def rebuild_block(self, name: str, pod_uid: str) -> VolumeUse:
        return _rebuilt(name, "", VolumeMode.BLOCK)

    def needs_node_growth(self, use: VolumeUse) -> bool:
        return True

    async def grow_on_node(self, request: GrowthRequest) -> bool:
        """A directory, and a bare device, have grown when their owner made them larger."""
        if request.use.mode is VolumeMode.BLOCK:
            return True
        path = path_of(request.use)
        if await in_thread(path_type, path) is PathType.DEVICE:
            with taking(LONG_SECONDS):
                await in_thread(resize, path, request.device_mount_path)
        return True

    def _find_device(self, name: str, pod_path: Path) -> str:
        """Without touching what is mounted: a disk that hangs must not hinder a start."""
        mounted_once = self._host.layout.global_mount(NAME, name)
        if not self._host.mounts.is_mount_point(mounted_once):
            return ""  # most often; the mount table need not be read
        table = self._host.mounts.table()
        once = table.find(canonical(mounted_once))
        if once is None or once.mount_point not in table.references(canonical(pod_path)):
            return ""
        return once.source


def source_of(use: VolumeUse) -> LocalSource:
    """Raises: VolumeError."""
    source = use.volume.spec.local if use.volume is not None else None
    if source is None or not source.path:
        raise VolumeError("local volume source is nil or local path is not set")
    return source


def is_pathless(use: VolumeUse) -> bool:
    """Whether it was reconstructed from the disk, where its path is unknown."""
    source = use.volume.spec.local if use.volume is not None else None
    return source is not None and not source.path


def path_of(use: VolumeUse) -> Path:
    """Raises: VolumeError."""
    return Path("/", source_of(use).path)


def mount_options(use: VolumeUse) -> list[str]:
    """Each once, in the order that Kubernetes gives them."""
    return sorted({*use.mount_options, *(("ro",) if use.read_only else ())})


def _rebuilt(name: str, path: str, mode: VolumeMode) -> VolumeUse:
    spec = VolumeSpec(local=LocalSource(path=path), volume_mode=mode)
    return VolumeUse(volume=Volume(metadata=ObjectMeta(name=name), spec=spec))


def _same_sort(error: HostError, text: str) -> HostError:
    """An error of the same class with a longer text."""
    for sort in (WrongFilesystem, Unformatted):
        if isinstance(error, sort):
            return sort(text)
    return HostError(text)


def _remove_if_empty(path: Path) -> None:
    try:
        remove_empty(path)
    except HostError as error:
        _log.warning("a mount point is left", path=path, error=error)
