"""Thawing what a killed driver left frozen, also where its mount is out of our sight.

The process that freezes thaws by itself (`host/freezer.py`); this is for when it was killed with
the driver, as happens to all of a container at once.
"""

from pathlib import Path

from mooring import log
from mooring.driver.backends import device, freeze
from mooring.driver.backends.filesystem import Mounting
from mooring.driver.core import Core
from mooring.driver.records import VolumeRecord
from mooring.driver.staging import entry_at, staged_mount
from mooring.driver.state import DIRECTORY_MODE
from mooring.host import loop_device
from mooring.host.cleanup import clean_up
from mooring.host.refusal import refusals

_log = log.get("mooring.driver.recover")


def thaw_volume(core: Core, volume: VolumeRecord) -> None:
    """Let writers go on; not frozen, or not mounted anywhere, is success. Raises: HostError."""
    mount = staged_mount(core, volume)
    if mount is not None:
        freeze.thaw(mount)
    elif device.is_in_use(core.image_of(volume)):
        _thaw_out_of_sight(core, volume)


def _thaw_out_of_sight(core: Core, volume: VolumeRecord) -> None:
    """By one more mount of the same file system, which goes again."""
    attached = loop_device.find(core.image_of(volume))
    if attached is None:
        return
    place = _place(core)
    with refusals(f"make {place}"):
        place.mkdir(DIRECTORY_MODE)
    try:
        mounting = Mounting(core.mounts, attached, place, volume.fs_type)
        mounting.mount(is_read_only=False, flags=())
        mount = entry_at(core, place)
        if mount is not None:
            freeze.thaw(mount)
            _log.info("thawed in another mount namespace", volume=volume.id)
    finally:
        clean_up(core.mounts, place)


def clear_place(core: Core) -> None:
    """Take away what a driver left that was killed while it thawed. Raises: HostError."""
    if _place(core).exists():
        clean_up(core.mounts, _place(core))


def _place(core: Core) -> Path:
    return core.state.root / "thawing"
