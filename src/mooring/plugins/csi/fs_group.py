"""Whether the kubelet, the driver or neither applies the pod's fsGroup to a volume. Pure."""

from mooring.csi.capability import NodeCapability
from mooring.model.csi_driver import FsGroupPolicy
from mooring.model.storage_terms import AccessMode
from mooring.model.volume_use import VolumeUse

_WRITTEN_ON_ONE_NODE = {AccessMode.ONCE, AccessMode.ONCE_POD}


def mount_group(capabilities: frozenset[NodeCapability], fs_group: int | None) -> str:
    """The group that the driver itself shall mount the files for; "" when it is not its affair."""
    delegates = NodeCapability.VOLUME_MOUNT_GROUP in capabilities
    return str(fs_group) if delegates and fs_group is not None else ""


def node_gives_to_group(
    policy: FsGroupPolicy, use: VolumeUse, fs_type: str, *, read_only: bool
) -> bool:
    """Whether the node walks the files, of a driver that does not do it itself."""
    if read_only or policy == FsGroupPolicy.NONE:
        return False
    if policy == FsGroupPolicy.FILE:
        return True
    if not fs_type:
        return False  # perhaps files on a server, which have owners of their own
    is_inline = use.volume is None  # those are always written on one node
    return is_inline or not _WRITTEN_ON_ONE_NODE.isdisjoint(use.access_modes)
