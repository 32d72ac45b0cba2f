"""Old in-tree volumes that a CSI driver has taken over: how it counts them, where they can be used.

Only those that upstream's scheduler treats so. What a node has taken over, its CSINode says.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from mooring.model.csi_migration import DRIVERS
from mooring.model.csi_node import CsiNode
from mooring.model.csi_translation import topology
from mooring.model.csi_translation.registry import BY_PLUGIN
from mooring.model.pod import Pod
from mooring.model.pod_volume import PodVolume
from mooring.model.volume import Volume
from mooring.model.wellknown import Plugin


class InTree(msgspec.Struct, frozen=True):
    plugin: str
    goes_by_zone: bool = False  # its zones are translated to the driver's

    @property
    def driver(self) -> str:
        return DRIVERS[self.plugin]

    def is_counted(self, csi: CsiNode | None) -> bool:
        """Whether the driver's limit on this node counts such volumes."""
        if csi is None:
            return False
        return self.plugin != Plugin.PORTWORX or self.plugin in csi.migrated_plugins


_BY_SOURCE: Final[Mapping[str, InTree]] = {
    "awsElasticBlockStore": InTree(Plugin.AWS_EBS, goes_by_zone=True),
    "azureDisk": InTree(Plugin.AZURE_DISK),
    "cinder": InTree(Plugin.CINDER, goes_by_zone=True),
    "gcePersistentDisk": InTree(Plugin.GCE_PD, goes_by_zone=True),
    "portworxVolume": InTree(Plugin.PORTWORX),
}
"""By the name that the source has in the API."""

_DISKS = frozenset({*_BY_SOURCE, "iscsi", "rbd"})

_BY_PLUGIN = {known.plugin: known for known in _BY_SOURCE.values()}


def disks_of(pod: Pod) -> Iterator[PodVolume]:
    """The inline volumes of a pod that are attached to its node."""
    for volume in pod.spec.volumes:
        if pod.find_claim_name(volume) is None:
            found = volume.find_source()
            if found is not None and found[0] in _DISKS:
                yield volume


def find_plugin(provisioner: str) -> InTree | None:
    return _BY_PLUGIN.get(provisioner)


def find_in_tree(volume: Volume | PodVolume) -> InTree | None:
    """What kind of old volume this is; None for all others."""
    found = (volume.spec if isinstance(volume, Volume) else volume).find_source()
    return None if found is None else _BY_SOURCE.get(found[0])


def is_reachable(volume: Volume, labels: Mapping[str, str], csi: CsiNode | None) -> bool:
    """Whether a node may use the volume: its labels must be those that the volume asks for.

    On a node where a driver has taken over the volume's plugin, zones go by the driver's label.
    """
    found = find_in_tree(volume) if csi is not None and csi.migrated_plugins else None
    if found is not None and csi is not None and found.plugin in csi.migrated_plugins:
        zone_key = BY_PLUGIN[found.plugin].zone_key
        volume = topology.to_csi(volume, zone_key) if found.goes_by_zone else volume
    affinity = volume.spec.node_affinity
    selector = affinity.required if affinity is not None else None
    return selector is None or selector.matches_labels(labels)
