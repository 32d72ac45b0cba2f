"""Which CSI driver has taken over a volume of an old in-tree kind."""

from collections.abc import Mapping

import msgspec

from mooring.model.volume import Volume
from mooring.model.wellknown import Plugin


class Migration(msgspec.Struct, frozen=True):
    plugin: str
    driver: str


MIGRATIONS: Mapping[str, Migration] = {
    "awsElasticBlockStore": Migration(Plugin.AWS_EBS, "ebs.csi.aws.com"),
    "azureDisk": Migration(Plugin.AZURE_DISK, "disk.csi.azure.com"),
    "azureFile": Migration(Plugin.AZURE_FILE, "file.csi.azure.com"),
    "cinder": Migration(Plugin.CINDER, "cinder.csi.openstack.org"),
    "gcePersistentDisk": Migration(Plugin.GCE_PD, "pd.csi.storage.gke.io"),
    "portworxVolume": Migration(Plugin.PORTWORX, "pxd.portworx.com"),
    "vsphereVolume": Migration(Plugin.VSPHERE, "csi.vsphere.vmware.com"),
}
"""By the name that the source has in a volume's spec."""


def find_migration(volume: Volume) -> Migration | None:
    source = volume.spec.find_source()
    return MIGRATIONS.get(source[0]) if source else None
