"""What a start makes good: the records are compared with the machine, which has the last word.

After a crash or a reboot a record may say more than is there. What nobody was given is undone;
what is mounted or in use, in whatever namespace, is left as it is.
"""

from pathlib import Path

import msgspec

from mooring import log
from mooring.driver.backends import device
from mooring.driver.core import Core
from mooring.driver.publishing import is_published
from mooring.driver.records import AccessType, VolumeRecord
from mooring.driver.staging import entry_at, is_staged, undo_staging
from mooring.driver.thawing import clear_place, thaw_volume
from mooring.errors import HostError
from mooring.host import loop_device
from mooring.host.cleanup import remove_empty
from mooring.host.loop_device import Access

_log = log.get("mooring.driver.recover")


def prepare(core: Core) -> None:
    """What concerns all volumes at once, before any is recovered. Blocks. Raises: HostError."""
    clear_place(core)
    device.comes_to_rest(*(core.image_of(volume) for volume in _half_staged(core)))


def _half_staged(core: Core) -> list[VolumeRecord]:
    """What will be undone, unless somebody has it mounted: if only for a moment, it is let pass."""
    staged = (one for one in core.state.volumes.all() if one.stage and not one.publications)
    return [volume for volume in staged if not is_staged(core, volume)]


def recover(core: Core, volume: VolumeRecord) -> None:
    """Bring its record and the machine together, before the first call. Blocks.

    Repeated: changes nothing. Raises: HostError.
    """
    if volume.is_frozen:
        thaw_volume(core, volume)
        volume = core.state.volumes.replace(msgspec.structs.replace(volume, is_frozen=False))
    path = core.image_of(volume)
    if not _may_be_used(path, volume):
        volume = _forget_publications(core, volume)
    if volume.stage is None:
        device.detach_all(path)
    elif not is_staged(core, volume) and not volume.publications and not device.is_in_use(path):
        _log.info("undoing what was staged halfway", volume=volume.id, path=volume.stage.path)
        undo_staging(core, volume)
    elif volume.access_type is AccessType.BLOCK:
        _detach_strays(path, volume)


def _may_be_used(path: Path, volume: VolumeRecord) -> bool:
    """Whether somebody may have it in a mount namespace that we do not see.

    A target that is removed here would take away what is mounted upon it there.
    """
    if volume.access_type is AccessType.BLOCK:
        return loop_device.find(path) is not None
    return device.is_in_use(path)


def _forget_publications(core: Core, volume: VolumeRecord) -> VolumeRecord:
    kept = tuple(one for one in volume.publications if is_published(core, volume, one))
    if kept == volume.publications:
        return volume
    for one in volume.publications:
        if one not in kept:
            _log.info("what was published is gone", volume=volume.id, target=one.target)
            _remove_target(core, Path(one.target))
    return core.state.volumes.replace(msgspec.structs.replace(volume, publications=kept))


def _remove_target(core: Core, target: Path) -> None:
    """The empty directory that was made to mount upon."""
    if entry_at(core, target) is None:
        try:
            remove_empty(target)
        except HostError as error:
            _log.warning("a target stays", target=target, error=error)


def _detach_strays(path: Path, volume: VolumeRecord) -> None:
    """Devices of one image that no publication is for any more."""
    wanted = {
        Access.READ_ONLY if one.use.is_read_only else Access.READ_WRITE
        for one in volume.publications
    }
    if volume.stage is not None:
        wanted.add(Access.READ_ONLY if volume.stage.use.is_read_only else Access.READ_WRITE)
    kept = {device.find(path, access) for access in wanted}
    for attached in loop_device.find_all(path):
        if attached not in kept:
            loop_device.detach(attached)
