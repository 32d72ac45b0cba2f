"""Copying volumes while they are in use: the copies are consistent, and all of one moment.

A mounted file system is frozen for that, and its writers wait. Where blocks can be shared (reflink)
that takes a moment. Elsewhere the image is copied before the freeze, and only the blocks that have
changed are copied again while it is frozen. The kernel reports which these are; where it does not,
all are compared, and a trial run estimates how long that takes. Several volumes are frozen
together, and thawed together.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

import msgspec

from mooring import log
from mooring.driver.backends import device, image
from mooring.driver.backends.freeze import ThawedEarly, flush, flush_all, frozen
from mooring.driver.core import Core
from mooring.driver.records import AccessType, VolumeRecord
from mooring.driver.refusal import ABORTED, PRECONDITION, CallRefused
from mooring.driver.staging import staged_mount
from mooring.errors import HostError
from mooring.host.mountinfo import MountEntry
from mooring.host.write_trace import WriteTrace, write_trace

ROUNDS = 8  # of copying what was written during the round before
LITTLE_BYTES = 2 << 20  # copied within milliseconds

_log = log.get("mooring.driver.copying")


class Wanted(msgspec.Struct, frozen=True):
    """A volume to copy, the path of the new image, and its size."""

    volume: VolumeRecord
    target: Path
    size: int


class Copied(msgspec.Struct, frozen=True):
    shared_bytes: tuple[int, ...]  # with each volume
    moment: datetime  # the copies have all writes before this


class _Written(msgspec.Struct, frozen=True):
    """A volume whose file system is mounted for writing, and its copy."""

    volume: VolumeRecord
    mount: MountEntry
    copy: image.Copy
    trace: WriteTrace | None  # None: the kernel does not report what is written

    @property
    def is_followed(self) -> bool:
        return self.trace is not None and not self.copy.is_shared


def copy_volume(core: Core, wanted: Wanted) -> Copied:
    """A new image with the content of a volume at one moment.

    A raw device is only flushed, not frozen. The caller holds the volume.
    Raises: HostError; CallRefused when it is mounted in another namespace, or would have to be
    frozen for too long.
    """
    return _copy(core, (wanted,))


def copy_together(core: Core, wanted: Sequence[Wanted]) -> Copied:
    """New images of several volumes, all of the same moment. The caller holds the volumes.

    Raises: as `copy_volume`; also CallRefused for a raw device in use, whose writers do not wait.
    """
    for one in wanted:
        stage = one.volume.stage
        if (
            stage is not None
            and stage.use.access_type is AccessType.BLOCK
            and not stage.use.is_read_only
        ):
            text = (
                f"{one.volume.id} is a raw device in use, whose writers cannot be made to wait: "
                "no moment would be the same for all volumes of the group; stop its pods first"
            )
            raise CallRefused(PRECONDITION, text)
    return _copy(core, wanted)


def _copy(core: Core, wanted: Sequence[Wanted]) -> Copied:
    with ExitStack() as copies:
        made: list[image.Copy] = []
        written: list[_Written] = []
        moment = core.clock.now()
        for one in wanted:
            mount = _written_mount(core, one.volume)
            trace = None if mount is None else _follow(core, one.volume, copies)
            copy = image.Copy(core.image_of(one.volume), one.target, one.size)
            made.append(copies.enter_context(copy))
            copy.make()
            if mount is not None:
                written.append(_Written(one.volume, mount, copy, trace))
        if written:
            moment = _catch_up(core, written)
        return Copied(tuple(copy.shared_bytes for copy in made), moment)


def _follow(core: Core, volume: VolumeRecord, until: ExitStack) -> WriteTrace | None:
    """What is written to the volume from now on, if the kernel reports it."""
    attached = device.find(core.image_of(volume))
    if attached is None:
        return None
    try:
        return until.enter_context(write_trace(attached))
    except HostError as error:
        _log.info("what is written cannot be followed", volume=volume.id, because=error)
        return None


def _catch_up(core: Core, written: Sequence[_Written]) -> datetime:
    """Copy what was written meanwhile: first while it is in use, then while nobody writes."""
    trial = _Watch(core, written)
    try:
        for one in written:
            if not one.is_followed:
                one.copy.catch_up(trial.check)
        for one in _in_rounds(written):
            _follow_up(one)
        return _catch_up_frozen(core, written)
    except ThawedEarly as error:
        raise _takes_too_long(core, written) from error


def _in_rounds(written: Sequence[_Written]) -> list[_Written]:
    """Those that are followed; of several the first again, as it was written to during the rest."""
    followed = [one for one in written if one.is_followed]
    return followed * 2 if len(followed) > 1 else followed


def _follow_up(one: _Written) -> None:
    """Copy what was written, and again what was written during that, until it is little.

    Before each round all is sent to the disk: a freeze waits for what the disk has not got yet.
    """
    for _ in range(ROUNDS):
        one.copy.save()
        flush_all(one.mount)
        ranges = _changes(one)
        one.copy.catch_up(while_in_use, ranges)
        if ranges is not None and sum(end - begin for begin, end in ranges) <= LITTLE_BYTES:
            return


def _changes(one: _Written) -> list[tuple[int, int]] | None:
    """What may have changed since the last call; None: anything."""
    return one.trace.take() if one.trace is not None else None


def while_in_use() -> None:
    """Nobody waits: it may take as long as it does."""


def _catch_up_frozen(core: Core, written: Sequence[_Written]) -> datetime:
    """Record the freeze first: if driver and freezer are killed, the next start thaws it."""
    for one in written:
        core.state.volumes.replace(msgspec.structs.replace(one.volume, is_frozen=True))
    watch = _Watch(core, written)
    try:
        with frozen([one.mount for one in written], core.settings.freeze_seconds):
            moment = core.clock.now()
            for one in written:
                one.copy.catch_up(watch.check, _changes(one))
    finally:
        for one in written:
            core.state.volumes.replace(one.volume)
    took_ms = f"{watch.seconds * 1000:.0f}"
    _log.info("stood still", volumes=_names(written), took_ms=took_ms)
    return moment


class _Watch:
    """Measures how long volumes are frozen, or would be."""

    def __init__(self, core: Core, written: Sequence[_Written]) -> None:
        self._core = core
        self._written = written
        self._began = core.clock.monotonic()

    @property
    def seconds(self) -> float:
        return self._core.clock.monotonic() - self._began

    def check(self) -> None:
        """Raises: CallRefused when the limit is exceeded."""
        if self.seconds > self._core.settings.freeze_seconds:
            raise _takes_too_long(self._core, self._written)


def _names(written: Sequence[_Written]) -> str:
    return ", ".join(one.volume.id for one in written)


def _takes_too_long(core: Core, written: Sequence[_Written]) -> CallRefused:
    limit = core.settings.freeze_seconds
    verb = "is" if len(written) == 1 else "are"
    text = (
        f"{_names(written)} {verb} in use, and its writers would have to wait for more than "
        f"{limit:g} s: stop them, keep --state-dir on a file system that shares blocks (xfs, "
        "btrfs), or raise --freeze-seconds"
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
