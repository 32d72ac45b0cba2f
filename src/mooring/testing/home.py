"""The private directory of a cluster: keys, kubeconfig, volumes. It goes with the cluster.

A process that was killed leaves its directory behind. The lock on it went with the process, so the
next cluster of this user finds it, and removes it.
"""

import atexit
import fcntl
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from mooring.errors import HostError
from mooring.host.tree import remove_path
from mooring.testing.errors import NO_FILES, NO_ROOM, ClusterError, told_start_failure

PREFIX = "mooring-test-"
NEW_PREFIX = "mooring-new-test-"
LOCK = "lock"
DATA = "data"


class Home:
    """`path` exists, is private, and is locked by this process until `remove`."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self._lock = lock
        self._owner = os.getpid()

    @property
    def data_dir(self) -> Path:
        return self.path / DATA

    def remove(self) -> None:
        """Only the process that made it does so: a fork may end before its parent."""
        if os.getpid() != self._owner or self._lock < 0:
            return
        if not _is_removed(self.path):  # no descriptor was free for it, perhaps
            atexit.register(_remove_late, self.path, self._owner)
        os.close(self._lock)
        self._lock = -1


def make_home() -> Home:
    """Raises: ClusterError where no directory can be made."""
    try:
        parent = Path(tempfile.gettempdir())
        _sweep(parent)
        return _made(parent)
    except OSError as error:
        if error.errno in NO_ROOM | NO_FILES:
            told = told_start_failure(error, Path(tempfile.gettempdir()))
            raise ClusterError(f"the cluster does not start: {told}") from error
        raise ClusterError(
            f"there is no directory for the cluster's keys ({error.strerror}): set TMPDIR to one "
            "that can be written to"
        ) from error


def _made(parent: Path) -> Home:
    """It has its name only once it is locked, so that nobody sweeps it before."""
    new = Path(tempfile.mkdtemp(prefix=NEW_PREFIX, dir=parent))
    try:
        lock = os.open(new / LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError:
        new.rmdir()
        raise
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    path = parent / f"{PREFIX}{new.name.removeprefix(NEW_PREFIX)}"
    return Home(new.rename(path), lock)


def _is_removed(path: Path) -> bool:
    try:
        remove_path(path)
    except HostError:
        return False
    return True


def _remove_late(path: Path, owner: int) -> None:
    if os.getpid() == owner:
        _is_removed(path)


def _sweep(parent: Path) -> None:
    """Remove the directories of clusters whose processes are gone."""
    for path in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):
            found = path.lstat()
            if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid():
                _remove_abandoned(path)


def _remove_abandoned(path: Path) -> None:
    """Raises: OSError when a cluster lives there, or somebody is just making it."""
    lock = os.open(path / LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with suppress(HostError):
            remove_path(path)
    finally:
        os.close(lock)
