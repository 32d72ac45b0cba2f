"""The loop devices of an image: found again after a restart, and never two of them mounted.

A device that is let go stays as long as somebody has it mounted: a container that is just being
started takes a copy of all mounts with it. Two devices for one image would be two file systems on
the same blocks, so as long as the old one is there it is taken again.
"""

import errno
from pathlib import Path

from mooring.errors import KernelRefused
from mooring.host import block_device, loop_device
from mooring.host.loop_device import Access


def find(image: Path, access: Access = Access.READ_WRITE) -> Path | None:
    """The device of `image` that can be used so, or None. Raises: HostError."""
    is_read_only = access is Access.READ_ONLY
    for device in loop_device.find_all(image):
        if not loop_device.is_going(device) and block_device.is_read_only(device) == is_read_only:
            return device
    return None


def find_or_attach(image: Path, access: Access = Access.READ_WRITE) -> Path:
    """The device of `image`, made if there is none. Raises: HostError."""
    found = find(image, access)
    if found is not None:
        return found
    is_read_only = access is Access.READ_ONLY
    for device in loop_device.find_all(image):
        is_same = block_device.is_read_only(device) == is_read_only
        if is_same and loop_device.keep(device, image):
            return device
    return loop_device.attach(image, access)


def detach_all(image: Path) -> None:
    """Let all devices of `image` go; having none is success. Raises: HostError."""
    for device in loop_device.find_all(image):
        loop_device.detach(device)


def is_in_use(image: Path) -> bool:
    """Whether a device of `image` is mounted, in whatever namespace. Raises: HostError."""
    return any(_is_busy(device) for device in loop_device.find_all(image))


def is_held(image: Path) -> bool:
    """Whether one is mounted that was not even let go. Raises: HostError."""
    devices = (each for each in loop_device.find_all(image) if not loop_device.is_going(each))
    return any(_is_busy(device) for device in devices)


def number_of(path: Path) -> int | None:
    """The device number of what is at `path`; None when it is missing."""
    try:
        return path.stat().st_rdev
    except (FileNotFoundError, NotADirectoryError):
        return None


def _is_busy(device: Path) -> bool:
    try:
        return block_device.is_busy(device)
    except KernelRefused as refused:
        if refused.errno in (errno.ENXIO, errno.ENOENT, errno.ENODEV):  # it went just now
            return False
        raise
