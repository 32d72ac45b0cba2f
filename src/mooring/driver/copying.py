"""Copying a volume while it is in use: the copy is consistent.

A mounted file system is frozen for that, and its writers wait. Where blocks can be shared (reflink)
that takes a moment. Elsewhere the image is copied before the freeze, and only the blocks that have
changed are copied again while it is frozen; a trial run estimates how long that takes.
"""

from datetime import datetime
from pathlib import Path

import msgspec

from mooring import log
from mooring.driver.backends import device, image
from mooring.driver.backends.freeze import ThawedEarly, flush, frozen
from mooring.driver.core import Core
from mooring.driver.records import AccessType, VolumeRecord
from mooring.driver.refusal import ABORTED, PRECONDITION, CallRefused
from mooring.driver.staging import staged_mount
from mooring.host.mountinfo import MountEntry

_log = log.get("mooring.driver.copying")


class Copied(msgspec.Struct, frozen=True):
    shared_bytes: int  # with the volume
    moment: datetime  # the copy has all writes before this


def copy_volume(core: Core, volume: VolumeRecord, target: Path, size: int) -> Copied:
    """A new image at `target`, with the content of a volume at one moment.

    A raw device is only flushed, not frozen. The caller holds the volume.
    Raises: HostError; CallRefused when it is mounted in another namespace, or would have to be
    frozen for too long.
    """
    mount = _written_mount(core, volume)
    source = core.image_of(volume)
    if mount is None:
        moment = core.clock.now()
        return Copied(image.copy(source, target, size), moment)
    with image.Copy(source, target, size) as copy:
        copy.make()
        try:
            copy.catch_up(_Watch(core, volume).check)
            moment = _catch_up_frozen(core, volume, mount, copy)
        except ThawedEarly as error:
            raise _takes_too_long(core, volume) from error
        return Copied(copy.shared_bytes, moment)


def _catch_up_frozen(
    core: Core, volume: VolumeRecord, mount: MountEntry, copy: image.Copy
) -> datetime:
    """Record the freeze first: if driver and freezer are killed, the next start thaws it."""
    core.state.volumes.replace(msgspec.structs.replace(volume, is_frozen=True))
    watch = _Watch(core, volume)
    try:
        with frozen(mount, core.settings.freeze_seconds):
            moment = core.clock.now()
            copy.catch_up(watch.check)
    finally:
        core.state.volumes.replace(volume)
    _log.info("stood still", volume=volume.id, took_ms=f"{watch.seconds * 1000:.0f}")
    return moment


class _Watch:
    """Measures how long a volume is frozen, or would be."""

    def __init__(self, core: Core, volume: VolumeRecord) -> None:
        self._core = core
        self._volume = volume
        self._began = core.clock.monotonic()

    @property
    def seconds(self) -> float:
        return self._core.clock.monotonic() - self._began

    def check(self) -> None:
        """Raises: CallRefused when the limit is exceeded."""
        if self.seconds > self._core.settings.freeze_seconds:
            raise _takes_too_long(self._core, self._volume)


def _takes_too_long(core: Core, volume: VolumeRecord) -> CallRefused:
    limit = core.settings.freeze_seconds
    text = (
        f"{volume.id} is in use, and its writers would have to wait for more than {limit:g} s: "
        "stop them, keep --state-dir on a file system that shares blocks (xfs, btrfs), or raise "
        "--freeze-seconds"
    )
    return CallRefused(PRECONDITION, text)


def _written_mount(core: Core, volume: VolumeRecord) -> MountEntry | None:
    """Its mounted, writable file system, or None; a raw device is flushed."""
    stage = volume.stage
    if stage is not None and stage.use.access_type is AccessType.BLOCK:
        attached = device.find(core.image_of(volume))
        if attached is not None:
            flush(attached)
        return None
    if stage is not None and stage.use.is_read_only:
        return None
    mount = staged_mount(core, volume)
    if mount is None and not device.wait_unmounted(core.image_of(volume)):
        text = f"{volume.id} is still mounted in another mount namespace"
        raise CallRefused(ABORTED, text)
    return mount
