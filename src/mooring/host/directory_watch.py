"""Watching directories for changes, by inotify.

A user may have few inotify instances (128 by default), but many watches in each. So all watches of
an event loop share one instance, which is open while anything is watched.
"""

import asyncio
import ctypes
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mooring.errors import KernelRefused
from mooring.host.refusal import reason

_MODIFY, _MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x2, 0x40, 0x80, 0x100, 0x200
_ATTRIB, _CLOSE_WRITE, _DELETE_SELF, _MOVE_SELF = 0x4, 0x8, 0x400, 0x800
_ONLYDIR, _MASK_ADD = 0x0100_0000, 0x2000_0000
_ENTRIES = _MODIFY | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE
_PROGRAMS = _ENTRIES | _ATTRIB | _CLOSE_WRITE | _DELETE_SELF | _MOVE_SELF
_MUCH = 64 << 10  # bytes of events read at a time
_EVENT = struct.Struct("iIII")  # watch, mask, cookie, length of the name that follows
_LOST = -1  # the watch of the event that reports a queue overflow

_libc = ctypes.CDLL(None, use_errno=True)


class DirectoryWatch:
    def __init__(self) -> None:
        self._changed = asyncio.Event()

    async def changed(self) -> None:
        """Return at the first change since the last call; several changes may count as one."""
        await self._changed.wait()
        self._changed.clear()

    def tell(self) -> None:
        self._changed.set()


class DirectoryWatches:
    """All directory watches of one event loop."""

    def __init__(self) -> None:
        self._handle = -1
        self._watching: dict[int, set[DirectoryWatch]] = {}

    @contextmanager
    def of(self, directory: Path) -> Iterator[DirectoryWatch]:
        """Watch for files written, created, removed or moved in `directory`.

        Raises: KernelRefused.
        """
        with self._of((directory,), _ENTRIES) as watch:
            yield watch

    @contextmanager
    def of_programs(self, *directories: Path) -> Iterator[DirectoryWatch]:
        """Watch as `of`, for whatever decides whether a program in one of them can be run: also
        its mode, the end of writing it, and the directory itself.

        Raises: KernelRefused.
        """
        with self._of(directories, _PROGRAMS) as watch:
            yield watch

    @contextmanager
    def _of(self, directories: tuple[Path, ...], events: int) -> Iterator[DirectoryWatch]:
        watch = DirectoryWatch()
        numbers: set[int] = set()
        try:
            for directory in directories:
                number = self._begin(directory, events)
                numbers.add(number)
                self._watching.setdefault(number, set()).add(watch)
            yield watch
        finally:
            for number in numbers:
                self._watching[number].discard(watch)
                self._end(number)

    def _begin(self, directory: Path, events: int) -> int:
        """The number of the watch on `directory`: always the same for the same directory."""
        if self._handle < 0:
            flags = os.O_NONBLOCK | os.O_CLOEXEC
            self._handle = _checked(_libc.inotify_init1(flags), directory)
            asyncio.get_running_loop().add_reader(self._handle, self._on_events)
        wanted = events | _ONLYDIR | _MASK_ADD
        try:
            path = os.fsencode(directory)
            return _checked(_libc.inotify_add_watch(self._handle, path, wanted), directory)
        except KernelRefused:
            self._close_unused()
            raise

    def _end(self, number: int) -> None:
        if not self._watching[number]:
            del self._watching[number]
            _libc.inotify_rm_watch(self._handle, number)  # refused when the directory is gone
        self._close_unused()

    def _close_unused(self) -> None:
        if not self._watching:
            asyncio.get_running_loop().remove_reader(self._handle)
            os.close(self._handle)
            self._handle = -1

    def _on_events(self) -> None:
        try:
            data = os.read(self._handle, _MUCH)
        except BlockingIOError:
            return
        place = 0
        while place < len(data):
            number, _, _, size = _EVENT.unpack_from(data, place)
            place += _EVENT.size + size
            numbers = tuple(self._watching) if number == _LOST else (number,)
            for each in numbers:
                for watch in self._watching.get(each, ()):
                    watch.tell()


def _checked(result: int, directory: Path) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise KernelRefused(f"watch {directory}: {reason(number)}", number)
    return result
