"""Freezing the volumes that are being copied, for as short a time as possible.

Most of what was written during the copy is copied again while the volumes are in use; the rest
while they are frozen. Raises CallRefused when that would take longer than the limit.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from mooring import log
from mooring.driver.backends.contract import Copying
from mooring.driver.backends.freeze import ThawedEarly, flush_all, frozen
from mooring.driver.core import Core
from mooring.driver.refusal import PRECONDITION, CallRefused
from mooring.host.mountinfo import MountEntry
from mooring.host.write_trace import WriteTrace

ROUNDS = 8  # of copying what was written during the round before
LITTLE_BYTES = 2 << 20  # copied within milliseconds

_log = log.get("mooring.driver.copying")


class Written(msgspec.Struct, frozen=True):
    """A volume whose file system is mounted for writing, and its copy."""

    volume_id: str
    mount: MountEntry
    copy: Copying
    trace: WriteTrace | None  # None: the kernel does not report what is written

    @property
    def is_followed(self) -> bool:
        return self.trace is not None and not self.copy.is_shared


class Freezing:
    """Volumes that are written to, whose images were copied, or are about to be."""

    def __init__(self, core: Core, written: Sequence[Written]) -> None:
        self._core = core
        self._written = written

    def prepare(self) -> None:
        """Copy what was written since the images were copied; may take long. They are in use."""
        trial = _Watch(self._core, self._written)
        for one in self._written:
            if not one.is_followed and not one.copy.is_shared:
                one.copy.catch_up(trial.check)
        for one in self._in_rounds():
            one.copy.save()
            _follow_up(one)

    def catch_up(self) -> datetime | None:
        """Copy the rest, while nobody writes. The caller holds the volumes.

        The moment when they stood still; None: no volume is written to.
        """
        if not self._written:
            return None
        try:
            return self._catch_up_frozen()
        except ThawedEarly as error:
            raise _takes_too_long(self._core, self._written) from error

    def _in_rounds(self) -> list[Written]:
        """Those that are followed; of several the first again, as it was written to meanwhile."""
        followed = [one for one in self._written if one.is_followed]
        return followed * 2 if len(followed) > 1 else followed

    def _catch_up_frozen(self) -> datetime:
        """Record the freeze first: if driver and freezer are killed, the next start thaws it."""
        self._record(is_frozen=True)
        mounts = [one.mount for one in self._written]
        seconds = self._core.settings.freeze_seconds
        try:
            with frozen(mounts, seconds, self._flush_and_follow) as waited:
                moment = self._core.clock.now()
                watch = _Watch(self._core, self._written)
                for one in self._written:
                    one.copy.catch_up(watch.check, _changes(one))
        finally:
            self._record(is_frozen=False)
        took_ms = f"{(waited + watch.seconds) * 1000:.0f}"
        _log.info("stood still", volumes=_names(self._written), took_ms=took_ms)
        return moment

    def _flush_and_follow(self) -> None:
        """A freeze waits for what the disk has not got yet, and that for the copies' own blocks."""
        for one in self._in_rounds():
            one.copy.save()
            flush_all(one.mount)
            _follow_up(one)

    def _record(self, *, is_frozen: bool) -> None:
        volumes = self._core.state.volumes
        for one in self._written:
            volume = self._core.get_volume(one.volume_id)
            volumes.replace(msgspec.structs.replace(volume, is_frozen=is_frozen))


def _follow_up(one: Written) -> None:
    """Copy what was written, and again what was written during that, until it is little."""
    for _ in range(ROUNDS):
        ranges = _changes(one)
        one.copy.catch_up(while_in_use, ranges)
        if ranges is not None and sum(end - begin for begin, end in ranges) <= LITTLE_BYTES:
            return
        one.copy.save()


def _changes(one: Written) -> list[tuple[int, int]] | None:
    """What may have changed since the last call; None: anything."""
    return one.trace.take() if one.trace is not None else None


def while_in_use() -> None:
    """Nobody waits: it may take as long as it does."""


class _Watch:
    """Measures how long volumes are frozen, or would be."""

    def __init__(self, core: Core, written: Sequence[Written]) -> None:
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


def _names(written: Sequence[Written]) -> str:
    return ", ".join(one.volume_id for one in written)


def _takes_too_long(core: Core, written: Sequence[Written]) -> CallRefused:
    limit = core.settings.freeze_seconds
    verb = "is" if len(written) == 1 else "are"
    text = (
        f"{_names(written)} {verb} in use, and its writers would have to wait for more than "
        f"{limit:g} s: stop them, keep --state-dir on a file system that shares blocks (xfs, "
        "btrfs), or raise --freeze-seconds"
    )
    return CallRefused(PRECONDITION, text)
