"""Health of volumes and backends, as CSI 1.13 has it; drivers up to 1.12 have a `Condition`."""

from enum import IntEnum

import msgspec

from mooring.csi.capability import VolumeCapability


class VolumeTrouble(IntEnum):
    DEGRADED = 1
    INACCESSIBLE = 2
    DATA_LOSS = 3


class StorageTrouble(IntEnum):
    STORAGE_DEGRADED = 1
    STORAGE_UNREACHABLE = 2


class HealthEntry(msgspec.Struct, frozen=True):
    """One adverse condition of a volume; status and reason together are its key."""

    status: VolumeTrouble
    reason: str  # CamelCase
    message: str = ""


class VolumeHealth(msgspec.Struct, frozen=True):
    volume_id: str
    entries: tuple[HealthEntry, ...] = ()  # none: nothing bad is known


class StorageEntry(msgspec.Struct, frozen=True):
    """One adverse condition of a storage backend, seen from a node."""

    status: StorageTrouble
    reason: str
    message: str = ""
    capability: VolumeCapability | None = None  # None: of any volume
