"""Removing a mount point: the mount, then the empty directory beneath it.

Nothing here deletes recursively. If the unmount reported success and did nothing, the directory is
not empty, and its files are a user's data.
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
    BROKEN = "broken"  # a mount whose server, daemon or device is gone


def examine(path: Path) -> PathState:
    """The state of `path`. Raises: HostError when it cannot be determined."""
    try:
        path.stat()
    except FileNotFoundError:
        # On CIFS, a directory removed on the server is missing for stat but present for access.
        return PathState.BROKEN if os.access(path, os.F_OK) else PathState.MISSING
    except OSError as error:
        if error.errno in BROKEN:
            logger.warning("a broken mount", path=path, error=error.strerror)
            return PathState.BROKEN
        text = f"Error checking path: stat {path}: {reason(error.errno or 0)}"
        raise HostError(text) from error
    return PathState.PRESENT


def clean_up(mounts: MountOps, path: Path) -> None:
    """Unmount `path`, and remove the empty directory or file that it was mounted on.

    Before: `path` is missing, plain, a mount point, or a broken one.
    After: it is missing.
    Repeated: success.
    Raises: HostError when it is still there; a directory that holds anything keeps all of it.
    """
    # Look for the mount first: one that hangs can be unmounted, but not examined.
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
    # Read the mount table, not the path: stat would wait for ever for a server that is gone.
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
