"""The drivers in the plugin directory: found, loaded anew when they change, dropped when they go.

A driver is the program `<vendor>~<driver>/<driver>` below the directory. Names that begin with a
dot do not count, so a driver is put in place whole by writing it to `.name` and renaming that. The
directory is watched; the state of the disk decides, not the events, so none can be missed. A
directory that does not exist is waited for.
"""

import asyncio
import errno
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from mooring import log
from mooring.clock import Clock
from mooring.errors import KernelRefused, MooringError
from mooring.host.blocking import in_thread
from mooring.host.directory_watch import DirectoryWatches
from mooring.model.backoff import Backoff
from mooring.model.names import qualified_name
from mooring.plugins.flex.driver import Driver, load
from mooring.plugins.layout import unescaped
from mooring.reconcile.deadline import within

DEFAULT_DIRECTORY = Path("/usr/libexec/kubernetes/kubelet-plugins/volume/exec/")
NET_SECONDS = 600.0  # looked at even without an event
PAUSE_SECONDS = 0.2
RETRIES = Backoff(first=1.0, cap=60.0)
_HIDDEN = "."
_GONE = (errno.ENOENT, errno.ENOTDIR)

_log = log.get("mooring.plugins.flex")

Stamp = tuple[tuple[str, int, int, int, int], ...]
"""The files of a driver's directory: any change makes it another driver."""


class Candidate(msgspec.Struct, frozen=True):
    """A program that may be a driver."""

    name: str  # of the plugin: vendor/driver
    program: Path
    stamp: Stamp


class Seen(msgspec.Struct, frozen=True):
    candidates: Mapping[str, Candidate]  # by name
    directories: tuple[Path, ...]  # in which a change matters


def scan(directory: Path) -> Seen:
    """Blocks. What cannot be read is as if it were not there."""
    entries = _entries(directory)
    if entries is None:
        return Seen({}, (_nearest(directory),))
    candidates: dict[str, Candidate] = {}
    watched = [directory]
    for entry in entries:
        if entry.name.startswith(_HIDDEN) or not entry.is_dir(follow_symlinks=False):
            continue
        place = directory / entry.name
        watched.append(place)
        found = _candidate(place)
        if found is not None:
            candidates[found.name] = found
    return Seen(candidates, tuple(watched))


def _candidate(place: Path) -> Candidate | None:
    name = unescaped(place.name)
    program = place / name.rpartition("/")[2]
    entries = _entries(place)
    if entries is None or not program.is_file():
        return None
    if problems := qualified_name(name):
        _log.warning("no name for a FlexVolume driver", directory=place, because=";".join(problems))
        return None
    rows = []
    for entry in entries:
        if not entry.name.startswith(_HIDDEN):
            with suppress(OSError):
                told = entry.stat()
                mode = stat.S_IMODE(told.st_mode)
                rows.append((entry.name, told.st_ino, told.st_mtime_ns, told.st_size, mode))
    return Candidate(name, program, tuple(sorted(rows)))


def _entries(directory: Path) -> list[os.DirEntry[str]] | None:
    try:
        with os.scandir(directory) as found:
            return sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        if error.errno not in _GONE:
            _log.warning("a directory cannot be read", path=directory, because=error.strerror)
        return None


def _nearest(directory: Path) -> Path:
    """The directory in which the next one on the way to it will appear."""
    return next(place for place in (*directory.parents, Path("/")) if place.is_dir())


class _Failure(msgspec.Struct, frozen=True):
    stamp: Stamp
    times: int
    due: float  # monotonic


class Drivers:
    """`run` runs it until cancelled; its state survives that."""

    def __init__(self, directory: Path, clock: Clock) -> None:
        self.looked = asyncio.Event()  # all that was there at first is loaded, or has failed
        self._directory = directory.absolute()
        self._clock = clock
        self._watches = DirectoryWatches()
        self._loaded: Mapping[str, Driver] = {}  # replaced as a whole: threads read it
        self._stamps: dict[str, Stamp] = {}
        self._failures: dict[str, _Failure] = {}
        self._handlers: list[Callable[[str], None]] = []

    def all(self) -> Mapping[str, Driver]:
        """By name. From any thread."""
        return self._loaded

    def find(self, name: str) -> Driver | None:
        return self._loaded.get(name)

    def on_change(self, handler: Callable[[str], None]) -> None:
        """`handler` gets the name of a driver that has come, changed or gone."""
        self._handlers.append(handler)

    @contextmanager
    def heard(self, handler: Callable[[str], None]) -> Iterator[None]:
        """As `on_change`, inside the block."""
        self._handlers.append(handler)
        try:
            yield
        finally:
            self._handlers.remove(handler)

    async def run(self) -> None:
        seen = await in_thread(scan, self._directory)
        await self._take(seen)  # first, since a node waits for it, and a watch may be refused
        while True:
            try:
                with self._watches.of_programs(*seen.directories) as watch:
                    directories = seen.directories
                    seen = await in_thread(scan, self._directory)
                    await self._take(seen)
                    if seen.directories != directories:
                        continue
                    with suppress(TimeoutError):
                        async with within(self._clock, self._patience()):
                            await watch.changed()
                if self._directory not in directories:  # somebody else's directory, perhaps busy
                    await self._clock.sleep(PAUSE_SECONDS)
            except KernelRefused as error:
                if error.errno not in _GONE:
                    raise
            seen = await in_thread(scan, self._directory)

    async def _take(self, seen: Seen) -> None:
        """Load what is new, drop what is gone."""
        for name in tuple(self._stamps.keys() | self._failures.keys()):
            if name not in seen.candidates:
                self._drop(name)
        due = [one for one in seen.candidates.values() if self._is_due(one)]
        await asyncio.gather(*(self._load(one) for one in due))
        self.looked.set()

    def _is_due(self, one: Candidate) -> bool:
        failure = self._failures.get(one.name)
        if failure is not None and failure.stamp == one.stamp:
            return failure.due <= self._clock.monotonic()
        return self._stamps.get(one.name) != one.stamp

    async def _load(self, one: Candidate) -> None:
        """A driver that fails stays as it was before, and is tried again."""
        try:
            driver = await load(one.name, one.program)
        except MooringError as error:
            before = self._failures.get(one.name)
            times = 1 if before is None or before.stamp != one.stamp else before.times + 1
            wait = RETRIES.delay(times)
            self._failures[one.name] = _Failure(one.stamp, times, self._clock.monotonic() + wait)
            _log.warning(
                "error creating Flexvolume plugin, skipping",
                directory=one.program.parent,
                error=error,
                again_in_seconds=wait,
            )
            return
        self._failures.pop(one.name, None)
        self._stamps[one.name] = one.stamp
        self._loaded = {**self._loaded, one.name: driver}
        _log.info("FlexVolume driver loaded", driver=one.name, program=one.program)
        self._tell(one.name)

    def _drop(self, name: str) -> None:
        self._failures.pop(name, None)
        if self._stamps.pop(name, None) is not None:
            self._loaded = {key: one for key, one in self._loaded.items() if key != name}
            _log.info("FlexVolume driver gone", driver=name)
            self._tell(name)

    def _patience(self) -> float:
        due = min((one.due for one in self._failures.values()), default=None)
        if due is None:
            return NET_SECONDS
        return min(NET_SECONDS, max(0.0, due - self._clock.monotonic()))

    def _tell(self, name: str) -> None:
        for handler in tuple(self._handlers):
            handler(name)
