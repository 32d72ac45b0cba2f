"""How far acknowledged writes had come, kept beside the database.

SQLite takes a log that was removed, or replaced by an older one, for one that never was: the writes
in it are gone without a word. So the newest revision is also noted in a small file, after each
commit and without waiting for the disk. The note may be older than the database, when the machine
lost power; it is never newer, unless the database lost something.
"""

import os
import zlib
from contextlib import suppress
from pathlib import Path

from mooring.errors import Removed


class RevisionMark:
    """The file, open for writing."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor

    @classmethod
    def open(cls, path: Path) -> "RevisionMark":
        """Raises: OSError."""
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        return cls(path, os.open(path, flags, 0o600))

    def note(self, revision: int) -> None:
        """Write it down; a disk that refuses leaves the older note, which says no less truth."""
        with suppress(OSError):
            os.pwrite(self._descriptor, _spelled(revision), 0)

    def check_there(self) -> None:
        """Raises: Removed when its directory was emptied: SQLite would go on writing to deleted
        files."""
        if not os.fstat(self._descriptor).st_nlink:
            raise Removed(self._path.parent)

    def remove(self) -> None:
        """There is nothing left to lose."""
        with suppress(OSError):
            self._path.unlink(missing_ok=True)

    def close(self) -> None:
        os.close(self._descriptor)


def find_mark(path: Path) -> int:
    """The revision that was noted; 0 when there is no note, or none that can be read."""
    try:
        content = path.read_bytes()[:64]
    except FileNotFoundError:
        return 0
    digits = content[:20]
    if not digits.isdigit() or content != _spelled(int(digits)):
        return 0
    return int(digits)


def _spelled(revision: int) -> bytes:
    digits = b"%020d" % revision
    return b"%b %08x\n" % (digits, zlib.crc32(digits))
