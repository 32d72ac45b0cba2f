"""Bringing a copy of an image up to date: changed blocks are found by comparing.

Where the kernel reports which ranges were written since the image was copied, only these are
compared; elsewhere all of it. Comparing only reads, mostly from the page cache, and is faster than
copying all again, which waits for the disk.
"""

import ctypes
import errno
import os
from collections.abc import Callable, Iterable, Iterator

_PIECE = 4 << 20  # compared at once
_BLOCK = 64 << 10  # written, or made a hole, at once
_ZEROS = bytes(_BLOCK)
_PUNCH_HOLE = 0x02 | 0x01  # FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE
_fallocate = ctypes.CDLL(None, use_errno=True)["fallocate"]
_fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_longlong, ctypes.c_longlong]


def catch_up(source: int, target: int, go_on: Callable[[], None]) -> int:
    """Copy the differing blocks of `source` to `target`, up to the size of `source`.

    Both are open files. Holes stay holes, on both sides. `go_on` is called now and then, and may
    raise to stop. Returns how many bytes differed, rounded up to blocks. Raises: OSError.
    """
    return _correct(source, target, pieces(source, target, 0, os.fstat(source).st_size), go_on)


def catch_up_in(
    ranges: Iterable[tuple[int, int]], source: int, target: int, go_on: Callable[[], None]
) -> int:
    """As `catch_up`, but only these ranges of bytes are looked at."""
    return _correct(source, target, _cut(ranges, os.fstat(source).st_size), go_on)


def _cut(ranges: Iterable[tuple[int, int]], size: int) -> Iterator[tuple[int, int]]:
    for begin, end in ranges:
        for start in range(begin, min(end, size), _PIECE):
            yield start, min(start + _PIECE, end, size)


def _correct(
    source: int, target: int, suspects: Iterable[tuple[int, int]], go_on: Callable[[], None]
) -> int:
    different = 0
    here, there = bytearray(_PIECE), bytearray(_PIECE)
    for begin, end in suspects:
        go_on()
        length = end - begin
        read_into(source, here, begin, length)
        read_into(target, there, begin, length)
        # Compare whole buffers without slicing: a slice copies, and takes as long as comparing.
        is_same = here == there if length == _PIECE else here[:length] == there[:length]
        if not is_same:
            different += _rewrite(target, begin, here[:length], there)
    return different


def pieces(source: int, target: int, position: int, size: int) -> Iterator[tuple[int, int]]:
    """The ranges from `position` where either file has data, a piece at a time."""
    while position < size:
        found = [find_position(file, position, os.SEEK_DATA) for file in (source, target)]
        begins = [begin for begin in found if begin is not None and begin < size]
        if not begins:
            return
        begin = min(begins)
        ends = [find_position(file, begin, os.SEEK_HOLE) or begin for file in (source, target)]
        position = min(begin + _PIECE, max(ends), size)
        yield begin, position


def find_position(file: int, position: int, what: int) -> int | None:
    """The next SEEK_DATA or SEEK_HOLE; None: there is none. Raises: OSError."""
    try:
        return os.lseek(file, position, what)
    except OSError as error:
        if error.errno != errno.ENXIO:  # no data after this position
            raise
        return None


def read_into(file: int, into: bytearray, begin: int, length: int) -> None:
    """Read a range; bytes beyond the end of the file are zeros."""
    view, done = memoryview(into), 0
    while done < length:
        some = os.preadv(file, [view[done:length]], begin + done)
        if not some:
            view[done:length] = bytes(length - done)
            return
        done += some


def _rewrite(target: int, begin: int, wanted: bytearray, there: bytearray) -> int:
    different = 0
    for offset in range(0, len(wanted), _BLOCK):
        block = wanted[offset : offset + _BLOCK]
        if block == there[offset : offset + len(block)]:
            continue
        different += len(block)
        if block != _ZEROS or not _punch(target, begin + offset, len(block)):
            _write(target, begin + offset, block)
    return different


def _punch(target: int, begin: int, length: int) -> bool:
    """Make a hole; False when the file system does not support it."""
    return not _fallocate(target, _PUNCH_HOLE, begin, length)


def _write(target: int, begin: int, block: bytearray) -> None:
    left = memoryview(block)
    while left:
        done = os.pwrite(target, left, begin)
        begin += done
        left = left[done:]
