"""The volumes of the bundled driver, let go of: not staged, not published, without loop devices."""

import os
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from threading import Event

import msgspec

from mooring.clock import Clock
from mooring.driver.backends import device
from mooring.driver.core import Core, new_core
from mooring.driver.file_names import IMAGE
from mooring.driver.publishing import is_published
from mooring.driver.records import AccessType, VolumeRecord
from mooring.driver.recover import recover
from mooring.driver.settings import NAME, DriverSettings
from mooring.driver.staging import undo_staging
from mooring.driver.state import State
from mooring.errors import HostError, MooringError
from mooring.host import loop_device
from mooring.host.contract import MountOps
from mooring.host.loop_backing import backing_of, sysfs_backing_path, used_devices
from mooring.upkeep.bounded import Unfinished, each_within
from mooring.upkeep.holders import find_openers

SECONDS = 5.0  # for one volume
FREED_SECONDS = 2.0  # of them, for others to close a device that was detached
_PAUSE = 0.01
VOLUMES = "volumes"  # in the state directory


class Released(msgspec.Struct, frozen=True):
    count: int
    troubles: tuple[str, ...]


def release_volumes(state_dir: Path, mounts: MountOps, clock: Clock) -> Released:
    """Bring the driver's records in line with what is mounted, and free loop devices.

    Before: what can be unmounted is; nobody else has the state. A volume that is still mounted
    stays as it is: its device writes to its image. Repeated: nothing. Raises: HostError.
    """
    if not (state_dir / VOLUMES).is_dir():
        return Released(0, ())
    core = new_core(DriverSettings("", state_dir), State(state_dir), mounts, clock)
    held = [volume for volume in core.state.volumes.all() if _is_held(core, volume)]
    unmounted = [volume for volume in held if not _is_mounted(core, volume)]
    device.wait_unmounted(*(core.image_of(volume) for volume in unmounted))
    told = each_within(SECONDS, [partial(_release, core, volume) for volume in held])
    troubles = []
    for volume, outcome in zip(held, told, strict=True):
        if outcome is Unfinished.HUNG:
            troubles.append(f"volume {volume.id} of {NAME} does not answer after {SECONDS:g} s")
        elif isinstance(outcome, MooringError):
            troubles.append(f"volume {volume.id} of {NAME} is not released: {outcome}")
    _release_strays(state_dir)
    released = sum(1 for outcome in told if outcome is True)
    return Released(released, tuple(troubles))


def _is_held(core: Core, volume: VolumeRecord) -> bool:
    is_recorded = volume.stage is not None or bool(volume.publications) or volume.is_frozen
    return is_recorded or loop_device.find(core.image_of(volume)) is not None


def _is_mounted(core: Core, volume: VolumeRecord) -> bool:
    sources = {str(found) for found in loop_device.find_all(core.image_of(volume))}
    return any(entry.source in sources for entry in core.mounts.table().entries)


def _release(core: Core, volume: VolumeRecord) -> bool:
    """Whether nothing of it is left. A mount that stays was told of by whoever unmounts.

    Raises: HostError, CallRefused.
    """
    if volume.access_type is AccessType.BLOCK:
        _free_devices(core, volume)
    if volume.is_inline and not any(is_published(core, volume, one) for one in volume.publications):
        undo_staging(core, volume)
        volume = core.get_volume(volume.id)
    recover(core, volume)
    left = core.get_volume(volume.id)
    if left.stage is not None or left.publications:
        return False
    _await_freed(core.image_of(volume))
    return True


def _await_freed(image: Path) -> None:
    """The kernel frees a device at its last close, and whoever lists devices opens them."""
    until, pause = time.monotonic() + FREED_SECONDS, Event()
    while loop_device.find(image) is not None and time.monotonic() < until:
        pause.wait(_PAUSE)


def _free_devices(core: Core, volume: VolumeRecord) -> None:
    """The devices are what a raw volume is staged as. Those that somebody has stay.

    Raises: HostError, which names who has it.
    """
    image = core.image_of(volume)
    if device.is_in_use(image):
        return
    if any(is_published(core, volume, one) for one in volume.publications):
        return
    for attached in loop_device.find_all(image):
        holders = find_openers(attached)
        if holders:
            raise HostError(f"{attached} is open in ({holders[0]}): end it, then try again")
    device.detach_all(image)


def _release_strays(state_dir: Path) -> None:
    """Devices of images whose records cannot be read."""
    for name in os.listdir(state_dir / VOLUMES):
        image = state_dir / VOLUMES / name / IMAGE
        if loop_device.find(image) is not None and not device.is_in_use(image):
            device.detach_all(image)


def release_locks(root: Path) -> int:
    """Free the loop devices by which the node keeps devices of block volumes; how many there were.

    Each is known by the file below `root` that it holds, by device and inode number.
    Raises: HostError.
    """
    count = 0
    for name, path in _locks(root):
        found = backing_of(name)
        try:
            seen = os.stat(path, follow_symlinks=False)
        except OSError:
            continue
        if found is not None and (found.device, found.inode) == (seen.st_dev, seen.st_ino):
            loop_device.detach(Path("/dev") / name)
            count += 1
    return count


def _locks(root: Path) -> Iterator[tuple[str, str]]:
    for name in used_devices():
        path = sysfs_backing_path(name)
        if path.startswith(f"{root}/"):
            yield name, path
