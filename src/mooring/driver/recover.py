"""Recovery at startup: the records are made to match the machine.

After a crash or a reboot a record may list mounts that do not exist. A half-done staging is undone;
a volume that is mounted or in use, in whatever namespace, is left alone.
"""

from pathlib import Path

import msgspec

from mooring import log
from mooring.driver.core import Core
from mooring.driver.limiting import apply_limits
from mooring.driver.publishing import is_published
from mooring.driver.records import AccessType, NoLimits, VolumeRecord
from mooring.driver.staging import entry_at, is_staged, undo_staging
from mooring.driver.thawing import clear_place, thaw_volume
from mooring.errors import HostError
from mooring.host.cleanup import remove_empty
from mooring.host.loop_device import Access

_log = log.get("mooring.driver.recover")


def prepare(core: Core) -> None:
    """The part for all volumes at once, before each is recovered. Blocks. Raises: HostError."""
    clear_place(core)
    core.devices.wait_unmounted(*(core.image_of(volume) for volume in _half_staged(core)))


def _half_staged(core: Core) -> list[VolumeRecord]:
    """Volumes whose staging will be undone, unless they are mounted in another namespace."""
    staged = (one for one in core.state.volumes.all() if one.stage and not one.publications)
    return [volume for volume in staged if not is_staged(core, volume)]


def recover(core: Core, volume: VolumeRecord) -> None:
    """Make the record of a volume match the machine, before the first call. Blocks.

    Repeated: changes nothing. Raises: HostError.
    """
    if volume.is_frozen:
        thaw_volume(core, volume)
        volume = core.state.volumes.replace(msgspec.structs.replace(volume, is_frozen=False))
    path = core.image_of(volume)
    if not _may_be_used(core, path, volume):
        volume = _forget_publications(core, volume)
    if volume.stage is None:
        core.devices.detach_all(path)
    elif not (is_staged(core, volume) or volume.publications or core.devices.is_in_use(path)):
        _log.info("undoing what was staged halfway", volume=volume.id, path=volume.stage.path)
        undo_staging(core, volume)
    elif volume.access_type is AccessType.BLOCK:
        _detach_strays(core, path, volume)
    if volume.limits != NoLimits:
        apply_limits(core, volume)


def _may_be_used(core: Core, path: Path, volume: VolumeRecord) -> bool:
    """Whether the volume may be in use in a mount namespace that we do not see.

    Removing a target here would remove the mount on it there.
    """
    if volume.access_type is AccessType.BLOCK:
        return core.devices.is_held(path)
    return core.devices.is_in_use(path)


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
    """Remove the empty directory or file that was created as a mount point."""
    if entry_at(core, target) is None:
        try:
            remove_empty(target)
        except HostError as error:
            _log.warning("a target stays", target=target, error=error)


def _detach_strays(core: Core, path: Path, volume: VolumeRecord) -> None:
    """Detach the devices of an image that no publication uses any more."""
    wanted = {
        Access.READ_ONLY if one.use.is_read_only else Access.READ_WRITE
        for one in volume.publications
    }
    if volume.stage is not None:
        wanted.add(Access.READ_ONLY if volume.stage.use.is_read_only else Access.READ_WRITE)
    kept = {core.devices.find(path, access) for access in wanted}
    for attached in core.devices.find_all(path):
        if attached not in kept:
            core.devices.detach(attached)
