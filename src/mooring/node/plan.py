"""The operations that a plan for one volume may hold, and which of them exclude each other."""

from typing import ClassVar

import msgspec


class _Operation(msgspec.Struct, frozen=True):
    """Something to do with a volume; `label` names it in metrics.

    It excludes every other operation on the volume, unless it is one pod's alone: those exclude
    only what concerns the same pod, or the whole volume.
    """

    volume: str
    pod_uid: str = ""  # the pod concerned, if any

    label: ClassVar[str] = ""
    is_one_pods: ClassVar[bool] = False
    takes_away: ClassVar[bool] = False  # from a pod

    @property
    def holds(self) -> str:
        """The pod that it excludes others from; "" when it is the whole volume."""
        return self.pod_uid if self.is_one_pods else ""


class VerifyAttached(_Operation, frozen=True):
    """Make sure that the attach/detach controller has attached it."""

    label: ClassVar = "verify_controller_attached_volume"


class Attach(_Operation, frozen=True):
    """Attach it from here; only where no controller does."""

    label: ClassVar = "volume_attach"


class Detach(_Operation, frozen=True):
    label: ClassVar = "volume_detach"


class Mount(_Operation, frozen=True):
    label: ClassVar = "volume_mount"


class Map(_Operation, frozen=True):
    """Show a pod the device of a block volume."""

    label: ClassVar = "map_volume"


class Grow(_Operation, frozen=True):
    label: ClassVar = "volume_fs_resize"


class Unmount(_Operation, frozen=True):
    label: ClassVar = "volume_unmount"
    is_one_pods: ClassVar = True
    takes_away: ClassVar = True


class Unmap(_Operation, frozen=True):
    label: ClassVar = "unmap_volume"
    is_one_pods: ClassVar = True
    takes_away: ClassVar = True


class UnmountDevice(_Operation, frozen=True):
    label: ClassVar = "unmount_device"


class UnmapDevice(_Operation, frozen=True):
    label: ClassVar = "unmap_device"


class Forget(_Operation, frozen=True):
    """Nothing of the volume is left on this machine."""

    label: ClassVar = "forget"


Operation = (
    VerifyAttached
    | Attach
    | Detach
    | Mount
    | Map
    | Grow
    | Unmount
    | Unmap
    | UnmountDevice
    | UnmapDevice
    | Forget
)


class Plan(msgspec.Struct, frozen=True):
    because: str
    operations: tuple[Operation, ...] = ()


def plan(because: str, *operations: Operation) -> Plan:
    return Plan(because, operations)
