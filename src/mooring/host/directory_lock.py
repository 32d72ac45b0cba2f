"""One process per data directory."""

import errno
import fcntl
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Self

from mooring.errors import UsageError

_LONGEST = 20  # bytes of a process id, and more than that


class InUse(UsageError):
    """Another process has the directory; `owner` is its id, 0 when that is not known."""

    def __init__(self, message: str, owner: int) -> None:
        super().__init__(message)
        self.owner = owner


class DirectoryLock:
    """Held as long as the process lives; the kernel releases it, however the process ends."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def take(cls, path: Path, flag: str = "--data-dir") -> Self:
        """Lock the directory of `path`, a file that holds the owner's process id.

        `flag` is the command-line flag that names the directory. Other users may be able to write
        to the directory: a symbolic link at `path` is not followed, and a file that cannot be our
        lock (not a regular file, owned by another user, hard-linked, or holding more than a
        number) is refused and left unchanged.

        Raises: InUse when another process holds the lock; UsageError when `path` is not our lock;
        OSError when `path` cannot be written.
        """
        descriptor = _open(path)
        try:
            _check_ours(descriptor, path)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                owner = _signed(descriptor).decode("ascii", "replace").strip()
                raise InUse(
                    f"{path.parent} is in use by another mooring (pid {owner or 'unknown'}); "
                    f"stop it or choose another {flag}",
                    int(owner) if owner.isdecimal() else 0,
                ) from None
            if not _is_still(descriptor, path):
                raise InUse(f"{path.parent} is being removed: wait for that, then try again", 0)
            _check_content(descriptor, path)
            with suppress(OSError):  # a full disk; the process id is only for information
                os.ftruncate(descriptor, os.pwrite(descriptor, b"%d\n" % os.getpid(), 0))
        except BaseException:
            os.close(descriptor)
            raise
        return cls(descriptor)

    def release(self) -> None:
        os.close(self._descriptor)


def _open(path: Path) -> int:
    """Open or create `path` without following a link or waiting for a FIFO."""
    how = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    try:
        return os.open(path, how, 0o600)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EISDIR, errno.ENXIO, errno.ENODEV):
            raise _no_lock(path, "no plain file") from error
        raise


def _is_still(descriptor: int, path: Path) -> bool:
    """Whether it is the lock that everybody finds: who had it may have removed it meanwhile."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False


def _check_ours(descriptor: int, path: Path) -> None:
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        raise _no_lock(path, "no plain file")
    if found.st_uid != os.geteuid():
        raise _no_lock(path, f"a file of the user {found.st_uid}")
    if found.st_nlink != 1:
        raise _no_lock(path, "a file with further names")


def _check_content(descriptor: int, path: Path) -> None:
    """Called with the lock held, so no other process is writing the file."""
    content = _signed(descriptor)
    if len(content) > _LONGEST or not (content.strip().isdigit() or not content.strip()):
        raise _no_lock(path, "a file with other content")


def _signed(descriptor: int) -> bytes:
    return os.pread(descriptor, _LONGEST + 1, 0)


def _no_lock(path: Path, what: str) -> UsageError:
    return UsageError(f"{path} is not a lock of mooring but {what}: remove it")
