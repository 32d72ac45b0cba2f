"""Whether anybody else has a file open, whoever it is and in whatever mount namespace.

The kernel grants a lease on a file only while nobody else has it open (for writing, or at all).
A lease is taken and given back at once; a loop device, for one, is an opener like any other.
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
    """Whom a lease waits for."""

    WRITER = fcntl.F_RDLCK
    ANYBODY = fcntl.F_WRLCK


def is_open_elsewhere(path: Path, opener: Opener) -> bool | None:
    """Whether another open file than those of this call exists for `path`.

    None where the file system knows no leases (NFS, FUSE): then nobody can say.
    Raises: HostError when `path` is missing or cannot be opened.
    """
    with refusals(f"open {path}"):
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            # Who opens the file just now waits for us, and a signal says so: one without effect.
            fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
            with STARTING:  # a child that is being started has copies of all our descriptors
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
