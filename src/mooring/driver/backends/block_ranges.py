"""Which ranges of an image hold data, and in which ranges two images differ.

Two images that share blocks (reflink) are not read where the file system says that their blocks are
the same; elsewhere they are compared. A scan goes on from any byte: it has no state.
"""

import errno
import fcntl
import os
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from mooring.driver.backends.catching_up import find_position, pieces, read_into
from mooring.host.refusal import refusals

BLOCK = 64 << 10  # the unit in which images are compared
_PIECE = 4 << 20
_STEP_BYTES = 256 << 20  # looked at before a step ends, whether something was found or not

_FIEMAP = 0xC020660B
_HEADER = struct.Struct("=QQLLLL")  # start, length, flags, mapped, room, reserved
_EXTENT = struct.Struct("=QQQQQLLLL")  # logical, physical, length, 2 reserved, flags, 3 reserved
_ROOM = 256  # extents asked for at once
_SYNC = 0x1  # write what is not allocated yet first
_UNSURE = 0x2 | 0x4 | 0x8 | 0x80 | 0x200  # unknown, delayed, encoded, encrypted, inline


class Range(msgspec.Struct, frozen=True):
    begin: int
    end: int


class Step(msgspec.Struct, frozen=True):
    """Some ranges, in order, and the byte to go on from; None: that was all."""

    ranges: tuple[Range, ...]
    go_on: int | None


def allocated(image: Path, begin: int, most: int) -> Step:
    """The next ranges of `image` with data, `most` at most. Raises: HostError."""
    with refusals(f"read {image}"), _opened(image) as (file,):
        size = os.fstat(file).st_size
        return _step(_data(file, begin, size), size, most)


def changed(base: Path, target: Path, begin: int, most: int) -> Step:
    """The next ranges in which `target` differs from `base`, `most` at most.

    Behind the end of `base` it counts as zeros. Raises: HostError.
    """
    with refusals(f"compare {base} and {target}"), _opened(base, target) as (old, new):
        size = os.fstat(new).st_size
        return _step(_differing(old, new, begin, size), size, most)


@contextmanager
def _opened(*images: Path) -> Iterator[tuple[int, ...]]:
    with ExitStack() as stack:
        files: list[int] = []
        for image in images:
            files.append(os.open(image, os.O_RDONLY | os.O_CLOEXEC))
            stack.callback(os.close, files[-1])
        yield tuple(files)


def _step(found: Iterator[tuple[Range | None, int]], size: int, most: int) -> Step:
    """Merge what was found, until there is enough of it. Each item: a range, and how far it got."""
    ranges: list[Range] = []
    for one, position in found:
        if one is not None and ranges and ranges[-1].end == one.begin:
            ranges[-1] = Range(ranges[-1].begin, one.end)
        elif one is not None:
            ranges.append(one)
        if len(ranges) > most:  # the last one is complete: another has begun
            return Step(tuple(ranges[:most]), ranges[most].begin)
        if position < 0:
            return Step(tuple(ranges), -position if -position < size else None)
    return Step(tuple(ranges), None)


def _data(file: int, begin: int, size: int) -> Iterator[tuple[Range | None, int]]:
    while begin < size:
        start = find_position(file, begin, os.SEEK_DATA)
        if start is None or start >= size:
            return
        begin = min(size, find_position(file, start, os.SEEK_HOLE) or size)
        yield Range(start, begin), begin


def _differing(base: int, target: int, begin: int, size: int) -> Iterator[tuple[Range | None, int]]:
    """A negative position ends a step."""
    here, there = bytearray(_PIECE), bytearray(_PIECE)
    until = begin + _STEP_BYTES
    for start, end in pieces(target, base, begin, size):
        if start >= until:
            yield None, -start
            return
        if _are_same_blocks(base, target, start, end - start):
            continue
        read_into(target, here, start, end - start)
        read_into(base, there, start, end - start)
        for offset in range(0, end - start, BLOCK):
            stop = min(offset + BLOCK, end - start)
            if here[offset:stop] != there[offset:stop]:
                yield Range(start + offset, start + stop), end


def _are_same_blocks(base: int, target: int, begin: int, length: int) -> bool:
    """Whether both files have the very same blocks of the disk in this range."""
    mapped = _blocks(target, begin, length)
    return mapped is not None and mapped == _blocks(base, begin, length)


def _blocks(file: int, begin: int, length: int) -> list[tuple[int, int, int]] | None:
    """Begin, place on the disk, and length of each extent in a range; None: it cannot be known."""
    request = bytearray(_HEADER.size + _ROOM * _EXTENT.size)
    _HEADER.pack_into(request, 0, begin, length, _SYNC, 0, _ROOM, 0)
    try:
        fcntl.ioctl(file, _FIEMAP, request)
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.ENOTTY, errno.EBADR, errno.EINVAL):
            return None
        raise
    count = _HEADER.unpack_from(request)[3]
    blocks: list[tuple[int, int, int]] = []
    for index in range(count):
        at = _HEADER.size + index * _EXTENT.size
        logical, physical, size, _, _, flags, *_ = _EXTENT.unpack_from(request, at)
        if flags & _UNSURE:
            return None
        start, end = max(logical, begin), min(logical + size, begin + length)
        blocks.append((start, physical + start - logical, end - start))
    if count == _ROOM:
        return None
    # No extent on either side would be two holes, which are never asked about.
    return blocks or None
