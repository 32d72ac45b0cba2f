"""What speaks against a mount before anything is touched."""

from mooring.model.volume_use import VolumeUse
from mooring.node.actual import ActualVolume
from mooring.node.context import OwnNode
from mooring.node.desired import WantedBy
from mooring.plugins.contract import VolumeError


def check_node_affinity(use: VolumeUse, own_node: OwnNode) -> None:
    """Raises: VolumeError when the volume is not for this node."""
    affinity = None if use.volume is None else use.volume.spec.node_affinity
    if affinity is None or affinity.required is None:
        return
    fields = {"metadata.name": own_node.name}
    if not affinity.required.matches(own_node.labels(), fields):
        raise VolumeError("no matching NodeSelectorTerms")


def check_alone(here: ActualVolume | None, by: WantedBy) -> None:
    """Raises: VolumeError when a volume for one pod is, or may be, mounted for another."""
    if here is None or not by.use.is_for_one_pod:
        return
    if any(uid != by.pod.uid for uid in here.pods):
        raise VolumeError(
            "volume uses the ReadWriteOncePod access mode and is already in use by another pod"
        )
