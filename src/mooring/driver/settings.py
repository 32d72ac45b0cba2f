"""The driver's settings and its name."""

from pathlib import Path

import msgspec

from mooring.errors import UsageError
from mooring.model.names import label_value

NAME = "loop.csi.mooring.dev"
TOPOLOGY_KEY = f"topology.{NAME}/node"
KUBERNETES_PREFIX = "csi.storage.k8s.io/"  # parameters of sidecars and kubelet

MIB = 1 << 20
GIB = 1 << 30
FREEZE_SECONDS = 10.0
LONGEST_FREEZE_SECONDS = 600.0


class DriverSettings(msgspec.Struct, frozen=True):
    node_id: str  # of the one machine that reaches the volumes
    state_dir: Path
    max_volumes: int = 0  # that may be attached to the node; 0: no limit
    overcommit: float = 1.0  # bytes promised per byte of disk space
    freeze_seconds: float = FREEZE_SECONDS  # how long writers may wait while a volume is copied
    inline_dir: Path | None = None  # where inline volumes are staged; None: in the state directory
    stands_in_for: str = ""  # the driver whose name and volume ids it has; empty: its own

    @property
    def name(self) -> str:
        return self.stands_in_for or NAME


def checked(settings: DriverSettings) -> DriverSettings:
    """The settings, validated. Raises: UsageError."""
    problem = next(iter(label_value(settings.node_id)), "") if settings.node_id else "it is empty"
    if problem:
        raise UsageError(f"{settings.node_id!r} cannot be a --node-id: {problem}")
    if settings.max_volumes < 0:
        raise UsageError(f"--max-volumes cannot be negative: {settings.max_volumes}")
    if settings.overcommit <= 0:
        raise UsageError(f"--overcommit must be more than 0: {settings.overcommit:g}")
    if not 0 < settings.freeze_seconds <= LONGEST_FREEZE_SECONDS:
        longest = f"{LONGEST_FREEZE_SECONDS:g}"
        text = f"--freeze-seconds must be more than 0, and {longest} at most"
        raise UsageError(f"{text}: {settings.freeze_seconds:g}")
    return settings
