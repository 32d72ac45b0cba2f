"""Loop devices: a file (or another device) as a block device.

A device belongs to a file if it holds that very file, by device and inode number, whatever name
and mount namespace it was set up with.

Block volumes use them in a second way: a loop device holds its backing device open, so that no
other device can take its name while a pod uses it. There every pod has one of its own, for the
same device; so for these locks the name counts too.
"""

import errno
import fcntl
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, IntFlag
from pathlib import Path

from mooring import log
from mooring.errors import HostError, KernelRefused
from mooring.host.loop_backing import GET_STATUS64, INFO, SYSFS, backing_of, told_name, used_devices
from mooring.host.refusal import refusals

logger = log.get("mooring.host.loop_device")

CONTROL = Path("/dev/loop-control")
ATTEMPTS = 64  # each time somebody else was faster with the free device

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

    After: the device is there, with the size of `backing`, going through the page cache. A
    backing that cannot be written to gives a read-only device.
    Repeated: a second device for the same backing; see `find_or_attach`.
    Raises: HostError when there is none, and nothing is left behind.
    """
    device, descriptor = _take_free_device(backing, access, _Flag.NONE)
    os.close(descriptor)
    return device


@contextmanager
def attached_while_used(backing: Path, access: Access = Access.READ_WRITE) -> Iterator[Path]:
    """A new loop device that the kernel frees when nobody has it open any more.

    What mounts it inside the block keeps it alive until the unmount; a crash leaves none behind.
    """
    device, descriptor = _take_free_device(backing, access, _Flag.AUTOCLEAR)
    try:
        yield device
    finally:
        os.close(descriptor)


def find(backing: Path) -> Path | None:
    """The loop device that already stands for `backing`, or None."""
    return next(find_all(backing), None)


def find_all(backing: Path) -> Iterator[Path]:
    """All loop devices that stand for `backing`, set up in whatever mount namespace.

    Raises: HostError when `backing` cannot be looked at; a missing one has none.
    """
    sought = _identity(backing)
    if sought is not None:
        for name in used_devices():
            found = backing_of(name)
            if found is not None and found[:2] == sought:
                yield Path("/dev") / name


def find_lock(backing: Path) -> Path | None:
    """The loop device that was set up for `backing` by this name, or None.

    The name that was given at `attach` will do as well as the one that the kernel tells here.
    """
    names = {str(backing), os.path.realpath(backing)}
    given = {_given_name(Path(name)) for name in names}
    for device in find_all(backing):
        told = told_name(device.name)
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

    After: it is free; one that is still in use (mounted) will be at its last close.
    Repeated: a device that is free or does not exist is success.
    """
    try:
        with refusals(f"detach {device}"):
            _ioctl(device, _CLR_FD, 0)
    except KernelRefused as refused:
        if refused.errno not in (errno.ENXIO, errno.ENOENT, errno.ENODEV):
            raise


def is_going(device: Path) -> bool:
    """Whether it is free, or will be at its last close; a device that does not exist is, too."""
    try:
        told = (SYSFS / device.name / "loop" / "autoclear").read_bytes()
    except OSError:
        return True
    return told.strip() == b"1"


def keep(device: Path, backing: Path) -> bool:
    """Let a device that was to go stay; False when it is gone.

    After: it stands for `backing` until it is detached.
    """
    info = bytearray(INFO.size)
    with refusals(f"keep {device}"):
        sought = backing.stat()
        try:
            descriptor = os.open(device, os.O_RDWR | os.O_CLOEXEC)  # it cannot go meanwhile
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
    """Free the loop device that locks `backing` under this name; having none is success."""
    device = find_lock(backing)
    if device is None:
        logger.warning("no loop device to detach", backing=backing)
    else:
        detach(device)


def follow_size(device: Path) -> None:
    """Let a loop device take the new size of its backing."""
    with refusals(f"resize {device}"):
        _ioctl(device, _SET_CAPACITY, 0)


def _take_free_device(backing: Path, access: Access, flags: _Flag) -> tuple[Path, int]:
    """A device that now stands for `backing`, and a descriptor of it."""
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
    """Bind a free device to an open backing; None when somebody else was faster."""
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
        if error.errno not in (errno.EINVAL, errno.ENOTTY):  # what Linux before 5.8 says
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
    """The end of it, which tells pods and volumes apart."""
    return os.fsencode(backing)[-_NAME_BYTES:]


def _ioctl(device: Path, request: int, argument: int) -> None:
    descriptor = os.open(device, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.ioctl(descriptor, request, argument)
    finally:
        os.close(descriptor)
