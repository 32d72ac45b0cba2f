"""Loop devices: a file (or another device) as a block device.

A loop device belongs to a file if it has that file, by device and inode number, whatever the name
and mount namespace it was set up with.

Block volumes use loop devices as locks: a loop device holds its backing device open, so that no
other device can take its name while a pod uses it. There every pod has a loop device of its own
for the same backing device; so locks are found by name too.
"""

import errno
import fcntl
import os
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, IntFlag
from pathlib import Path

from mooring import log
from mooring.errors import HostError, KernelRefused
from mooring.host.loop_backing import (
    GET_STATUS64,
    INFO,
    SYSFS,
    backing_of,
    sysfs_backing_path,
    used_devices,
)
from mooring.host.refusal import refusals

logger = log.get("mooring.host.loop_device")

CONTROL = Path("/dev/loop-control")
ATTEMPTS = 64  # to get a free device before other processes do
RELEASE_SECONDS = 5.0  # for other processes to close a lock that was detached

_RELEASE_POLL_SECONDS = 0.01

_SET_FD = 0x4C00
_CLR_FD = 0x4C01
_SET_STATUS64 = 0x4C04
_SET_CAPACITY = 0x4C07
_CONFIGURE = 0x4C0A
_GET_FREE = 0x4C82
_FLAGS_AT = 52  # in loop_info64
_CONFIG = struct.Struct(f"II{INFO.size}s64x")  # loop_config: descriptor, block size, info
_NAME_BYTES = 63


class Access(Enum):
    READ_WRITE = "read-write"
    READ_ONLY = "read-only"


class _Flag(IntFlag):
    NONE = 0
    READ_ONLY = 1
    AUTOCLEAR = 4


def attach(backing: Path, access: Access = Access.READ_WRITE) -> Path:
    """A new loop device for `backing`, which stays until it is detached.

    After: the device exists, with the size of `backing`, and uses the page cache. A backing file
    that cannot be written to gives a read-only device.
    Repeated: a second device for the same backing; see `find_or_attach`.
    Raises: HostError when no device was attached.
    """
    device, descriptor = _take_free_device(backing, access, _Flag.NONE)
    os.close(descriptor)
    return device


@contextmanager
def attached_while_used(backing: Path, access: Access = Access.READ_WRITE) -> Iterator[Path]:
    """A new loop device that the kernel frees at its last close.

    A mount made inside the block keeps it until the unmount; a crash leaves no device behind.
    """
    device, descriptor = _take_free_device(backing, access, _Flag.AUTOCLEAR)
    try:
        yield device
    finally:
        os.close(descriptor)


def find(backing: Path) -> Path | None:
    """The loop device that already has `backing`, or None."""
    return next(find_all(backing), None)


def find_all(backing: Path) -> Iterator[Path]:
    """All loop devices that have `backing`, set up in whatever mount namespace.

    Raises: HostError when stat of `backing` fails; a missing file has none.
    """
    sought = _identity(backing)
    if sought is not None:
        for name in used_devices():
            found = backing_of(name)
            if found is not None and found[:2] == sought:
                yield Path("/dev") / name


def find_lock(backing: Path) -> Path | None:
    """The loop device that was set up for `backing` under this name, or None.

    Both names count: the one given at `attach`, and the path in sysfs.
    """
    names = {str(backing), os.path.realpath(backing)}
    given = {_given_name(Path(name)) for name in names}
    for device in find_all(backing):
        told = sysfs_backing_path(device.name)
        if names & {told, told.removesuffix(" (deleted)")}:
            return device
        found = backing_of(device.name)
        if found is not None and found.given_name in given:
            return device
    return None


def find_or_attach(backing: Path) -> Path:
    """The loop device that locks `backing` under this name, made if there is none."""
    return find_lock(backing) or attach(backing)


def detach(device: Path) -> None:
    """Free a loop device.

    After: it is free; one that is still in use (mounted) is freed at its last close.
    Repeated: success, also for a device that does not exist.
    """
    try:
        with refusals(f"detach {device}"):
            _ioctl(device, _CLR_FD, 0)
    except KernelRefused as refused:
        if refused.errno not in (errno.ENXIO, errno.ENOENT, errno.ENODEV):
            raise


def is_going(device: Path) -> bool:
    """Whether the device is free, will be freed at its last close, or does not exist."""
    try:
        told = (SYSFS / device.name / "loop" / "autoclear").read_bytes()
    except OSError:
        return True
    return told.strip() == b"1"


def keep(device: Path, backing: Path) -> bool:
    """Cancel the freeing of a device at its last close; False when it is gone.

    After: it has `backing` until it is detached.
    """
    info = bytearray(INFO.size)
    with refusals(f"keep {device}"):
        sought = backing.stat()
        try:
            descriptor = os.open(device, os.O_RDWR | os.O_CLOEXEC)  # open, it cannot be freed
        except FileNotFoundError:
            return False
        try:
            fcntl.ioctl(descriptor, GET_STATUS64, info)
            on_device, inode, flags, _ = INFO.unpack(info)
            if (on_device, inode) != (sought.st_dev, sought.st_ino):
                return False
            struct.pack_into("I", info, _FLAGS_AT, flags & ~_Flag.AUTOCLEAR)
            fcntl.ioctl(descriptor, _SET_STATUS64, info)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return False
            raise
        finally:
            os.close(descriptor)
    return True


def detach_backing(backing: Path) -> None:
    """Free the loop device that locks `backing` under this name. Repeated: success.

    After: the device no longer holds `backing` open. Every process that lists loop devices opens
    them for a moment, and the kernel frees a device at its last close: that is waited for, up to
    RELEASE_SECONDS.
    """
    device = find_lock(backing)
    if device is None:
        logger.warning("no loop device to detach", backing=backing)
        return
    detach(device)
    deadline, pause = time.monotonic() + RELEASE_SECONDS, threading.Event()
    while find_lock(backing) == device and time.monotonic() < deadline:
        pause.wait(_RELEASE_POLL_SECONDS)


def follow_size(device: Path) -> None:
    """Let a loop device take the new size of its backing."""
    with refusals(f"resize {device}"):
        _ioctl(device, _SET_CAPACITY, 0)


def _take_free_device(backing: Path, access: Access, flags: _Flag) -> tuple[Path, int]:
    """A device that now has `backing`, and a descriptor of it."""
    held, access = _open_backing(backing, access)
    if access is Access.READ_ONLY:
        flags |= _Flag.READ_ONLY
    info = INFO.pack(0, 0, flags, _given_name(backing))
    try:
        for _ in range(ATTEMPTS):
            device = _free_device()
            descriptor = _configure(device, held, info)
            if descriptor is not None:
                return device, descriptor
    finally:
        os.close(held)
    raise HostError(f"no loop device for {backing}: others took every free one first")


def _open_backing(backing: Path, access: Access) -> tuple[int, Access]:
    with refusals(f"open {backing}"):
        if access is Access.READ_WRITE:
            try:
                return os.open(backing, os.O_RDWR | os.O_CLOEXEC), access
            except OSError as error:
                if error.errno not in (errno.EROFS, errno.EACCES):
                    raise
        return os.open(backing, os.O_RDONLY | os.O_CLOEXEC), Access.READ_ONLY


def _free_device() -> Path:
    with refusals("find a free loop device"):
        control = os.open(CONTROL, os.O_RDWR | os.O_CLOEXEC)
        try:
            return Path(f"/dev/loop{fcntl.ioctl(control, _GET_FREE)}")
        finally:
            os.close(control)


def _configure(device: Path, backing: int, info: bytes) -> int | None:
    """Bind a free device to an open backing; None when another process took the device."""
    with refusals(f"set up {device}"):
        descriptor = os.open(device, os.O_RDWR | os.O_CLOEXEC)
        try:
            _bind(descriptor, backing, info)
        except OSError as error:
            os.close(descriptor)
            if error.errno == errno.EBUSY:
                return None
            raise
        return descriptor


def _bind(device: int, backing: int, info: bytes) -> None:
    try:
        fcntl.ioctl(device, _CONFIGURE, _CONFIG.pack(backing, 0, info))
        return
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTTY):  # no LOOP_CONFIGURE before Linux 5.8
            raise
    fcntl.ioctl(device, _SET_FD, backing)
    try:
        fcntl.ioctl(device, _SET_STATUS64, info)
    except OSError:
        fcntl.ioctl(device, _CLR_FD, 0)
        raise


def _identity(backing: Path) -> tuple[int, int] | None:
    try:
        with refusals(f"stat {backing}"):
            found = backing.stat()
    except KernelRefused as refused:
        if refused.errno == errno.ENOENT:
            return None
        raise
    return found.st_dev, found.st_ino


def _given_name(backing: Path) -> bytes:
    """The last bytes of the path, which identify the pod and the volume."""
    return os.fsencode(backing)[-_NAME_BYTES:]


def _ioctl(device: Path, request: int, argument: int) -> None:
    descriptor = os.open(device, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.ioctl(descriptor, request, argument)
    finally:
        os.close(descriptor)
