"""A disk that is mounted once on the node, and bound from there for each pod."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from mooring import log
from mooring.errors import HostError
from mooring.host import ownership
from mooring.host.block_device import is_block_device
from mooring.host.blocking import in_thread
from mooring.host.cleanup import clean_up, remove_empty
from mooring.host.contract import MountOps
from mooring.host.filesystem import DEFAULT_TYPE, format_and_mount
from mooring.host.mountinfo import canonical
from mooring.host.ownership import ChangePolicy, FsGroup, View
from mooring.host.refusal import refusals
from mooring.model.pod import Pod
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import (
    Attributes,
    DeviceRequest,
    MountRequest,
    Usage,
    VolumeError,
)
from mooring.plugins.directories import make_directories
from mooring.plugins.measure import measure_filesystem
from mooring.plugins.slow_walk import SlowWalk
from mooring.plugins.volume_host import Host

_log = log.get("mooring.plugins.disk_mounts")

FormatAndMount = Callable[[MountOps, Path, Path, str, Sequence[str]], None]


def really(
    mounts: MountOps, device: Path, target: Path, fs_type: str, options: Sequence[str]
) -> None:
    """Never formats what may hold data."""
    format_and_mount(mounts, device, target, fs_type, options)


class SharedDisk(msgspec.Struct, frozen=True):
    """A volume of one pod, and the directory where its disk is mounted for all."""

    plugin: str
    files: Path
    read_only: bool


class DiskMounter:
    def __init__(self, host: Host, use: VolumeUse, pod: Pod, disk: SharedDisk) -> None:
        self.path = host.layout.volume(pod.uid, disk.plugin, use.name)
        self.attributes = Attributes(
            read_only=disk.read_only, is_managed=not disk.read_only, wants_relabel=True
        )
        self._host = host
        self._disk = disk
        self._pod_uid = pod.uid
        self._options = mount_options(use, read_only=disk.read_only)

    async def set_up(self, request: MountRequest) -> None:
        if await in_thread(self._host.mounts.is_mount_point, self.path):
            return
        # Before the bind, which says that all is done: a crash in between repeats the walk.
        if request.fs_group is not None and not self._disk.read_only:
            group = FsGroup(request.fs_group, policy=ChangePolicy(request.ownership.value))
            news = SlowWalk(request.tell, self._host.clock, self.path, self._pod_uid)
            await in_thread(self._own, group, news)
        await in_thread(self._bind)

    async def usage(self) -> Usage | None:
        return await in_thread(measure_filesystem, self.path)

    def _own(self, group: FsGroup, news: SlowWalk) -> None:
        try:
            ownership.apply(self._disk.files.resolve(), group, news, View.AS_BOUND)
        except HostError as error:  # as upstream: the pod starts all the same
            _log.warning("files could not be given to the group", path=self.path, error=error)

    def _bind(self) -> None:
        if not self._host.mounts.is_mount_point(self._disk.files):
            raise VolumeError(f"no device is mounted at {self._disk.files}")
        make_directories(self.path)
        try:
            self._host.mounts.bind(self._disk.files, self.path, self._options)
        except HostError:
            remove_empty(self.path)
            raise


class DiskUnmounter:
    def __init__(self, host: Host, plugin: str, name: str, pod_uid: str) -> None:
        self.path = host.layout.volume(pod_uid, plugin, name)
        self._mounts = host.mounts

    async def tear_down(self) -> None:
        await in_thread(clean_up, self._mounts, self.path)


class DiskMount(msgspec.Struct, frozen=True):
    """What is to be mounted for all pods, and where."""

    device: str
    target: Path
    fs_type: str
    options: tuple[str, ...]
    root: Path  # of the node: what is mounted outside of it is not a pod's


def mount_disk(mounts: MountOps, mount: DiskMount, how: FormatAndMount) -> None:
    """Mounted already is a success. Blocks. Raises: VolumeError, HostError."""
    if mounts.is_mount_point(mount.target):
        return
    if not mount.device:
        raise VolumeError(f"no device is known to be mounted at {mount.target}")
    if (other := _find_foreign_mount(mounts, Path(mount.device), mount.root)) is not None:
        text = f"{mount.device} is mounted at {other}: it is this machine's own disk, not a pod's"
        raise VolumeError(text)
    make_directories(mount.target)
    how(mounts, Path(mount.device), mount.target, mount.fs_type or DEFAULT_TYPE, mount.options)


def _find_foreign_mount(mounts: MountOps, device: Path, root: Path) -> Path | None:
    """Where the device is mounted, unless the node has mounted it, too."""
    if not is_block_device(device):
        return None
    with refusals(f"stat {device}"):
        number = device.stat().st_rdev
    here = canonical(root / "any").parent
    found = [
        entry.mount_point
        for entry in mounts.table().entries
        if entry.device == (os.major(number), os.minor(number))
    ]
    is_ours = any(path.is_relative_to(here) for path in found)
    return None if is_ours else next(iter(found), None)


def unmount_disk(mounts: MountOps, target: Path) -> None:
    """Nothing mounted is a success. Blocks. Raises: HostError."""
    while mounts.is_mount_point(target):
        mounts.unmount(target)


def mount_options(use: VolumeUse, *, read_only: bool) -> tuple[str, ...]:
    """Each once, in the order that Kubernetes gives them."""
    return tuple(sorted({*use.mount_options, *(("ro",) if read_only else ())}))


def device_options(use: VolumeUse, request: DeviceRequest, *, read_only: bool) -> tuple[str, ...]:
    context = (f'context="{request.selinux_label}"',) if request.selinux_label else ()
    return tuple(sorted({*mount_options(use, read_only=read_only), *context}))
