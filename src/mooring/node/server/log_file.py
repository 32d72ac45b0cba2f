"""Reading the log of a container, which rotation may have cut into several files.

`0.log` is being written; `0.log.20260102-030405` was, until that time. A file is known by its
inode: while it is read it may be renamed, and others may follow it. All of this blocks, so callers
run it in a thread; nothing here is read as a whole.
"""

import os
import re
from contextlib import suppress
from pathlib import Path

import msgspec

from mooring.model.pod_log_options import PodLogOptions
from mooring.node.server.log_lines import LogLines, is_partial

BLOCK = 256 << 10  # bytes read at a time
MOST_TRIES = 100  # to see all files at one moment, while rotation is at work
HEAD = 64  # bytes of a line that are enough to see its tag

_ROTATED = re.compile(r"\.\d{8}-\d{6}")
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW


class Piece(msgspec.Struct, frozen=True):
    """`is_all`: there is nothing more for now; for good, unless the log is followed."""

    data: bytes
    is_all: bool


class _File(msgspec.Struct, frozen=True):
    path: Path
    inode: int
    size: int
    written: int  # when last, in nanoseconds since 1970


class LogReader:
    """What was asked for of the log at `path`, piece by piece: `open`, `read`s, `close`."""

    def __init__(self, path: Path, options: PodLogOptions) -> None:
        self._path = path
        self._options = options
        self._lines = LogLines(options)
        self._handle = -1
        self._inode = 0
        self._bounds: dict[int, int] | None = None  # how far to read which file; None: all there is

    def open(self) -> None:
        """Open the file in which the requested part begins, at that position. Raises: OSError."""
        for _ in range(MOST_TRIES):
            files = _files(self._path)
            if not self._options.follow:
                # What is written from now on was not asked for, and may come faster than we read.
                self._bounds = {file.inode: file.size for file in files}
            if self._has_begun(files):
                return

    def close(self) -> None:
        """Repeated: nothing."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def read(self) -> Piece:
        """The next piece. Raises: OSError."""
        if self._lines.is_full:
            return Piece(b"", is_all=True)
        if block := self._block():
            return self._piece(block)
        following = self._find_next()
        if following is None:
            return Piece(b"" if self._options.follow else self._lines.flush(), is_all=True)
        if block := self._block():  # written after we looked, before the next file was begun
            return self._piece(block)
        return Piece(self._lines.flush() if self._open(following) else b"", is_all=False)

    def rest(self) -> bytes:
        """After the writer has ended, and everything was read: a last line without an end."""
        return self._lines.flush()

    @property
    def is_full(self) -> bool:
        """No more bytes were asked for."""
        return self._lines.is_full

    def _piece(self, block: bytes) -> Piece:
        return Piece(self._lines.feed(block), is_all=False)

    def _block(self) -> bytes:
        if self._handle < 0:
            return b""
        most = BLOCK
        if self._bounds is not None:
            place = os.lseek(self._handle, 0, os.SEEK_CUR)
            most = min(BLOCK, max(0, self._bounds.get(self._inode, 0) - place))
        return os.read(self._handle, most)

    def _has_begun(self, files: list[_File]) -> bool:
        """False: rotation was quicker."""
        if self._options.tail_lines is not None:
            tally = _Tally(self._options.tail_lines)
            for file in reversed(files):
                if not self._open(file):
                    return False
                start = tally.count_back(self._handle, self._end())
                if start is not None:
                    os.lseek(self._handle, start, os.SEEK_SET)
                    break
            return True
        since = self._options.since_time or 0
        wanted = (file for file in files if file is files[-1] or file.written >= since)
        first = next(wanted, None)
        return first is None or self._open(first)

    def _end(self) -> int:
        """How far the open file is read: its bound, or all that there is now."""
        if self._bounds is not None:
            return self._bounds.get(self._inode, 0)
        return os.fstat(self._handle).st_size

    def _open(self, file: _File) -> bool:
        """Whether it is still where it was; then it is read from its beginning."""
        try:
            handle = os.open(file.path, _FLAGS)
        except FileNotFoundError:
            return False
        if os.fstat(handle).st_ino != file.inode:
            os.close(handle)
            return False
        self.close()
        self._handle, self._inode = handle, file.inode
        return True

    def _find_next(self) -> _File | None:
        """The file that comes after the one that was read; None: there is none yet."""
        files = _files(self._path)
        places = [place for place, file in enumerate(files) if file.inode == self._inode]
        behind = places[0] + 1 if places and self._handle >= 0 else 0
        following = files[behind] if behind < len(files) else None
        if following is None or (self._bounds is not None and following.inode not in self._bounds):
            return None
        return following


class _Tally:
    """Counts lines from the end, as a reader sees them: pieces of one line count once."""

    def __init__(self, wanted: int) -> None:
        self._wanted = wanted
        self._found = 0
        self._is_last = True

    def count_back(self, file: int, place: int) -> int | None:
        """Where the wanted lines before `place` begin; None when all of the file is wanted."""
        end: int | None = None  # of the line that is looked at, without its newline
        later = b""  # the first bytes behind the block
        while place > 0:
            size = min(BLOCK, place)
            place -= size
            block = os.pread(file, size, place)
            seen = block + later
            stop = len(block)
            while (newline := block.rfind(b"\n", 0, stop)) >= 0:
                if end is not None and self._is_enough(seen, newline + 1):
                    return end + 1
                end, stop = place + newline, newline
            later = seen[:HEAD]
        if end is not None and self._is_enough(later, 0):
            return end + 1
        return None

    def _is_enough(self, seen: bytes, start: int) -> bool:
        parts = seen[start : start + HEAD].split(b" ", 3)
        is_whole = len(parts) < 3 or not is_partial(parts[2])
        if is_whole or self._is_last:  # a line that is still being written counts, too
            self._found += 1
        self._is_last = False
        return self._found > self._wanted


def _files(path: Path) -> list[_File]:
    """The oldest first, as they are at one moment."""
    for _ in range(MOST_TRIES):
        names = _names(path)
        with suppress(FileNotFoundError):
            files = [_seen(path.with_name(name)) for name in names]
            if names == _names(path):
                return files
    return []


def _names(path: Path) -> list[str]:
    try:
        names = os.listdir(path.parent)
    except FileNotFoundError:
        return []
    own = path.name
    rotated = (n for n in names if n.startswith(own) and _ROTATED.fullmatch(n[len(own) :]))
    return [*sorted(rotated), *((own,) if own in names else ())]


def _seen(path: Path) -> _File:
    found = path.lstat()
    return _File(path, found.st_ino, found.st_size, found.st_mtime_ns)
