"""Whether a file is open in any other process, in whatever mount namespace.

The kernel grants a lease (fcntl) on a file only while no other descriptor has it open (for writing,
or at all). A lease is taken and released at once. A loop device counts as an opener.
"""

import errno
import fcntl
import os
import signal
from enum import Enum
from pathlib import Path

from mooring.host.refusal import refusals
from mooring.processes import STARTING

_NO_LEASES = (errno.EINVAL, errno.ENOLCK, errno.EOPNOTSUPP, errno.EACCES, errno.EPERM)


class Opener(Enum):
    """Which openers count: writers, or all."""

    WRITER = fcntl.F_RDLCK
    ANYBODY = fcntl.F_WRLCK


def is_open_elsewhere(path: Path, opener: Opener) -> bool | None:
    """Whether `path` is open elsewhere than in this call.

    None where the file system has no leases (NFS, FUSE): the answer is unknown.
    Raises: HostError when `path` is missing or cannot be opened.
    """
    with refusals(f"open {path}"):
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            # A process that opens the file now waits for us, and we get a signal: a harmless one.
            fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
            with STARTING:  # before its exec a child has copies of all descriptors
                return _is_refused_a_lease(descriptor, opener)
        finally:
            os.close(descriptor)


def _is_refused_a_lease(descriptor: int, opener: Opener) -> bool | None:
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, opener.value)
    except OSError as error:
        if error.errno == errno.EAGAIN:
            return True
        if error.errno in _NO_LEASES:
            return None
        raise
    fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return False
