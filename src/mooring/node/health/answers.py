"""What a driver's answer says, in the words of the API. Pure."""

from collections.abc import Iterable

from mooring.csi.capability import Block, WireMode
from mooring.csi.volume import Condition
from mooring.csi.volume_health import StorageEntry, StorageTrouble, VolumeHealth, VolumeTrouble
from mooring.errors import MooringError
from mooring.model.health import (
    MOST_CONDITIONS,
    HealthCondition,
    StorageCondition,
    cut,
    is_acceptable,
)
from mooring.model.storage_terms import AccessMode, VolumeMode
from mooring.node.health.plan import Reason

_VOLUME_WORDS = {
    VolumeTrouble.DEGRADED: "Degraded",
    VolumeTrouble.INACCESSIBLE: "Inaccessible",
    VolumeTrouble.DATA_LOSS: "DataLoss",
}
_STORAGE_WORDS = {
    StorageTrouble.STORAGE_DEGRADED: "StorageDegraded",
    StorageTrouble.STORAGE_UNREACHABLE: "StorageUnreachable",
}
_MODES = {
    WireMode.SINGLE_NODE_WRITER: AccessMode.ONCE,
    WireMode.SINGLE_NODE_READER_ONLY: AccessMode.ONCE,
    WireMode.SINGLE_NODE_MULTI_WRITER: AccessMode.ONCE,
    WireMode.SINGLE_NODE_SINGLE_WRITER: AccessMode.ONCE_POD,
    WireMode.MULTI_NODE_READER_ONLY: AccessMode.READ_ONLY_MANY,
    WireMode.MULTI_NODE_SINGLE_WRITER: AccessMode.MANY,
    WireMode.MULTI_NODE_MULTI_WRITER: AccessMode.MANY,
}


class BadAnswer(MooringError):
    """The answer of a driver, of which nothing is taken."""


def of_volume(health: VolumeHealth) -> tuple[HealthCondition, ...]:
    return tuple(
        HealthCondition(_VOLUME_WORDS[one.status], one.reason, one.message)
        for one in health.entries
    )


def of_condition(condition: Condition) -> tuple[HealthCondition, ...]:
    """As CSI up to 1.12 has it: abnormal means that it is not working as it should."""
    if not condition.abnormal:
        return ()
    return (HealthCondition("Degraded", Reason.ABNORMAL.value, condition.message),)


def of_storage(entries: Iterable[StorageEntry]) -> tuple[StorageCondition, ...]:
    """Raises: BadAnswer."""
    told = tuple(_storage(one) for one in entries if is_acceptable(one.reason))
    if len(told) > MOST_CONDITIONS:
        raise BadAnswer(f"{len(told)} conditions of its storage, more than {MOST_CONDITIONS}")
    return told


def _storage(entry: StorageEntry) -> StorageCondition:
    access: str | None = None
    volume: str | None = None
    if entry.capability is not None:
        mode = _MODES.get(entry.capability.mode)
        if mode is None:
            raise BadAnswer("a condition of its storage has a capability without an access mode")
        is_block = isinstance(entry.capability.access, Block)
        access = mode.value
        volume = (VolumeMode.BLOCK if is_block else VolumeMode.FILESYSTEM).value
    status = _STORAGE_WORDS[entry.status]
    return StorageCondition(status, entry.reason, cut(entry.message), access, volume)
