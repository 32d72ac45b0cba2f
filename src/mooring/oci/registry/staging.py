"""Where layers are while they come: a directory per pull, gone with it.

    <images>/pulls/<random>/        0700, locked by the process that pulls
    <images>/pulls/<random>/<digest>

A directory that nobody has locked is of a process that was killed; the next pull removes it.
"""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mooring import log
from mooring.errors import HostError
from mooring.host import tree

_LOCK = "lock"
_log = log.get("mooring.oci.registry")


class StagingDirectory:
    """The directory of one pull. Every call blocks."""

    def __init__(self, staging: "Staging") -> None:
        self._staging = staging
        self._path: Path | None = None
        self._lock = -1

    def make(self) -> Path:
        """Raises: OSError."""
        self._path, self._lock = self._staging.make()
        return self._path

    def remove(self) -> None:
        """What cannot be removed now is removed before the next pull. Repeated: nothing."""
        if self._path is None:
            return
        try:
            tree.remove_path(self._path)
        except HostError as error:
            _log.warning("rubbish of a pull stays", path=self._path, because=error)
        finally:
            os.close(self._lock)
            self._path = None


class Staging:
    """Every call blocks."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def make(self) -> tuple[Path, int]:
        """A new directory, and the lock on it. Raises: OSError."""
        for directory in (*reversed(self._root.parents), self._root):
            directory.mkdir(0o700, exist_ok=True)
        with self._alone():
            self._sweep()
            made = Path(tempfile.mkdtemp(dir=self._root))
            lock = os.open(made / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return made, lock

    def sweep(self) -> None:
        """Remove what killed processes have left. Raises: OSError."""
        if self._root.is_dir():
            with self._alone():
                self._sweep()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """So that no directory is taken for abandoned before it is locked."""
        directory = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(directory, fcntl.LOCK_EX)
            yield
        finally:
            os.close(directory)

    def _sweep(self) -> None:
        for found in self._root.iterdir():
            if _is_abandoned(found):
                try:
                    tree.remove_path(found)
                except HostError as error:
                    _log.warning("rubbish of a pull stays", path=found, because=error)


def _is_abandoned(directory: Path) -> bool:
    try:
        lock = os.open(directory / _LOCK, os.O_RDWR | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return True
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True
