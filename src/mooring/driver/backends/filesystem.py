"""The file system of a volume: made once, grown with its image, and mounted.

Only the driver's record decides whether to format. As a second check, the host's
`format_and_mount` refuses to write over anything that blkid recognizes.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from mooring.errors import HostError
from mooring.host import command, filesystem, resize
from mooring.host.contract import MountOps
from mooring.host.probe import Holds, describe, probe

# No discard: an image is zeros already, and an allocated one must keep its blocks.
_FORMAT_OPTIONS = {"xfs": ("-q", "-K"), "btrfs": ("-q", "-K")}
_EXT4_OPTIONS = ("-q", "-e", "remount-ro")  # read-only after an error
_EXT4_LAZY = "nodiscard,lazy_itable_init=1,lazy_journal_init=1"
_PREZEROED_SINCE = (1, 47)  # e2fsprogs; tables of zeros stay holes in the image
_MOUNT_OPTIONS = {"xfs": ("nouuid",)}  # a copy has the UUID of its source
_CORRECTED = 1  # e2fsck's exit code for corrected errors
_SYS_RESOURCE = 24  # CAP_SYS_RESOURCE, needed to grow a mounted ext4
STATUS = Path("/proc/self/status")


class NotThere(HostError):
    """The device does not hold the recorded file system. It was left alone."""


class Mounting:
    """One device to be mounted at one path."""

    def __init__(self, mounts: MountOps, device: Path, target: Path, fs_type: str) -> None:
        self._mounts = mounts
        self._device = device
        self._target = target
        self._fs_type = fs_type

    def format_and_mount(self, flags: Sequence[str]) -> None:
        """Make the file system and mount it. Before: the device holds no user's data.

        Raises: HostError, also when blkid recognizes anything on the device.
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
        """Check that the file system is there, and repair it if needed.

        Raises: NotThere; HostError when it cannot be repaired.
        """
        found = probe(self._device)
        if found != Holds(self._fs_type):
            what = describe(found) or "nothing that is known"
            raise NotThere(f"{self._device} should hold {self._fs_type}, and holds {what}")
        filesystem.check_and_repair(self._device)

    def mount(self, *, is_read_only: bool, flags: Sequence[str]) -> None:
        """Mount it; `flags` do not appear in errors or logs. Raises: HostError."""
        options = (*_MOUNT_OPTIONS.get(self._fs_type, ()), *(("ro",) if is_read_only else ()))
        self._mounts.mount(str(self._device), self._target, self._fs_type, options, sensitive=flags)

    def unmount(self) -> None:
        self._mounts.unmount(self._target)

    def grow(self) -> None:
        """Grow the mounted, writable file system to its device. Raises: HostError."""
        resize.resize(self._device, self._target)

    def grow_unmounted(self) -> None:
        """Grow the unmounted file system to its device; for ext4, which needs CAP_SYS_RESOURCE to
        grow while mounted. Raises: HostError.
        """
        ended = command.run(["e2fsck", "-f", "-p", str(self._device)], seconds=None)
        if ended.code not in (0, _CORRECTED):
            raise ended.failed(f"e2fsck of {self._device}: {ended.status}: {ended.output}")
        resize.resize(self._device, self._target)


def format_options(fs_type: str) -> tuple[str, ...]:
    """The options of mkfs for an image of zeros."""
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
    """The version in the output of `mke2fs -V`; 0.0 when there is none."""
    numbers = re.search(r"mke2fs (\d+)\.(\d+)", output)
    return (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)


@lru_cache(maxsize=1)
def _e2fsprogs() -> tuple[int, int]:
    return parse_version(command.run(["mke2fs", "-V"], seconds=10).output)
