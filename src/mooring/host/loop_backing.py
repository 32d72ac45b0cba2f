"""The backing files of this machine's loop devices, known by device and inode number.

The path in sysfs is that of the mount namespace in which a device was set up; in another one it
may name nothing, or another file. So every device in use is asked for its file by an ioctl. The
answer is cached: the kernel counts how often a disk got another medium (`diskseq`, since Linux
5.15), and the answer holds while the count is the same.
"""

import fcntl
import os
import queue
import struct
import threading
from pathlib import Path
from typing import NamedTuple

from mooring import log
from mooring.host.refusal import refusals

_log = log.get("mooring.host.loop_device")

SYSFS = Path("/sys/block")
ANSWER_SECONDS = 5.0  # a device on a file system that hangs does not answer at all

GET_STATUS64 = 0x4C05
INFO = struct.Struct("QQ36xI64s112x")  # loop_info64: device and inode of the backing, flags, name


class Backing(NamedTuple):
    """The file behind a loop device, and the name given to it when it was set up."""

    device: int
    inode: int
    given_name: bytes


class _Known(NamedTuple):
    medium: str
    backing: Backing | None  # None: the device has not answered


_known: dict[str, _Known] = {}  # by the name of the device; as many as there are on the machine
_lock = threading.Lock()


def used_devices() -> list[str]:
    """The names of the loop devices that have a backing file. Raises: HostError."""
    with refusals(f"list {SYSFS}"):
        found = [name for name in os.listdir(SYSFS) if name.startswith("loop")]
    used = [name for name in found if sysfs_backing_path(name)]
    with _lock:
        for name in _known.keys() - set(used):
            del _known[name]
    return used


def sysfs_backing_path(device: str) -> str:
    """The backing path in sysfs; empty for a device that is free or is being freed."""
    try:
        told = (SYSFS / device / "loop" / "backing_file").read_bytes()
    except OSError:
        return ""
    return os.fsdecode(told.removesuffix(b"\n"))


def backing_of(device: str) -> Backing | None:
    """The file behind a device; None when it is free, or does not answer.

    A device that does not answer hangs on its file system. It is not asked again until it has
    another backing file; a late answer is still used.
    """
    medium = _medium(device)
    with _lock:
        known = _known.get(device)
    if known is not None and known.medium == medium:
        return known.backing
    answers: queue.SimpleQueue[Backing | None] = queue.SimpleQueue()
    asking = threading.Thread(target=_learn, args=(device, medium, answers), daemon=True)
    asking.start()
    try:
        return answers.get(timeout=ANSWER_SECONDS)
    except queue.Empty:
        _log.warning(
            "a loop device does not answer", device=device, backing=sysfs_backing_path(device)
        )
        _remember(device, medium, None)
        return None


def ask(device: Path) -> Backing | None:
    """Ask the kernel, past the cache; None when the device is free or cannot be opened."""
    info = bytearray(INFO.size)
    try:
        descriptor = os.open(device, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.ioctl(descriptor, GET_STATUS64, info)
        finally:
            os.close(descriptor)
    except OSError:
        return None
    on_device, inode, _, name = INFO.unpack(info)
    return Backing(on_device, inode, name.rstrip(b"\0"))


def _learn(device: str, medium: str, answers: "queue.SimpleQueue[Backing | None]") -> None:
    backing = ask(Path("/dev") / device)
    if _medium(device) == medium:
        if medium.isdecimal() and backing is not None:
            _remember(device, medium, backing)
        else:
            _forget(device)  # a late answer, after the device was given up
    answers.put(backing)


def _remember(device: str, medium: str, backing: Backing | None) -> None:
    with _lock:
        known = _known.get(device)
        if backing is not None or known is None or known.medium != medium:
            _known[device] = _Known(medium, backing)


def _forget(device: str) -> None:
    with _lock:
        _known.pop(device, None)


def _medium(device: str) -> str:
    """Its diskseq, or on kernels without one its backing path.

    A path may come to mean another file, so no answer is cached under it, only a missing answer.
    """
    try:
        return (SYSFS / device / "diskseq").read_text().strip()
    except OSError:
        return f"/{sysfs_backing_path(device)}"
