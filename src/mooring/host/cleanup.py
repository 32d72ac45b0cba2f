"""Taking a mount point away: the mount, then the empty directory beneath it.

Nothing here ever deletes recursively. If the unmount did not do what it said, the directory is not
empty, and what is in it is somebody's data.
"""

import errno
import os
import stat
from contextlib import suppress
from enum import Enum
from pathlib import Path

from mooring import log
from mooring.errors import HostError
from mooring.host.contract import MountOps
from mooring.host.mountinfo import canonical
from mooring.host.refusal import reason, refusals

logger = log.get("mooring.host.cleanup")

# A mount whose server, daemon or device is gone answers with one of these.
BROKEN = frozenset(
    (
        errno.ENOTCONN,
        errno.ESTALE,
        errno.EIO,
        errno.EACCES,
        errno.EHOSTDOWN,
        errno.EWOULDBLOCK,
        errno.ENODEV,
    )
)


class PathState(Enum):
    MISSING = "missing"
    PRESENT = "present"
    BROKEN = "broken"  # there is a mount, and it does not answer


def examine(path: Path) -> PathState:
    """What is at `path`.

    Raises: HostError when that cannot be found out.
    """
    try:
        path.stat()
    except FileNotFoundError:
        # On CIFS, a directory removed at the server is missing to stat and present to access.
        return PathState.BROKEN if os.access(path, os.F_OK) else PathState.MISSING
    except OSError as error:
        if error.errno in BROKEN:
            logger.warning("a broken mount", path=path, error=error.strerror)
            return PathState.BROKEN
        text = f"Error checking path: stat {path}: {reason(error.errno or 0)}"
        raise HostError(text) from error
    return PathState.PRESENT


def clean_up(mounts: MountOps, path: Path) -> None:
    """Unmount what is at `path`, and remove the empty directory or file that it was mounted on.

    Before: `path` is missing, plain, a mount point, or a broken one.
    After: it is missing.
    Repeated: success.
    Raises: HostError when it is still there; a directory that holds anything keeps all of it.
    """
    # The mount first, which is not asked: one that hangs can be taken away all the same.
    is_mounted = mounts.is_mount_point(path)
    if not is_mounted:
        state = examine(path)
        if state is PathState.MISSING:
            logger.warning("nothing to clean up: the path does not exist", path=path)
            return
        is_mounted = state is PathState.BROKEN
    if is_mounted:
        mounts.unmount(path)
        if mounts.is_mount_point(path):
            raise HostError(f"failed to cleanup mount point {path}")
    remove_empty(path)


def clean_up_by_force(mounts: MountOps, path: Path, after_seconds: float) -> None:
    """As `clean_up`, but with force when the unmount takes longer than `after_seconds`."""
    # The table is asked, not the path: a server that is gone would keep a stat waiting for ever.
    if mounts.table().find(canonical(path)) is not None:
        mounts.unmount_by_force(path, after_seconds)
    clean_up(mounts, path)


def remove_empty(path: Path) -> None:
    """Remove an empty directory or an empty file; missing is success.

    Raises: HostError when it holds anything, or is something else.
    """
    with refusals(f"remove {path}"), suppress(FileNotFoundError):
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode):
            path.rmdir()
        elif found.st_size == 0:
            path.unlink()
        else:
            raise HostError(f"remove {path}: the file is not empty")
