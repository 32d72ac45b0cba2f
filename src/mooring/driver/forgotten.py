"""Volumes of a state directory that was removed by hand while they were in use.

Their images and records are gone; but the kernel keeps a deleted file as long as a loop device has
it, and a loop device as long as it is mounted. Such a volume cannot be staged again, but containers
may still use it. When the kubelet unpublishes and unstages it, it is unmounted and its devices are
freed.

A device is found by its backing path in sysfs, which is marked as deleted: a device whose file
still exists, or whose path this process cannot see, is left alone.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from mooring import log
from mooring.driver.backends import device
from mooring.driver.core import Core
from mooring.driver.file_names import IMAGE
from mooring.driver.staging import entry_at
from mooring.host import loop_device
from mooring.host.loop_backing import sysfs_backing_path, used_devices
from mooring.host.mountinfo import MountEntry

_DELETED = " (deleted)"

_log = log.get("mooring.driver.forgotten")


def unmount(core: Core, volume_id: str, path: Path) -> None:
    """Unmount the volume from `path`, if its image was removed.

    After: it is not mounted there; other mounts are unchanged. Raises: HostError.
    """
    devices = list(_devices(core, volume_id))
    while (entry := entry_at(core, path)) is not None and _shows_one_of(entry, path, devices):
        _log.warning("unmounting a volume whose image was removed", volume=volume_id, path=path)
        core.mounts.unmount(path)


def free_devices(core: Core, volume_id: str) -> None:
    """Free its devices, at once or at their last close elsewhere. Raises: HostError."""
    for attached in _devices(core, volume_id):
        loop_device.detach(attached)


def _shows_one_of(entry: MountEntry, path: Path, devices: list[Path]) -> bool:
    """Whether the mount is their file system, or a bind of the device itself."""
    if entry.source in map(str, devices):
        return True
    number = device.number_of(path)
    return bool(number) and number in map(device.number_of, devices)


def _devices(core: Core, volume_id: str) -> Iterator[Path]:
    """The loop devices of the volume's image, if the image is deleted."""
    home = f"{os.path.realpath(core.settings.state_dir)}/"
    image = f"/{volume_id}/{IMAGE}{_DELETED}"
    for name in used_devices():
        backing = sysfs_backing_path(name)
        if backing.startswith(home) and backing.endswith(image):
            yield Path("/dev") / name
