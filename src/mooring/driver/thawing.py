"""Thawing a volume that a killed driver left frozen, even if it is mounted in another namespace.

The freezer process thaws by itself (`host/freezer.py`); this is for when it was killed together
with the driver, as when its container is killed.
"""

from pathlib import Path

from mooring import log
from mooring.driver.backends import freeze
from mooring.driver.backends.filesystem import Mounting
from mooring.driver.core import Core
from mooring.driver.records import VolumeRecord
from mooring.driver.staging import entry_at, staged_mount
from mooring.driver.state import DIRECTORY_MODE
from mooring.host.cleanup import clean_up
from mooring.host.refusal import refusals

_log = log.get("mooring.driver.recover")


def thaw_volume(core: Core, volume: VolumeRecord) -> None:
    """Thaw the volume; success if it is not frozen or not mounted. Raises: HostError."""
    mount = staged_mount(core, volume)
    if mount is not None:
        freeze.thaw(mount)
    elif core.devices.is_in_use(core.image_of(volume)):
        _thaw_out_of_sight(core, volume)


def _thaw_out_of_sight(core: Core, volume: VolumeRecord) -> None:
    """Thaw through a temporary mount of the same file system."""
    attached = next(iter(core.devices.find_all(core.image_of(volume))), None)
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
    """Remove the temporary mount of a driver that was killed while thawing. Raises: HostError."""
    if _place(core).exists():
        clean_up(core.mounts, _place(core))


def _place(core: Core) -> Path:
    return core.state.root / "thawing"
