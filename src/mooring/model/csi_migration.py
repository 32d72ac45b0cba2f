"""In-tree plugins that a CSI driver has taken over: their volumes are the driver's now."""

from collections.abc import Mapping
from typing import Final

import msgspec

from mooring.model.volume_source import PersistentSources
from mooring.model.wellknown import Plugin


class Migration(msgspec.Struct, frozen=True):
    plugin: str
    driver: str


DRIVERS: Final[Mapping[str, str]] = {
    Plugin.AWS_EBS: "ebs.csi.aws.com",
    Plugin.AZURE_DISK: "disk.csi.azure.com",
    Plugin.AZURE_FILE: "file.csi.azure.com",
    Plugin.CINDER: "cinder.csi.openstack.org",
    Plugin.GCE_PD: "pd.csi.storage.gke.io",
    Plugin.PORTWORX: "pxd.portworx.com",
    Plugin.VSPHERE: "csi.vsphere.vmware.com",
}
"""By the name of the in-tree plugin."""

_PLUGINS: Final[Mapping[str, str]] = {
    "awsElasticBlockStore": Plugin.AWS_EBS,
    "azureDisk": Plugin.AZURE_DISK,
    "azureFile": Plugin.AZURE_FILE,
    "cinder": Plugin.CINDER,
    "gcePersistentDisk": Plugin.GCE_PD,
    "portworxVolume": Plugin.PORTWORX,
    "vsphereVolume": Plugin.VSPHERE,
}
"""By the source's field in a volume's spec."""


def find_migration(sources: PersistentSources) -> Migration | None:
    """The migration that applies to a volume with these sources, if any."""
    source = sources.find_source()
    plugin = _PLUGINS.get(source[0]) if source else None
    return None if plugin is None else Migration(plugin, DRIVERS[plugin])
