"""Volumes and snapshots as drivers return them."""

from collections.abc import Mapping
from datetime import datetime
from enum import IntEnum

import msgspec

from mooring.csi.topology import Topology


class CapacityRange(msgspec.Struct, frozen=True):
    required_bytes: int = 0  # 0: no lower bound
    limit_bytes: int = 0  # 0: no upper bound


class FromSnapshot(msgspec.Struct, frozen=True):
    snapshot_id: str


class FromVolume(msgspec.Struct, frozen=True):
    volume_id: str


ContentSource = FromSnapshot | FromVolume


class Volume(msgspec.Struct, frozen=True):
    volume_id: str
    capacity_bytes: int = 0  # 0: the driver does not say
    context: Mapping[str, str] = msgspec.field(default_factory=dict)
    source: ContentSource | None = None
    topologies: tuple[Topology, ...] = ()


class Condition(msgspec.Struct, frozen=True):
    abnormal: bool
    message: str


class VolumeState(msgspec.Struct, frozen=True):
    """A volume with what the driver knows of its use."""

    volume: Volume
    published_node_ids: tuple[str, ...] = ()
    condition: Condition | None = None


class Snapshot(msgspec.Struct, frozen=True):
    snapshot_id: str
    source_volume_id: str
    created: datetime
    created_nanoseconds: int  # since 1970, more exact than `created`; 0: not said
    ready_to_use: bool
    size_bytes: int = 0
    group_snapshot_id: str = ""
    topologies: tuple[Topology, ...] = ()  # where it can be restored; empty: anywhere


class GroupSnapshot(msgspec.Struct, frozen=True):
    """Snapshots of several volumes, taken at one moment."""

    group_snapshot_id: str
    snapshots: tuple[Snapshot, ...]
    created: datetime
    created_nanoseconds: int  # since 1970; 0: the driver does not say
    ready_to_use: bool


class Unit(IntEnum):
    BYTES = 1
    INODES = 2


class Usage(msgspec.Struct, frozen=True):
    unit: Unit
    total: int
    available: int = 0
    used: int = 0


class VolumeStats(msgspec.Struct, frozen=True):
    usage: tuple[Usage, ...] = ()
    condition: Condition | None = None

    def find(self, unit: Unit) -> Usage | None:
        return next((usage for usage in self.usage if usage.unit is unit), None)
