"""The device of a block volume, as a pod gets it; the same for every plugin.

The device is bound onto a file named after the pod, among those of all pods that use the volume; a
link in the pod's directory names it for the containers; and a loop device on the bind holds it
open, so that no other device can take its name meanwhile.
"""

import os
import stat
from pathlib import Path
from typing import Protocol

import msgspec

from mooring import log
from mooring.host import loop_device, tree
from mooring.host.blocking import in_thread
from mooring.host.contract import MountOps
from mooring.host.refusal import refusals
from mooring.plugins.contract import VolumeError
from mooring.plugins.directories import make_directories

_log = log.get("mooring.plugins.block_mapping")

_FILE_MODE = 0o750


class DeviceLocks(Protocol):
    """What holds a device open; `mooring.host.loop_device` is the real one."""

    def find_or_attach(self, backing: Path) -> Path: ...

    def detach_backing(self, backing: Path) -> None:
        """Having none is a success."""
        ...


class DeviceMap(msgspec.Struct, frozen=True):
    """Where a pod's device is mapped."""

    directory: Path  # of the volume, with one file per pod
    link: Path  # of the pod
    pod_uid: str

    @property
    def bound(self) -> Path:
        return self.directory / self.pod_uid


async def map_device(
    mounts: MountOps, device: Path, place: DeviceMap, locks: DeviceLocks = loop_device
) -> None:
    """Let the pod have `device`, which is no link.

    Repeated: what is right already is left alone; after a restart of the machine all is made anew.
    Raises: VolumeError, HostError: a part may be there, for `unmap_device` to take away.
    """
    await in_thread(_map, mounts, device, place, locks)


async def unmap_device(
    mounts: MountOps, place: DeviceMap, locks: DeviceLocks = loop_device
) -> None:
    """Undo `map_device`, from what is on disk alone. Nothing there is a success.

    Raises: HostError; can be called again.
    """
    await in_thread(_unmap, mounts, place, locks)


async def check_unused(mounts: MountOps, directory: Path) -> None:
    """Raises: VolumeError when a pod still has the device; HostError."""
    users = await in_thread(_users, mounts, directory)
    if users:
        names = " ".join(str(path) for path in users)
        raise VolumeError(f'the device "{directory}" is still referenced from other Pods [{names}]')


async def remove_map(directory: Path) -> None:
    """Remove the volume's directory of binds, after the last. Nothing there is a success."""
    await in_thread(_remove, directory)


def _map(mounts: MountOps, device: Path, place: DeviceMap, locks: DeviceLocks) -> None:
    for path in (place.directory, place.link):
        if not path.is_absolute():
            raise VolumeError(f"the map path should be absolute: map path: {path}")
    if not device.is_absolute():
        raise VolumeError("failed to map device to map path. devicePath is empty")
    _bind(mounts, device, place)
    _link(device, place.link)
    locks.find_or_attach(place.bound)


def _bind(mounts: MountOps, device: Path, place: DeviceMap) -> None:
    make_directories(place.directory)
    if mounts.is_mount_point(place.bound):
        _check_same(device, place.bound)
        return
    with refusals(f"open {place.bound}"):  # may be left from before a restart of the machine
        os.close(os.open(place.bound, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, _FILE_MODE))
    mounts.bind(device, place.bound)


def _check_same(device: Path, bound: Path) -> None:
    with refusals(f"stat {bound}"):
        there = bound.stat()
    with refusals(f"stat {device}"):
        wanted = device.stat()
    if stat.S_ISBLK(there.st_mode) and there.st_rdev != wanted.st_rdev:
        raise VolumeError(f"another device than {device} is mapped at {bound}")


def _link(device: Path, link: Path) -> None:
    make_directories(link.parent)
    with refusals(f"link {link}"):
        if link.is_symlink() and os.readlink(link) == str(device):
            return
        link.unlink(missing_ok=True)
        link.symlink_to(device)


def _unmap(mounts: MountOps, place: DeviceMap, locks: DeviceLocks) -> None:
    if os.path.lexists(place.bound):
        locks.detach_backing(place.bound)
    with refusals(f"remove {place.link}"):
        place.link.unlink(missing_ok=True)
    while mounts.is_mount_point(place.bound):
        mounts.unmount(place.bound)
    with refusals(f"remove {place.bound}"):
        place.bound.unlink(missing_ok=True)


def _users(mounts: MountOps, directory: Path) -> tuple[Path, ...]:
    with refusals(f"list {directory}"):
        try:
            files = sorted(directory.iterdir())
        except FileNotFoundError:
            return ()
    return tuple(path for path in files if mounts.is_mount_point(path))


def _remove(directory: Path) -> None:
    if os.path.lexists(directory):
        tree.remove_path(directory)
