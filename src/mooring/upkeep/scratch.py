"""Private directories for what is not finished; what a killed run left of its own is removed.

Each is locked while its process lives, and the kernel lets go of that lock however the process
ends: so a directory that can be locked is nobody's any more.
"""

import errno
import fcntl
import os
import re
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mooring.errors import HostError
from mooring.host import no_follow, tree

ATTEMPTS = 10
_RANDOM = r"[a-z0-9_]{8}"  # what tempfile adds


@contextmanager
def scratch_directory(parent: Path, prefix: str, names: frozenset[str]) -> Iterator[Path]:
    """A directory `prefix` + random letters in `parent`, which goes at the end with its content.

    Before: earlier ones are removed whose processes are dead, if they are this user's, private, and
    hold nothing but `names`. Raises: OSError, HostError.
    """
    _clear(parent, prefix, names)
    directory, lock = _make(parent, prefix)
    try:
        yield directory
    finally:
        try:
            tree.remove_path(directory)
        finally:
            os.close(lock)


def _make(parent: Path, prefix: str) -> tuple[Path, int]:
    for _ in range(ATTEMPTS):
        directory = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        lock = _lock(directory)
        if lock is not None:
            return directory, lock  # else another one took it for a leftover, in this moment
    raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))


def _lock(directory: Path) -> int | None:
    """None: it is in use, or gone, or another one than the name shows."""
    try:
        opened = os.open(directory, no_follow.DIRECTORY)
    except OSError:
        return None
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(opened), os.lstat(directory)):
            return opened
    except OSError:
        pass
    os.close(opened)
    return None


def _clear(parent: Path, prefix: str, names: frozenset[str]) -> None:
    """What cannot be removed stays: it is in nobody's way."""
    pattern = re.compile(re.escape(prefix) + _RANDOM)
    try:
        found = [name for name in os.listdir(parent) if pattern.fullmatch(name)]
    except OSError:
        return  # who makes one there says why not
    for name in found:
        lock = _lock(parent / name)
        if lock is None:
            continue
        try:
            if _is_ours(lock, names):
                tree.remove_path(parent / name)
        except (OSError, HostError):
            continue
        finally:
            os.close(lock)


def _is_ours(directory: int, names: frozenset[str]) -> bool:
    seen = os.fstat(directory)
    is_private = seen.st_uid == os.geteuid() and stat.S_IMODE(seen.st_mode) == stat.S_IRWXU
    return is_private and names.issuperset(os.listdir(directory))
