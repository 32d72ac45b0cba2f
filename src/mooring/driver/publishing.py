"""Publishing: a staged volume is bound to a target path, once for each pod."""

import os
import stat
from pathlib import Path

import msgspec

from mooring.driver.backends.device import number_of
from mooring.driver.capability import MANY_TARGETS
from mooring.driver.core import Core
from mooring.driver.records import AccessType, Publication, Stage, Use, VolumeRecord
from mooring.driver.refusal import EXISTS, PRECONDITION, CallRefused
from mooring.driver.staging import entry_at
from mooring.errors import HostError
from mooring.host.cleanup import clean_up
from mooring.host.loop_device import Access
from mooring.host.refusal import refusals

DIRECTORY_MODE = 0o750
FILE_MODE = 0o600


def check_target(volume: VolumeRecord, target: str, use: Use) -> Publication | None:
    """The publication at this target, if there is one.

    Raises: CallRefused when the volume cannot be published there, in this way.
    """
    for publication in volume.publications:
        if publication.target == target:
            if publication.use == use:
                return publication
            text = f"{volume.id} is published at {target} already, in another way"
            raise CallRefused(EXISTS, text)
    for publication in volume.publications:
        if not {publication.use.mode, use.mode} <= MANY_TARGETS:
            text = f"{volume.id} is published already, at {publication.target}"
            raise CallRefused(PRECONDITION, text)
    return None


def is_published(core: Core, volume: VolumeRecord, publication: Publication) -> bool:
    """Whether the volume is mounted at the target as recorded. Raises: HostError."""
    target = Path(publication.target)
    entry = entry_at(core, target)
    if entry is None:
        return False
    if publication.use.access_type is AccessType.BLOCK:
        wanted = core.devices.find(core.image_of(volume), _access(publication.use))
        return wanted is not None and number_of(target) == number_of(wanted)
    attached = core.devices.find(core.image_of(volume))
    is_right = entry.is_read_only or not publication.use.is_read_only
    return attached is not None and entry.source == str(attached) and is_right


def publish_volume(
    core: Core, volume: VolumeRecord, stage: Stage, wanted: Publication, flags: tuple[str, ...]
) -> None:
    """Publish the volume. The caller holds it.

    After: it is published and recorded; or neither, and nothing is left of the attempt.
    Raises: CallRefused, HostError.
    """
    target = Path(wanted.target)
    _check_free(core, volume, target)
    others = tuple(one for one in volume.publications if one.target != wanted.target)
    volume = core.state.volumes.replace(
        msgspec.structs.replace(volume, publications=(*others, wanted))
    )
    try:
        if wanted.use.access_type is AccessType.BLOCK:
            attached = core.devices.find_or_attach(core.image_of(volume), _access(wanted.use))
            _make_file(target)
            core.mounts.bind(attached, target)
        else:
            _make_directory(target)
            only = ("ro",) if wanted.use.is_read_only else ()
            core.mounts.bind(Path(stage.path), target, (*flags, *only))
    except (CallRefused, HostError):
        unpublish_volume(core, volume, wanted.target)
        raise


def unpublish_volume(core: Core, volume: VolumeRecord, target: str) -> None:
    """Unmount the volume from a target, and remove the target. The caller holds the volume.

    After: the target is gone, from the record too.
    Repeated, or never published there: success; other mounts there are left alone.
    Raises: CallRefused, HostError.
    """
    path = Path(target)
    entry = entry_at(core, path)
    if entry is not None and not _is_ours(core, volume, path):
        raise CallRefused(PRECONDITION, f"what is mounted at {target} is not {volume.id}")
    if entry is None and all(one.target != target for one in volume.publications):
        return
    clean_up(core.mounts, path)
    others = tuple(one for one in volume.publications if one.target != target)
    left = msgspec.structs.replace(volume, publications=others)
    _detach_readers_device(core, left)
    if left != volume:
        core.state.volumes.replace(left)


def _detach_readers_device(core: Core, volume: VolumeRecord) -> None:
    """Detach the read-only device of a block volume that is staged for writing, if unused.

    Read-only publications have a device of their own until the last of them is unpublished.
    """
    is_read = any(one.use.is_read_only for one in volume.publications)
    is_staged_so = volume.stage is not None and volume.stage.use.is_read_only
    if volume.access_type is AccessType.BLOCK and not is_read and not is_staged_so:
        readers = core.devices.find(core.image_of(volume), Access.READ_ONLY)
        if readers is not None:
            core.devices.detach(readers)


def _is_ours(core: Core, volume: VolumeRecord, path: Path) -> bool:
    devices = core.devices.find_all(core.image_of(volume))
    if volume.access_type is AccessType.BLOCK:
        return number_of(path) in map(number_of, devices)
    entry = entry_at(core, path)
    return entry is None or entry.source in map(str, devices)


def _check_free(core: Core, volume: VolumeRecord, target: Path) -> None:
    entry = entry_at(core, target)
    if entry is not None and not _is_ours(core, volume, target):
        raise CallRefused(PRECONDITION, f"{target} is a mount point of {entry.source} already")
    while entry is not None:  # our own mount, from an attempt that was killed
        core.mounts.unmount(target)
        entry = entry_at(core, target)


def _access(use: Use) -> Access:
    return Access.READ_ONLY if use.is_read_only else Access.READ_WRITE


def _make_directory(target: Path) -> None:
    with refusals(f"make {target}"):
        target.mkdir(DIRECTORY_MODE, exist_ok=True)


def _make_file(target: Path) -> None:
    how = os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    with refusals(f"make {target}"):
        descriptor = os.open(target, how, FILE_MODE)
        try:
            is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        finally:
            os.close(descriptor)
    if not is_file:
        raise CallRefused(PRECONDITION, f"{target} is no regular file")
