"""Copying volumes while they are in use: the copies are consistent, and all of one moment.

A mounted file system is frozen for that, and its writers wait. Where blocks can be shared (reflink)
that takes a moment. Elsewhere the image is copied before the freeze, and only the blocks that have
changed are copied again while it is frozen. The kernel reports which these are; where it does not,
all are compared, and a trial run estimates how long that takes. Several volumes are frozen
together, and thawed together. A copy that is of one moment by itself (a thin snapshot of LVM) needs
no freeze, unless several volumes are copied.

A copy takes long, so the volumes are held only at its begin, when one looks how they are used, and
at its end. If one was staged or unstaged in between, what was written is not known: all is compared
once more, in an attempt of its own, and what differs is copied. The last attempt holds the volumes
throughout, so that there is an end.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from datetime import datetime
from functools import partial
from pathlib import Path

import msgspec

from mooring import log
from mooring.driver.backends.contract import Copying
from mooring.driver.backends.freeze import flush
from mooring.driver.core import Core
from mooring.driver.freezing import Freezing, Written, while_in_use
from mooring.driver.records import AccessType, VolumeRecord
from mooring.driver.refusal import ABORTED, PRECONDITION, CallRefused
from mooring.driver.staging import staged_mount
from mooring.driver.stagings import Watch
from mooring.errors import HostError
from mooring.host.mountinfo import MountEntry
from mooring.host.write_trace import WriteTrace, write_trace

ATTEMPTS = 4  # the last one holds the volumes throughout
HOLD_SECONDS = 60.0  # that a copy waits for other calls on its volume

_log = log.get("mooring.driver.copying")

Hold = Callable[[float], AbstractContextManager[None]]


class Wanted(msgspec.Struct, frozen=True):
    """The id of a volume to copy, the path of the new image, and its size."""

    volume_id: str
    target: Path
    size: int


class Copied(msgspec.Struct, frozen=True):
    """The copies of some volumes, in their order."""

    volumes: tuple[VolumeRecord, ...]  # as they were when they were copied
    shared_bytes: tuple[int, ...]  # with each volume
    moment: datetime  # the copies have all writes before this


class _Source(msgspec.Struct, frozen=True):
    """A volume as it was found, and its copy."""

    volume: VolumeRecord
    copy: Copying
    mount: MountEntry | None  # of a file system that is mounted for writing
    trace: WriteTrace | None  # None: the kernel does not report what is written


def copy_volume(core: Core, wanted: Wanted) -> Copied:
    """A new image with the content of a volume at one moment.

    A raw device is only flushed, not frozen. The caller holds the volume's contents for reading.
    Raises: HostError; CallRefused when it is mounted in another namespace, is used by another call,
    or would have to be frozen for too long.
    """
    return _copy(core, (wanted,))


def copy_together(core: Core, wanted: Sequence[Wanted]) -> Copied:
    """New images of several volumes, all of the same moment. The caller holds their contents.

    Raises: as `copy_volume`; also CallRefused for a raw device in use, whose writers do not wait.
    """
    for one in wanted:
        stage = core.get_volume(one.volume_id).stage
        if (
            stage is not None
            and stage.use.access_type is AccessType.BLOCK
            and not stage.use.is_read_only
        ):
            text = (
                f"{one.volume_id} is a raw device in use, whose writers cannot be made to wait: "
                "no moment would be the same for all volumes of the group; stop its pods first"
            )
            raise CallRefused(PRECONDITION, text)
    return _copy(core, wanted)


def _copy(core: Core, wanted: Sequence[Wanted]) -> Copied:
    ids = [one.volume_id for one in wanted]
    with ExitStack() as stack:
        watch = stack.enter_context(core.stagings.watching(ids))
        copies = [
            stack.enter_context(
                core.images.copying(core.state.volumes.image(one.volume_id), one.target, one.size)
            )
            for one in wanted
        ]
        attempt = _Attempt(core, ids, copies, watch)
        for number in range(ATTEMPTS - 1):
            # At first nothing is lost if it is refused, as the specification asks.
            found = attempt.make(partial(_held, core, ids), 0.0 if number == 0 else HOLD_SECONDS)
            if found is not None:
                return found
            _log.info("was staged or unstaged meanwhile: comparing", volumes=", ".join(ids))
        with _held(core, ids, HOLD_SECONDS):
            found = attempt.make(lambda _: nullcontext(), 0.0)
        assert found is not None  # noqa: S101  nobody stages a volume that is held
        return found


def _held(core: Core, ids: Sequence[str], wait_seconds: float) -> AbstractContextManager[None]:
    return core.in_flight.holding(*ids, wait_seconds=wait_seconds)


class _Attempt:
    """Making the copies; to be made again if a volume is staged or unstaged meanwhile."""

    def __init__(
        self, core: Core, ids: Sequence[str], copies: Sequence[Copying], watch: Watch
    ) -> None:
        self._core = core
        self._ids = ids
        self._copies = copies
        self._watch = watch
        self._is_made = False
        self._is_at_once = core.backend.copies_at_once and len(ids) == 1

    def make(self, hold: Hold, wait_seconds: float) -> Copied | None:
        """None: a volume was staged or unstaged meanwhile. Raises: as `copy_volume`."""
        with ExitStack() as traces:
            with hold(wait_seconds):
                self._watch.start()
                moment = self._core.clock.now()
                sources = [] if self._is_at_once else self._look(traces)
            freezing = Freezing(self._core, _written(sources))
            try:
                self._copy_all()
                freezing.prepare()
            except CallRefused:
                if not self._watch.has_changed:
                    raise
                return None
            with hold(HOLD_SECONDS):
                if self._watch.has_changed:
                    return None
                moment = freezing.catch_up() or moment
                return self._copied(moment)

    def _look(self, traces: ExitStack) -> list[_Source]:
        pairs = zip(self._ids, self._copies, strict=True)
        return [_look(self._core, one, copy, traces) for one, copy in pairs]

    def _copy_all(self) -> None:
        """The long part; the volumes may be used meanwhile."""
        for copy in self._copies:
            if self._is_made:
                copy.catch_up(while_in_use)
            else:
                copy.make()
        self._is_made = True

    def _copied(self, moment: datetime) -> Copied:
        """The records are read again: only what staging changes cannot have changed."""
        return Copied(
            tuple(map(self._core.get_volume, self._ids)),
            tuple(copy.shared_bytes for copy in self._copies),
            moment,
        )


def _look(core: Core, volume_id: str, copy: Copying, traces: ExitStack) -> _Source:
    """How the volume is used now; if it is written to, it is followed from now on."""
    volume = core.get_volume(volume_id)
    copy.reopen()
    mount = _written_mount(core, volume)
    is_shared = core.backend.copies_at_once
    trace = None if mount is None or is_shared else _follow(core, volume, traces)
    return _Source(volume, copy, mount, trace)


def _written(sources: Sequence[_Source]) -> list[Written]:
    return [
        Written(one.volume.id, one.mount, one.copy, one.trace)
        for one in sources
        if one.mount is not None
    ]


def _follow(core: Core, volume: VolumeRecord, until: ExitStack) -> WriteTrace | None:
    """What is written to the volume from now on, if the kernel reports it."""
    attached = core.devices.find(core.image_of(volume))
    if attached is None:
        return None
    try:
        return until.enter_context(write_trace(attached))
    except HostError as error:
        _log.info("what is written cannot be followed", volume=volume.id, because=error)
        return None


def _written_mount(core: Core, volume: VolumeRecord) -> MountEntry | None:
    """Its mounted, writable file system, or None; a raw device is flushed."""
    stage = volume.stage
    if stage is not None and stage.use.access_type is AccessType.BLOCK:
        attached = core.devices.find(core.image_of(volume))
        if attached is not None:
            flush(attached)
        return None
    if stage is not None and stage.use.is_read_only:
        return None
    mount = staged_mount(core, volume)
    if mount is None and not core.devices.wait_unmounted(core.image_of(volume)):
        text = f"{volume.id} is still mounted in another mount namespace"
        raise CallRefused(ABORTED, text)
    return mount
