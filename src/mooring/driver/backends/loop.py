"""The backend of loop devices: images are sparse files in the state directory.

Part of the free space on the disk is promised to volumes that are not full yet. A volume's promise
is its size less its allocated blocks; blocks that it shares with others count as not allocated,
since a write to them needs a copy.
"""

from collections.abc import Sequence
from pathlib import Path

from mooring.driver.backends import device, image
from mooring.driver.backends.contract import Backend
from mooring.driver.file_names import IMAGE, VOLUMES
from mooring.driver.records import SnapshotRecord, VolumeRecord
from mooring.host import usage

GRAIN_BYTES = 4096  # as with file systems


def loop_backend(root: Path) -> Backend:
    """For a state directory."""
    return Backend(image, device, DiskSpace(root))


class DiskSpace:
    """The file system that the state directory is on. Every method raises HostError."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @property
    def grain_bytes(self) -> int:
        return GRAIN_BYTES

    def total_bytes(self) -> int:
        return usage.of_filesystem(self._root).capacity_bytes

    def left_bytes(
        self,
        volumes: Sequence[VolumeRecord],
        snapshots: Sequence[SnapshotRecord],
        overcommit: float,
    ) -> int:
        left = self._unshared(snapshots, overcommit)
        for volume in volumes:
            own = self._allocated(volume.id) - volume.shared_bytes
            left -= max(0, volume.size_bytes - max(0, own))
        return left

    def left_at_least(
        self,
        volumes: Sequence[VolumeRecord],
        snapshots: Sequence[SnapshotRecord],
        overcommit: float,
    ) -> int:
        """As if no volume had a block yet."""
        promised = sum(volume.size_bytes for volume in volumes)
        return self._unshared(snapshots, overcommit) - promised

    def full(self) -> str:
        if usage.of_filesystem(self._root).available_bytes:
            return ""
        return f"the disk of {self._root} is full"

    def _unshared(self, snapshots: Sequence[SnapshotRecord], overcommit: float) -> int:
        """Free space, without what is kept for blocks that snapshots share with volumes."""
        free = int(usage.of_filesystem(self._root).available_bytes * overcommit)
        return free - sum(snapshot.shared_bytes for snapshot in snapshots)

    def _allocated(self, volume_id: str) -> int:
        try:
            return image.allocated_bytes(self._root / VOLUMES / volume_id / IMAGE)
        except FileNotFoundError:
            return 0  # being deleted, or lost: reported in its condition
