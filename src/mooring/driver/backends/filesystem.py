"""The file system of a volume: made once, grown when its image was, and mounted.

Whether to make one is decided by the driver's record alone. What the device holds is a second
opinion: `format_and_mount` of the host still refuses to write over anything that blkid knows.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from mooring.errors import HostError
from mooring.host import command, filesystem, resize
from mooring.host.contract import MountOps
from mooring.host.probe import Holds, describe, probe

# No discard: an image is zeros already, and one that was allocated shall stay so.
_FORMAT_OPTIONS = {"xfs": ("-q", "-K"), "btrfs": ("-q", "-K")}
_EXT4_OPTIONS = ("-q", "-e", "remount-ro")  # after an error, nothing more is written
_EXT4_LAZY = "nodiscard,lazy_itable_init=1,lazy_journal_init=1"
_PREZEROED_SINCE = (1, 47)  # e2fsprogs; tables of zeros stay holes in the image
_MOUNT_OPTIONS = {"xfs": ("nouuid",)}  # a copy has the identity of its source
_CORRECTED = 1  # the exit code of e2fsck that says so
_SYS_RESOURCE = 24  # the capability that growing a mounted ext4 takes
STATUS = Path("/proc/self/status")


class NotThere(HostError):
    """The device does not hold the file system that was made on it. It was left alone."""


class Mounting:
    """One device to be mounted at one path."""

    def __init__(self, mounts: MountOps, device: Path, target: Path, fs_type: str) -> None:
        self._mounts = mounts
        self._device = device
        self._target = target
        self._fs_type = fs_type

    def format_and_mount(self, flags: Sequence[str]) -> None:
        """Make the file system and mount it; what is there must never have been anybody's.

        Raises: HostError, also when the device holds anything that is known.
        """
        filesystem.format_and_mount(
            self._mounts,
            self._device,
            self._target,
            self._fs_type,
            _MOUNT_OPTIONS.get(self._fs_type, ()),
            sensitive=flags,
            format_options=format_options(self._fs_type),
        )

    def check(self) -> None:
        """Make sure that the file system is there, and whole.

        Raises: NotThere; HostError when it cannot be repaired.
        """
        found = probe(self._device)
        if found != Holds(self._fs_type):
            what = describe(found) or "nothing that is known"
            raise NotThere(f"{self._device} should hold {self._fs_type}, and holds {what}")
        filesystem.check_and_repair(self._device)

    def mount(self, *, is_read_only: bool, flags: Sequence[str]) -> None:
        """Mount it; `flags` are not told to anybody. Raises: HostError."""
        options = (*_MOUNT_OPTIONS.get(self._fs_type, ()), *(("ro",) if is_read_only else ()))
        self._mounts.mount(str(self._device), self._target, self._fs_type, options, sensitive=flags)

    def unmount(self) -> None:
        self._mounts.unmount(self._target)

    def grow(self) -> None:
        """Let it fill its device, mounted (for writing) as it is. Raises: HostError."""
        resize.resize(self._device, self._target)

    def grow_unmounted(self) -> None:
        """Let it fill its device; for ext4, which needs more rights to grow when it is mounted.

        Raises: HostError.
        """
        ended = command.run(["e2fsck", "-f", "-p", str(self._device)], seconds=None)
        if ended.code not in (0, _CORRECTED):
            raise ended.failed(f"e2fsck of {self._device}: {ended.status}: {ended.output}")
        resize.resize(self._device, self._target)


def format_options(fs_type: str) -> tuple[str, ...]:
    """What mkfs is told, for an image of zeros."""
    if fs_type != "ext4":
        return _FORMAT_OPTIONS[fs_type]
    prezeroed = ",assume_storage_prezeroed=1" if _e2fsprogs() >= _PREZEROED_SINCE else ""
    return (*_EXT4_OPTIONS, "-E", f"{_EXT4_LAZY}{prezeroed}")


def grows_mounted(fs_type: str) -> bool:
    """Whether this process may grow a mounted file system of this type."""
    if fs_type != "ext4":
        return True
    told = re.search(r"^CapEff:\s*([0-9a-f]+)", STATUS.read_text(), re.MULTILINE)
    return told is not None and bool(int(told[1], 16) >> _SYS_RESOURCE & 1)


def parse_version(output: str) -> tuple[int, int]:
    """Of what `mke2fs -V` prints; 0.0 when it is not there."""
    numbers = re.search(r"mke2fs (\d+)\.(\d+)", output)
    return (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)


@lru_cache(maxsize=1)
def _e2fsprogs() -> tuple[int, int]:
    return parse_version(command.run(["mke2fs", "-V"], seconds=10).output)
