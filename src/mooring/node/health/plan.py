"""The steps of a node that tells of health."""

from enum import StrEnum
from typing import TypeAlias

import msgspec

from mooring.model import steps
from mooring.model.csi_node import CsiNode
from mooring.model.health import PodVolumeHealth, StorageHealth
from mooring.model.pod import Pod
from mooring.model.steps import Emit


class Reason(StrEnum):
    ABNORMAL = "VolumeConditionAbnormal"
    NORMAL = "VolumeConditionNormal"


class WritePodHealth(msgspec.Struct, frozen=True):
    """Replace `status.volumeHealth` of the pod."""

    pod: Pod
    entries: tuple[PodVolumeHealth, ...]


class WriteStorageHealth(msgspec.Struct, frozen=True):
    """Replace `status.storageHealth` of the CSINode."""

    csi_node: CsiNode
    entries: tuple[StorageHealth, ...]


Step: TypeAlias = Emit | WritePodHealth | WriteStorageHealth
Plan: TypeAlias = steps.Plan[Step]
