"""Looks into SQLite's write-ahead log for acknowledged commits that a recovery would drop.

SQLite replays the log up to the first frame whose checksum is wrong. After a crash that is right:
the last transaction may be torn. But a transaction is only begun when the one before is on disk, so
frames of a later transaction behind the wrong frame mean that acknowledged writes are in there.
Damage in the very last transaction cannot be distinguished from a torn one.
Layout: https://www.sqlite.org/fileformat2.html#the_write_ahead_log
"""

import struct
import sys
from array import array
from collections.abc import Iterator
from pathlib import Path

import msgspec

_HEADER = struct.Struct(">8I")  # magic, version, page size, sequence, 2 salts, 2 checksums
_FRAME = struct.Struct(">6I")  # page, pages in the database (0: no commit), 2 salts, 2 checksums
_MAGIC = 0x377F0682  # the last bit says: checksums read the words as big-endian

_Pair = tuple[int, int]


class _Frame(msgspec.Struct):
    commits: bool
    salts: _Pair
    checksum: _Pair
    header: memoryview  # the part that the checksum covers
    page: memoryview


def loses_commits(log: Path) -> bool:
    """Whether replaying `log` would silently drop a transaction that was acknowledged."""
    try:
        content = memoryview(log.read_bytes())
    except FileNotFoundError:
        return False
    if len(content) < _HEADER.size or not any(content[: _HEADER.size]):
        return False  # a crash came before anything was logged
    magic, _, page_size, _, salt_1, salt_2, sum_1, sum_2 = _HEADER.unpack_from(content)
    swap = (magic & 1 == 1) != (sys.byteorder == "big")
    running = _checksum(content[:24], (0, 0), swap=swap)
    if magic & ~1 != _MAGIC or running != (sum_1, sum_2):
        return True
    frames = _frames(content[_HEADER.size :], page_size)
    for frame in frames:
        if frame.salts == (salt_1, salt_2):
            running = _checksum(frame.header, running, swap=swap)
            running = _checksum(frame.page, running, swap=swap)
        if frame.salts != (salt_1, salt_2) or running != frame.checksum:
            behind = [frame, *frames]
            return _holds_later_transaction([f for f in behind if f.salts == (salt_1, salt_2)])
    return False


def _frames(content: memoryview, page_size: int) -> Iterator[_Frame]:
    step = _FRAME.size + page_size
    for start in range(0, len(content) - step + 1, step):
        _, pages, salt_1, salt_2, sum_1, sum_2 = _FRAME.unpack_from(content, start)
        yield _Frame(
            commits=pages != 0,
            salts=(salt_1, salt_2),
            checksum=(sum_1, sum_2),
            header=content[start : start + 8],
            page=content[start + _FRAME.size : start + step],
        )


def _holds_later_transaction(frames: list[_Frame]) -> bool:
    """Whether something follows a commit; other salts are of an earlier use of the log file."""
    return any(frame.commits for frame in frames[:-1])


def _checksum(content: memoryview, running: _Pair, *, swap: bool) -> _Pair:
    words = array("I", content.tobytes())
    if swap:
        words.byteswap()
    first, second = running
    pairs = iter(words)
    for even, odd in zip(pairs, pairs, strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second
