"""The sockets in a directory, and the news of them."""

import asyncio
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from mooring import log
from mooring.clock import Clock
from mooring.errors import KernelRefused
from mooring.host.blocking import in_thread
from mooring.host.directory_watch import DirectoryWatches
from mooring.node.registration.plan import SocketId
from mooring.reconcile.deadline import within

NET_SECONDS = 30.0  # after which a look is taken though nothing was heard

_log = log.get("mooring.node.registration")


class Scan(msgspec.Struct, frozen=True):
    sockets: Mapping[Path, SocketId]
    directories: frozenset[Path]  # the first and all below it


def scan(directory: Path) -> Scan:
    """Everything below `directory` whose name begins with no dot. Blocks."""
    sockets: dict[Path, SocketId] = {}
    directories = {directory}
    for path in _below(directory):
        try:
            found = path.stat()
        except OSError:
            continue  # just gone, or a link to nowhere
        if stat.S_ISSOCK(found.st_mode):
            sockets[path] = SocketId(found.st_dev, found.st_ino, found.st_mtime_ns)
        elif stat.S_ISDIR(found.st_mode):
            directories.add(path)
    return Scan(sockets, frozenset(directories))


def _below(top: Path) -> Iterator[Path]:
    waiting = [top]  # a list, since drivers write there: they may nest as deep as they like
    while waiting:
        directory = waiting.pop()
        try:
            with os.scandir(directory) as entries:
                found = sorted(entries, key=lambda entry: entry.name, reverse=True)
        except OSError:
            continue
        for entry in found:
            if not entry.name.startswith("."):
                yield directory / entry.name
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(directory / entry.name)


class SocketWatch:
    """`run` reports the existing sockets, at first and whenever they may have changed."""

    def __init__(
        self, directory: Path, clock: Clock, tell: Callable[[Mapping[Path, SocketId]], None]
    ) -> None:
        self._directory = directory
        self._clock = clock
        self._tell = tell
        self._watches = DirectoryWatches()
        self._watched: dict[Path, asyncio.Task[None]] = {}
        self._stirred = asyncio.Event()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._stirred.clear()
                seen = await in_thread(scan, self._directory)
                if await self._watch(seen.directories, tasks):
                    continue  # something may have come before a directory was watched
                self._tell(seen.sockets)
                with suppress(TimeoutError):
                    async with within(self._clock, NET_SECONDS):
                        await self._stirred.wait()

    async def _watch(self, directories: frozenset[Path], tasks: asyncio.TaskGroup) -> bool:
        """Whether a directory is watched that was not before."""
        for gone in self._watched.keys() - directories:
            self._watched.pop(gone).cancel()
        begun = []
        for directory in directories - {p for p, t in self._watched.items() if not t.done()}:
            ready = asyncio.get_running_loop().create_future()
            self._watched[directory] = tasks.create_task(self._listen(directory, ready))
            begun.append(ready)
        return any([await ready for ready in begun])

    async def _listen(self, directory: Path, ready: asyncio.Future[bool]) -> None:
        """Watched anew after each change: another directory may have the name by then."""
        try:
            while True:
                with self._watches.of(directory) as watch:
                    if ready.done():
                        self._stirred.set()  # now, so that nothing is missed in between
                    else:
                        ready.set_result(True)
                    await watch.changed()
        except KernelRefused as error:
            if ready.done():
                self._stirred.set()  # it is gone
            else:
                _log.warning("a directory of sockets is looked at, not watched", because=error)
                ready.set_result(False)
