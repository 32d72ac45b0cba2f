"""What a decision on health looks at."""

from collections.abc import Mapping

import msgspec

from mooring.model.csi_node import CsiNode
from mooring.model.health import HealthCondition, PodVolumeHealth, StorageCondition
from mooring.model.pod import Pod


class PodView(msgspec.Struct, frozen=True):
    """One pod, and what drivers have just said of its volumes."""

    pod: Pod
    known: tuple[PodVolumeHealth, ...]  # what was told last
    said: Mapping[str, tuple[HealthCondition, ...]]  # by name in the pod; unanswered: left out
    now: str


class StorageView(msgspec.Struct, frozen=True):
    """This node's CSINode, and what one driver has just said of its storage."""

    csi_node: CsiNode
    driver: str
    said: tuple[StorageCondition, ...]
    now: str
