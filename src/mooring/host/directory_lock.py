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
    """Held as long as the process lives; the kernel lets go of it, however the process ends."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def take(cls, path: Path, flag: str = "--data-dir") -> Self:
        """Lock the directory of `path`, a file that holds the owner's process id.

        `flag` is where the command line names the directory. Somebody else may be able to write to
        the directory: a symbolic link at `path` is not followed, and what is no lock of ours (no
        plain file, another user's, one with a second name, one that says more than a number) is
        refused as it is.

        Raises: InUse when another process has it; UsageError when `path` is no lock file of ours;
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
            _check_content(descriptor, path)
            with suppress(OSError):  # a full disk; who has the lock is told for convenience alone
                os.ftruncate(descriptor, os.pwrite(descriptor, b"%d\n" % os.getpid(), 0))
        except BaseException:
            os.close(descriptor)
            raise
        return cls(descriptor)

    def release(self) -> None:
        os.close(self._descriptor)


def _open(path: Path) -> int:
    """Neither a link is followed nor a pipe waited for."""
    how = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    try:
        return os.open(path, how, 0o600)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EISDIR, errno.ENXIO, errno.ENODEV):
            raise _no_lock(path, "no plain file") from error
        raise


def _check_ours(descriptor: int, path: Path) -> None:
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        raise _no_lock(path, "no plain file")
    if found.st_uid != os.geteuid():
        raise _no_lock(path, f"a file of the user {found.st_uid}")
    if found.st_nlink != 1:
        raise _no_lock(path, "a file with further names")


def _check_content(descriptor: int, path: Path) -> None:
    """Held, so nobody is just writing it."""
    content = _signed(descriptor)
    if len(content) > _LONGEST or not (content.strip().isdigit() or not content.strip()):
        raise _no_lock(path, "a file with other content")


def _signed(descriptor: int) -> bytes:
    return os.pread(descriptor, _LONGEST + 1, 0)


def _no_lock(path: Path, what: str) -> UsageError:
    return UsageError(f"{path} is not a lock of mooring but {what}: remove it")
