"""The driver's settings and its name."""

from pathlib import Path

import msgspec

from mooring.errors import UsageError
from mooring.host.lvm import is_lvm_name
from mooring.model.names import csi_driver_name, label_value

NAME = "loop.csi.mooring.dev"
LVM_NAME = "lvm.csi.mooring.dev"
TOPOLOGY_KEY = f"topology.{NAME}/node"
KUBERNETES_PREFIX = "csi.storage.k8s.io/"  # parameters of sidecars and kubelet

MIB = 1 << 20
GIB = 1 << 30
FREEZE_SECONDS = 10.0
LONGEST_FREEZE_SECONDS = 600.0


class ThinPool(msgspec.Struct, frozen=True):
    """Of LVM. The pool may be empty: then the only one of the group is meant."""

    volume_group: str
    name: str = ""


class DriverSettings(msgspec.Struct, frozen=True):
    node_id: str  # of the one machine that reaches the volumes
    state_dir: Path
    max_volumes: int = 0  # that may be attached to the node; 0: no limit
    overcommit: float = 1.0  # bytes promised per byte of disk space
    freeze_seconds: float = FREEZE_SECONDS  # how long writers may wait while a volume is copied
    inline_dir: Path | None = None  # where inline volumes are staged; None: in the state directory
    stands_in_for: str = ""  # the driver whose name and volume ids it has; empty: its own
    pool: ThinPool | None = None  # where volumes are logical volumes; None: loop devices
    given_name: str = ""  # to serve under; empty: that of the backend

    @property
    def own_name(self) -> str:
        return self.given_name or (NAME if self.pool is None else LVM_NAME)

    @property
    def name(self) -> str:
        return self.stands_in_for or self.own_name

    @property
    def topology_key(self) -> str:
        return f"topology.{self.own_name}/node"


def checked(settings: DriverSettings) -> DriverSettings:
    """The settings, validated. Raises: UsageError."""
    problem = next(iter(label_value(settings.node_id)), "") if settings.node_id else "it is empty"
    if problem:
        raise UsageError(f"{settings.node_id!r} cannot be a --node-id: {problem}")
    if settings.pool is not None:
        _check_pool(settings.pool)
    if settings.given_name and (problem := next(iter(csi_driver_name(settings.given_name)), "")):
        raise UsageError(f"{settings.given_name!r} cannot be a --driver-name: {problem}")
    if settings.max_volumes < 0:
        raise UsageError(f"--max-volumes cannot be negative: {settings.max_volumes}")
    if settings.overcommit <= 0:
        raise UsageError(f"--overcommit must be more than 0: {settings.overcommit:g}")
    if not 0 < settings.freeze_seconds <= LONGEST_FREEZE_SECONDS:
        longest = f"{LONGEST_FREEZE_SECONDS:g}"
        text = f"--freeze-seconds must be more than 0, and {longest} at most"
        raise UsageError(f"{text}: {settings.freeze_seconds:g}")
    return settings


def _check_pool(pool: ThinPool) -> None:
    for flag, name in (("--volume-group", pool.volume_group), ("--thin-pool", pool.name)):
        if not is_lvm_name(name) and not (name == "" and flag == "--thin-pool"):
            text = "letters, digits and + _ . - are, and no - at its begin"
            raise UsageError(f"{name!r} cannot be a {flag}: {text}")
