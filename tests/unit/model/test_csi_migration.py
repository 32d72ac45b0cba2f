"""Which CSI driver serves what an in-tree plugin once served."""

from typing import Any

import pytest

from mooring.model.csi_migration import DRIVERS, Migration, find_migration
from mooring.model.volume import VolumeSpec
from mooring.model.wire import read_document

TAKEN_OVER = {
    "awsElasticBlockStore": ("kubernetes.io/aws-ebs", "ebs.csi.aws.com"),
    "azureDisk": ("kubernetes.io/azure-disk", "disk.csi.azure.com"),
    "azureFile": ("kubernetes.io/azure-file", "file.csi.azure.com"),
    "cinder": ("kubernetes.io/cinder", "cinder.csi.openstack.org"),
    "gcePersistentDisk": ("kubernetes.io/gce-pd", "pd.csi.storage.gke.io"),
    "portworxVolume": ("kubernetes.io/portworx-volume", "pxd.portworx.com"),
    "vsphereVolume": ("kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com"),
}


def a_spec(**sources: dict[str, Any]) -> VolumeSpec:
    return read_document(sources, VolumeSpec)


@pytest.mark.parametrize("source", TAKEN_OVER)
def test_taken_over(source: str) -> None:
    plugin, driver = TAKEN_OVER[source]
    assert find_migration(a_spec(**{source: {}})) == Migration(plugin, driver)
    assert DRIVERS[plugin] == driver


@pytest.mark.parametrize("source", ["rbd", "flexVolume", "fc"])
def test_not_taken_over(source: str) -> None:
    assert find_migration(a_spec(**{source: {}})) is None


def test_a_volume_of_a_driver_needs_no_other() -> None:
    csi = {"driver": "pd.csi.storage.gke.io", "volumeHandle": "h"}
    assert find_migration(a_spec(csi=csi)) is None


def test_a_volume_without_a_source_is_nobodys() -> None:
    assert find_migration(VolumeSpec()) is None
