"""Block devices: their size, whether they are writable, and whether they are in use."""

import errno
import fcntl
import os
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mooring import log
from mooring.errors import KernelRefused
from mooring.host.refusal import refusals
from mooring.processes import STARTING

logger = log.get("mooring.host.block_device")

_BLKROGET = 0x125E  # ioctl: is it write-protected?
_INT = struct.Struct("i")


def is_block_device(path: Path) -> bool:
    """Whether `path`, with links followed, is a block device; False for a missing path."""
    with refusals(f"stat {path}"):
        try:
            return stat.S_ISBLK(path.stat().st_mode)
        except FileNotFoundError:
            return False


def is_busy(device: Path) -> bool:
    """Whether a mount, a device mapping or a program holds `device` exclusively.

    Anything but a block device is never busy. A loop device backed by `device` does not count.
    Raises: HostError when `device` is missing or cannot be opened.
    """
    with refusals(f"stat {device}"):
        mode = device.stat().st_mode
    if not stat.S_ISBLK(mode):
        logger.warning("not a block device, so nobody can claim it", path=device)
        return False
    try:
        with claimed(device):
            return False
    except KernelRefused as refused:
        if refused.errno == errno.EBUSY:
            return True
        raise


@contextmanager
def claimed(device: Path) -> Iterator[int]:
    """A descriptor for reading; while it is open, no other process can mount, map or format it.

    Raises: KernelRefused with EBUSY when `device` is in use.
    """
    with refusals(f"open {device}"):
        descriptor = os.open(device, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        with STARTING:
            os.close(descriptor)


def size_bytes(device: Path) -> int:
    """The size of a device, or of a regular file."""
    with _opened(device) as descriptor, refusals(f"find the size of {device}"):
        return os.lseek(descriptor, 0, os.SEEK_END)


def is_read_only(device: Path) -> bool:
    """Whether the device itself is write-protected."""
    answer = bytearray(_INT.size)
    with _opened(device) as descriptor, refusals(f"ask whether {device} is write-protected"):
        fcntl.ioctl(descriptor, _BLKROGET, answer)
    return bool(_INT.unpack(answer)[0])


@contextmanager
def _opened(device: Path) -> Iterator[int]:
    with refusals(f"open {device}"):
        descriptor = os.open(device, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
