"""Files that only their owner may read, written so that a crash leaves the old or the new one."""

import errno
import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_OWNER_ONLY_DIRECTORY = 0o700
_OWNER_ONLY_FILE = 0o600


def make_private_directory(path: Path) -> None:
    """After: `path` is a directory that only its owner can enter."""
    path.mkdir(mode=_OWNER_ONLY_DIRECTORY, parents=True, exist_ok=True)
    path.chmod(_OWNER_ONLY_DIRECTORY)


def write_private(path: Path, content: bytes) -> None:
    """Replace the file at `path`.

    After: the content is on the disk, readable by its owner alone. A crash midway leaves the file
    as it was, or whole; never in parts.
    """
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(handle, _OWNER_ONLY_FILE)
            file.write(content)
            file.flush()
            os.fsync(handle)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    _sync_directory(path.parent)


def find_private(path: Path) -> bytes | None:
    """The content of the file, None when there is none. After: only its owner has access."""
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_mode & 0o077:
                os.fchmod(file.fileno(), _OWNER_ONLY_FILE)
            return file.read()
    except FileNotFoundError:
        return None


def file_mark(path: Path) -> tuple[int, ...]:
    """Differs when the file was replaced; empty when there is none. Cheap, for every request."""
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_ino, found.st_mtime_ns, found.st_size


def check_link(path: Path) -> None:
    """A link is followed if it belongs to this user or to the owner of the directory.

    In a directory like /tmp other users' links could have us replace a file, or read a key.
    Raises: PermissionError.
    """
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if stat.S_ISLNK(found.st_mode) and found.st_uid not in (
        os.geteuid(),
        path.parent.stat().st_uid,
    ):
        raise PermissionError(errno.EACCES, "a symbolic link of another user", str(path))


@contextmanager
def sole_writer(directory: Path) -> Iterator[None]:
    """Inside the block no other process that uses this lock writes to the directory."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _sync_directory(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
