"""What drivers say of the health of volumes and of storage backends (KEP-1432)."""

import re
from collections.abc import Iterable

from mooring.model.wire import Wire

MOST_CONDITIONS = 16
LONGEST_REASON = 256  # bytes
LONGEST_MESSAGE = 1024

_is_reason = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?").fullmatch


class HealthCondition(Wire, frozen=True):
    """An adverse condition of a volume: Inaccessible, DataLoss or Degraded."""

    status: str
    reason: str
    message: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return (self.status, self.reason)


class PodVolumeHealth(Wire, frozen=True):
    """Of one volume of a pod, as its node sees it; no condition: it has recovered."""

    name: str  # in the pod
    health_conditions: tuple[HealthCondition, ...] = ()
    last_transition_time: str | None = None


class StorageCondition(Wire, frozen=True):
    """An adverse condition of a backend: StorageUnreachable or StorageDegraded."""

    status: str
    reason: str
    message: str = ""
    access_mode: str | None = None  # None: of volumes with any
    volume_mode: str | None = None
    last_transition_time: str | None = None

    @property
    def key(self) -> tuple[str, str, str, str]:
        return (self.status, self.reason, self.access_mode or "", self.volume_mode or "")


class StorageHealth(Wire, frozen=True):
    """Of the backends of one driver, as a node sees them."""

    name: str  # of the driver
    health_conditions: tuple[StorageCondition, ...] = ()


def acceptable(conditions: Iterable[HealthCondition]) -> tuple[HealthCondition, ...]:
    """Those that an API server takes: each once, in order, cut to length."""
    kept: dict[tuple[str, str], HealthCondition] = {}
    for one in conditions:
        if is_acceptable(one.reason):
            short = HealthCondition(one.status, one.reason, cut(one.message))
            kept.setdefault(one.key, short)
    return tuple(kept[key] for key in sorted(kept))[:MOST_CONDITIONS]


def is_acceptable(reason: str) -> bool:
    return len(reason.encode()) <= LONGEST_REASON and _is_reason(reason) is not None


def cut(message: str) -> str:
    return message.encode()[:LONGEST_MESSAGE].decode(errors="ignore")


def keys(conditions: Iterable[HealthCondition]) -> frozenset[tuple[str, str]]:
    return frozenset(one.key for one in conditions)
