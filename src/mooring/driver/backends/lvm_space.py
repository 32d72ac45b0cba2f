"""The room in a thin pool.

Each volume may come to need as many blocks as it has bytes, and each snapshot those that it shares
with its volume, once that is written to. Thin volumes of others in the pool count as well.
"""

from collections.abc import Sequence

from mooring.clock import Clock
from mooring.driver.backends.lvm_home import Home
from mooring.driver.records import SnapshotRecord, VolumeRecord
from mooring.errors import HostError
from mooring.host.lvm import LogicalVolume, Lvm

RECENT_SECONDS = 2.0  # how old what is told of the pool's health may be
_FULL = 100.0


class PoolSpace:
    """`Space`."""

    def __init__(self, lvm: Lvm, home: Home, extent_bytes: int, clock: Clock) -> None:
        self._lvm = lvm
        self._home = home
        self._extent = extent_bytes
        self._clock = clock
        self._health = (-RECENT_SECONDS, "")  # when it was asked for, and the answer

    @property
    def grain_bytes(self) -> int:
        return self._extent

    def total_bytes(self) -> int:
        return self._pool(self._lvm.volumes()).size_bytes

    def left_bytes(
        self,
        volumes: Sequence[VolumeRecord],
        snapshots: Sequence[SnapshotRecord],
        overcommit: float,
    ) -> int:
        told = self._lvm.volumes()
        pool = self._pool(told)
        promised = sum(one.size_bytes for one in volumes)
        promised += sum(one.shared_bytes for one in snapshots)
        promised += sum(
            one.size_bytes
            for one in told.values()
            if one.pool == pool.name and not self._home.is_ours(one)
        )
        used = pool.data_percent or 0.0
        free = int(pool.size_bytes * (_FULL - used) / _FULL * overcommit)
        left = min(int(pool.size_bytes * overcommit) - promised, free)
        return left // self._extent * self._extent

    def left_at_least(
        self,
        volumes: Sequence[VolumeRecord],
        snapshots: Sequence[SnapshotRecord],
        overcommit: float,
    ) -> int:
        return self.left_bytes(volumes, snapshots, overcommit)

    def full(self) -> str:
        """A list of volumes asks once for each: an answer is used for a moment."""
        asked, text = self._health
        if self._clock.monotonic() - asked >= RECENT_SECONDS:
            text = find_trouble(self._lvm.group, self._pool(self._lvm.volumes()))
            self._health = (self._clock.monotonic(), text)
        return text

    def _pool(self, told: dict[str, LogicalVolume]) -> LogicalVolume:
        pool = told.get(self._home.pool)
        if pool is None:
            raise HostError(f"the thin pool {self._lvm.group}/{self._home.pool} is gone")
        return pool


def find_trouble(group: str, pool: LogicalVolume) -> str:
    """What is wrong with a pool; empty: nothing."""
    name = f"{group}/{pool.name}"
    if (pool.data_percent or 0.0) >= _FULL:
        return f"the thin pool {name} is full: writes fail until it is extended (lvextend {name})"
    if (pool.metadata_percent or 0.0) >= _FULL:
        how = f"lvextend --poolmetadatasize +1G {name}"
        return f"the metadata of the thin pool {name} is full: extend it ({how})"
    return f"LVM says of the thin pool {name}: {pool.trouble}" if pool.trouble else ""
