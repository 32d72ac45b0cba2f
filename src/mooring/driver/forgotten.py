"""Volumes of a state directory that somebody removed by hand, while they were in use.

Their images are gone, and with them all that was known of them; but the kernel keeps a deleted file
for as long as a loop device stands on it, and a loop device for as long as it is mounted. Nobody
can ever ask for such a volume again, but containers may use it still. When the node has ended them,
and takes the volume back, it is unmounted and its devices are freed.

A device is known by the path that the kernel tells, which says that the file is deleted: one whose
file is still somewhere is left alone, and so is one of a path that this process cannot see.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from mooring import log
from mooring.driver.backends import device
from mooring.driver.core import Core
from mooring.driver.staging import entry_at
from mooring.driver.state import IMAGE
from mooring.host import loop_device
from mooring.host.loop_backing import told_name, used_devices
from mooring.host.mountinfo import MountEntry

_DELETED = " (deleted)"

_log = log.get("mooring.driver.forgotten")


def unmount(core: Core, volume_id: str, path: Path) -> None:
    """Unmount the volume from `path`, if it is one whose image was removed.

    After: nothing of it is mounted there; what is something else still is. Raises: HostError.
    """
    devices = list(_devices(core, volume_id))
    while (entry := entry_at(core, path)) is not None and _shows_one_of(entry, path, devices):
        _log.warning("unmounting a volume whose image was removed", volume=volume_id, path=path)
        core.mounts.unmount(path)


def free_devices(core: Core, volume_id: str) -> None:
    """Free its devices, at once or at their last use in another namespace. Raises: HostError."""
    for attached in _devices(core, volume_id):
        loop_device.detach(attached)


def _shows_one_of(entry: MountEntry, path: Path, devices: list[Path]) -> bool:
    """Their file system, or the device itself, bound there for a pod."""
    if entry.source in map(str, devices):
        return True
    number = device.number_of(path)
    return bool(number) and number in map(device.number_of, devices)


def _devices(core: Core, volume_id: str) -> Iterator[Path]:
    """Loop devices of the volume's image, if that is deleted."""
    home = f"{os.path.realpath(core.settings.state_dir)}/"
    image = f"/{volume_id}/{IMAGE}{_DELETED}"
    for name in used_devices():
        backing = told_name(name)
        if backing.startswith(home) and backing.endswith(image):
            yield Path("/dev") / name
