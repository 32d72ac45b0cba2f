"""Staging: an image becomes a device, and a file system is mounted from it.

The record is written twice: the intended stage before the first step, `is_done` after the last one.
In between no call has returned success, so a half-done staging is simply undone.
"""

from pathlib import Path

import msgspec

from mooring.driver.backends.filesystem import Mounting, NotThere, grows_mounted
from mooring.driver.core import Core
from mooring.driver.in_flight import contents_of
from mooring.driver.limiting import apply_limits, clear_limits
from mooring.driver.records import (
    AccessType,
    Blank,
    Formatted,
    Formatting,
    Raw,
    Stage,
    VolumeRecord,
)
from mooring.driver.refusal import DATA_LOSS, PRECONDITION, CallRefused
from mooring.errors import HostError
from mooring.host.loop_device import Access
from mooring.host.mountinfo import MountEntry, canonical


def is_staged(core: Core, volume: VolumeRecord) -> bool:
    """Whether device and mount of its stage are still there. Raises: HostError."""
    stage = volume.stage
    if stage is None or not stage.is_done:
        return False
    if stage.use.access_type is AccessType.BLOCK:
        return core.devices.find(core.image_of(volume), _access(stage)) is not None
    return staged_mount(core, volume) is not None


def staged_mount(core: Core, volume: VolumeRecord) -> MountEntry | None:
    """The mount of its file system at the staging path. Raises: HostError."""
    if volume.stage is None:
        return None
    entry = entry_at(core, Path(volume.stage.path))
    attached = core.devices.find(core.image_of(volume)) if entry is not None else None
    return entry if entry is not None and entry.source == str(attached) else None


def stage_volume(core: Core, volume: VolumeRecord, stage: Stage, flags: tuple[str, ...]) -> None:
    """Stage the volume, for the first time or again. The caller holds it.

    After: it is staged and recorded; or neither, and nothing is left of the attempt.
    Raises: CallRefused, HostError.
    """
    core.stagings.note(volume.id)
    with core.in_flight.holding(*_held_by_writers(volume, stage)):
        _stage(core, volume, stage, flags)


def _held_by_writers(volume: VolumeRecord, stage: Stage) -> tuple[str, ...]:
    """A raw device cannot be frozen: if it is copied while nobody writes, no writer may come."""
    is_device = stage.use.access_type is AccessType.BLOCK
    return (contents_of(volume.id),) if is_device and not stage.use.is_read_only else ()


def _stage(core: Core, volume: VolumeRecord, stage: Stage, flags: tuple[str, ...]) -> None:
    entry = entry_at(core, Path(stage.path))
    if entry is not None and stage.use.access_type is AccessType.MOUNT:
        raise CallRefused(PRECONDITION, f"{stage.path} is a mount point of {entry.source} already")
    volume = core.state.volumes.replace(
        msgspec.structs.replace(volume, stage=stage, contents=_contents_at_start(volume, stage))
    )
    try:
        if stage.use.access_type is AccessType.BLOCK:
            core.devices.find_or_attach(core.image_of(volume), _access(stage))
            contents = volume.contents
        else:
            contents = _mount(core, volume, stage, flags)
        apply_limits(core, volume)
        done = msgspec.structs.replace(stage, is_done=True)
        core.state.volumes.replace(msgspec.structs.replace(volume, stage=done, contents=contents))
    except (CallRefused, HostError):
        undo_staging(core, volume)
        raise


def unstage_volume(core: Core, volume: VolumeRecord) -> None:
    """Unmount the volume and detach its devices. The caller holds it.

    After: it is not staged, nor recorded as staged. A copy of the mount in another namespace keeps
    the device until it is unmounted there.
    Raises: HostError when it cannot be unmounted; CallRefused when it is mounted elsewhere.
    """
    is_mount = volume.access_type is AccessType.MOUNT
    if is_mount and staged_mount(core, volume) is None:
        check_not_elsewhere(core, volume)
    undo_staging(core, volume)


def check_not_elsewhere(core: Core, volume: VolumeRecord) -> None:
    """Raises: CallRefused when it is mounted, and not where this process can see it."""
    if not core.devices.wait_unmounted(core.image_of(volume)):
        text = f"{volume.id} is still mounted, in another mount namespace than the driver's"
        raise CallRefused(PRECONDITION, text)


def undo_staging(core: Core, volume: VolumeRecord) -> None:
    """Undo staging, however far it had come: unmount, and detach devices. The caller holds it.

    After: it is not staged here, nor recorded as staged. Raises: HostError.
    """
    core.stagings.note(volume.id)
    while volume.access_type is AccessType.MOUNT and (mount := staged_mount(core, volume)):
        core.mounts.unmount(mount.mount_point)
    clear_limits(core, volume)
    core.devices.detach_all(core.image_of(volume))
    core.state.volumes.replace(msgspec.structs.replace(volume, stage=None))


def entry_at(core: Core, path: Path) -> MountEntry | None:
    """The mount exactly at `path`. Raises: HostError."""
    return core.mounts.table().find(canonical(path))


def _access(stage: Stage) -> Access:
    """Writable for file systems: a read-only mount may still replay its journal."""
    is_device = stage.use.access_type is AccessType.BLOCK
    return Access.READ_ONLY if is_device and stage.use.is_read_only else Access.READ_WRITE


def _contents_at_start(volume: VolumeRecord, stage: Stage) -> Blank | Formatting | Formatted | Raw:
    if stage.use.access_type is AccessType.BLOCK:
        return Raw()
    if isinstance(volume.contents, Blank | Formatting):
        return Formatting(volume.fs_type)
    return volume.contents


def _mount(core: Core, volume: VolumeRecord, stage: Stage, flags: tuple[str, ...]) -> Formatted:
    path = core.image_of(volume)
    if isinstance(volume.contents, Formatting):
        core.devices.detach_all(path)
        core.images.blank(path, volume.size_bytes)  # an earlier mkfs was killed
        if volume.is_allocated:
            core.images.allocate(path)
    attached = core.devices.find_or_attach(path)
    mounting = Mounting(core.mounts, attached, Path(stage.path), volume.fs_type)
    is_new = isinstance(volume.contents, Formatting)
    if is_new:
        mounting.format_and_mount(flags)
    elif not core.devices.wait_unmounted(path):
        _mount_once_more(mounting, volume, stage, flags)
    else:
        _mount_existing(mounting, volume, stage, flags)
    if is_new and stage.use.is_read_only:
        mounting.unmount()
        mounting.mount(is_read_only=True, flags=flags)
    return Formatted(volume.fs_type, volume.size_bytes)


def _mount_once_more(
    mounting: Mounting, volume: VolumeRecord, stage: Stage, flags: tuple[str, ...]
) -> None:
    """Mount a file system that is already mounted in another namespace: without fsck or mkfs."""
    mounting.mount(is_read_only=stage.use.is_read_only, flags=flags)
    contents = volume.contents
    if not isinstance(contents, Formatted) or contents.size_bytes >= volume.size_bytes:
        return
    if stage.use.is_read_only or not grows_mounted(contents.fs_type):
        text = f"{volume.id} has to grow, and is still mounted in another mount namespace"
        raise CallRefused(PRECONDITION, text)
    mounting.grow()


def _mount_existing(
    mounting: Mounting, volume: VolumeRecord, stage: Stage, flags: tuple[str, ...]
) -> None:
    contents = volume.contents
    try:
        mounting.check()
    except NotThere as error:
        code = DATA_LOSS if isinstance(contents, Formatted) else PRECONDITION
        text = f"{error}; it was left alone, and it is not formatted"
        raise CallRefused(code, text) from error
    filled = contents.size_bytes if isinstance(contents, Formatted) else 0
    must_grow = filled < volume.size_bytes
    if must_grow and volume.fs_type == "ext4":
        mounting.grow_unmounted()
    elif must_grow:
        mounting.mount(is_read_only=False, flags=flags)
        mounting.grow()
        if not stage.use.is_read_only:
            return
        mounting.unmount()
    mounting.mount(is_read_only=stage.use.is_read_only, flags=flags)
