"""The loop devices of an image: found again after a restart, and never two of them mounted.

A detached device stays as long as it is mounted anywhere: a container that is just being started
has a copy of all mounts. Two devices for one image would be two file systems on the same blocks, so
while the old device exists it is used again. An image that is open for writing without a device
that can be found (its device has no node in this container's /dev, say) gets no device.
"""

import errno
from collections.abc import Callable
from pathlib import Path
from threading import Event

from mooring.driver.refusal import PRECONDITION, CallRefused
from mooring.errors import KernelRefused
from mooring.host import block_device, loop_device
from mooring.host.loop_device import Access
from mooring.host.open_elsewhere import Opener, is_open_elsewhere

PAUSES = 100
PAUSE_SECONDS = 0.05


def find(image: Path, access: Access = Access.READ_WRITE) -> Path | None:
    """The device of `image` with this access, or None. Raises: HostError."""
    is_read_only = access is Access.READ_ONLY
    for device in loop_device.find_all(image):
        if not loop_device.is_going(device) and block_device.is_read_only(device) == is_read_only:
            return device
    return None


def find_or_attach(image: Path, access: Access = Access.READ_WRITE) -> Path:
    """The device of `image`, attached if there is none.

    Raises: HostError; CallRefused when an unknown process has the image open for writing.
    """
    found = find(image, access)
    if found is not None:
        return found
    is_read_only = access is Access.READ_ONLY
    for device in loop_device.find_all(image):
        is_same = block_device.is_read_only(device) == is_read_only
        if is_same and loop_device.keep(device, image):
            return device
    if loop_device.find(image) is None and is_open_elsewhere(image, Opener.WRITER):
        text = f"{image} is open for writing elsewhere, perhaps by a device out of sight"
        raise CallRefused(PRECONDITION, text)
    return loop_device.attach(image, access)


def find_all(image: Path) -> list[Path]:
    """All devices of `image`. Raises: HostError."""
    return list(loop_device.find_all(image))


def detach(device: Path) -> None:
    """Repeated: success. Raises: HostError."""
    loop_device.detach(device)


def follow_size(image: Path) -> None:
    """Let the devices of `image` take its new size. Raises: HostError."""
    for device in loop_device.find_all(image):
        loop_device.follow_size(device)


def is_held(image: Path) -> bool:
    """Whether somebody may have its raw device, in whatever mount namespace. Raises: HostError."""
    return loop_device.find(image) is not None


def detach_all(image: Path) -> None:
    """Detach all devices of `image`; having none is success. Raises: HostError."""
    for device in loop_device.find_all(image):
        loop_device.detach(device)


def is_in_use(image: Path) -> bool:
    """Whether a device of `image` is mounted, in whatever namespace. Raises: HostError."""
    return any(_is_busy(device) for device in loop_device.find_all(image))


def is_open(image: Path) -> bool:
    """Whether anything has `image` open: a device, mounted or not, or a program.

    Raises: HostError.
    """
    return loop_device.find(image) is not None or bool(is_open_elsewhere(image, Opener.ANYBODY))


def wait_unmounted(*images: Path) -> bool:
    """Whether no device of these images is mounted, now or within five seconds.

    A container that starts has copies of all mounts for a while. The kernel does not report when
    they are gone, so this polls.
    Raises: HostError.
    """
    return _comes_true(lambda: not any(map(is_in_use, images)))


def is_soon_closed(image: Path) -> bool:
    """Whether `image` is not open, now or within five seconds. Raises: HostError."""
    return _comes_true(lambda: not is_open(image))


def _comes_true(is_so: Callable[[], bool]) -> bool:
    pause = Event()
    for _ in range(PAUSES):
        if is_so():
            return True
        pause.wait(PAUSE_SECONDS)
    return is_so()


def number_of(path: Path) -> int | None:
    """The device number of the file at `path`; None when it is missing."""
    try:
        return path.stat().st_rdev
    except (FileNotFoundError, NotADirectoryError):
        return None


def _is_busy(device: Path) -> bool:
    try:
        return block_device.is_busy(device)
    except KernelRefused as refused:
        if refused.errno in (errno.ENXIO, errno.ENOENT, errno.ENODEV):  # it was freed just now
            return False
        raise
