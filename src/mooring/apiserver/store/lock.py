"""One process per data directory."""

import fcntl
import os
from pathlib import Path
from typing import Self

from mooring.errors import UsageError


class DirectoryLock:
    """Held as long as the process lives; the kernel lets go of it, however the process ends."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def take(cls, path: Path, flag: str = "--data-dir") -> Self:
        """Lock the directory of `path`, a file that holds the owner's process id.

        `flag` is where the command line names the directory.

        Raises: UsageError when another process has it; OSError when `path` cannot be written.
        """
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
            os.close(descriptor)
            raise UsageError(
                f"{path.parent} is in use by another mooring (pid {owner or 'unknown'}); "
                f"stop it or choose another {flag}"
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
        return cls(descriptor)

    def release(self) -> None:
        os.close(self._descriptor)
