"""Freezing a mounted file system, so that its image is whole while it is copied."""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mooring.errors import HostError, KernelRefused
from mooring.host.mountinfo import MountEntry
from mooring.host.refusal import refusals
from mooring.host.same_mount import mount_of

_FIFREEZE = 0xC0045877
_FITHAW = 0xC0045878


@contextmanager
def frozen(mount: MountEntry) -> Iterator[None]:
    """All that was written is in the image, and writers wait, until the end of the block.

    Raises: HostError.
    """
    _ask(mount, _FIFREEZE, "freeze")
    try:
        yield
    finally:
        thaw(mount)


def thaw(mount: MountEntry) -> None:
    """Let writers go on; not frozen is success. Raises: HostError."""
    try:
        _ask(mount, _FITHAW, "thaw")
    except KernelRefused as refused:
        if refused.errno != errno.EINVAL:
            raise


def flush(device: Path) -> None:
    """Bring what was written to a device to its image. Raises: HostError."""
    with refusals(f"flush {device}"):
        descriptor = os.open(device, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _ask(mount: MountEntry, request: int, verb: str) -> None:
    with refusals(f"{verb} {mount.at}"):
        directory = os.open(mount.at, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            # Unmounted meanwhile, it would be the file system beneath: the machine's own.
            if mount_of(directory) != mount.id:
                raise HostError(f"{verb} {mount.at}: another file system is there")
            fcntl.ioctl(directory, request, 0)
        finally:
            os.close(directory)
