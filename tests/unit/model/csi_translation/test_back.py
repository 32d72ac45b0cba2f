"""CSI volumes as their in-tree plugins have them; what is lost on the way is named here."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.model.csi_translation.contract import TranslationError
from mooring.model.csi_translation.registry import (
    BY_DRIVER,
    BY_SOURCE,
    TRANSLATORS,
    get_by_driver,
    get_by_plugin,
)
from mooring.model.csi_translation.translate import repair_handle, to_in_tree
from mooring.model.volume import Volume
from mooring.model.volume_source import RawSource
from tests.unit.model.csi_translation.objects import (
    REGION,
    ZONE,
    Doc,
    a_volume,
    terms_of,
)

URI = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/d"
words = st.text("abcdefghij0123456789-", min_size=1, max_size=20)
fs_types = st.sampled_from(["", "ext4", "xfs"])


def _source(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Doc]:
    """Fields that are empty are left out, as the API does."""
    drawn = st.fixed_dictionaries(fields)
    return drawn.map(lambda raw: {key: value for key, value in raw.items() if value})


SOURCES: dict[str, st.SearchStrategy[Doc]] = {
    "awsElasticBlockStore": _source(
        volumeID=words.map("vol-{}".format),
        fsType=fs_types,
        readOnly=st.booleans(),
        partition=st.integers(0, 255),
    ),
    "azureDisk": _source(
        diskName=st.just("d"),
        diskURI=st.just(URI),
        kind=st.just("Managed"),
        cachingMode=st.sampled_from(["", "None", "ReadOnly", "ReadWrite"]),
        fsType=fs_types,
        readOnly=st.booleans(),
    ),
    "azureFile": _source(
        secretName=words, shareName=words, secretNamespace=words, readOnly=st.booleans()
    ),
    "cinder": _source(volumeID=words, fsType=fs_types, readOnly=st.booleans()),
    "gcePersistentDisk": _source(
        pdName=words, fsType=fs_types, readOnly=st.booleans(), partition=st.integers(0, 255)
    ),
    "portworxVolume": _source(volumeID=words, fsType=fs_types),
    "rbd": _source(
        monitors=st.lists(words, min_size=1),
        image=words.map("kubernetes-dynamic-pvc-{}".format),
        pool=words,
        user=st.just("admin"),
        fsType=fs_types,
    ),
    "vsphereVolume": _source(volumePath=words, fsType=fs_types),
}
LOST = {
    "awsElasticBlockStore": "the zone in a volumeID aws://<zone>/<volume>",
    "azureDisk": "a diskName that is not the one in the diskURI",
    "azureFile": "none",
    "cinder": "secretRef",
    "gcePersistentDisk": "access modes beside the one that is left",
    "portworxVolume": "readOnly",
    "rbd": "monitors, keyring and user; access modes are by readOnly",
    "vsphereVolume": "volumePath, storagePolicyName and storagePolicyID",
}
NOT_BACK = {"rbd": ("monitors",), "vsphereVolume": ("volumePath",)}


def a_source(source: str, raw: Doc) -> Volume:
    spec: Doc = {source: raw, "accessModes": ["ReadWriteOnce"]}
    return a_volume(**spec)


def there_and_back(volume: Volume) -> Volume:
    found = volume.spec.find_source()
    assert found is not None
    name, raw = found
    assert isinstance(raw, dict)
    return to_in_tree(BY_SOURCE[name].to_csi(raw, volume))


def source_of(volume: Volume) -> RawSource:
    found = volume.spec.find_source()
    assert found is not None
    assert isinstance(found[1], dict)
    return found[1]


def test_every_translator_is_tried_and_its_losses_are_named() -> None:
    sources = {each.source for each in TRANSLATORS}
    assert set(SOURCES) == set(LOST) == sources
    assert len(sources) == 8


@pytest.mark.parametrize("source", SOURCES)
@given(data=st.data())
def test_there_and_back_is_the_same_source(source: str, data: st.DataObject) -> None:
    raw = data.draw(SOURCES[source])
    volume = a_source(source, raw)
    back = there_and_back(volume)
    kept = {name: value for name, value in raw.items() if name not in NOT_BACK.get(source, ())}
    now = source_of(back)
    assert {name: value for name, value in now.items() if name in kept} == kept
    assert set(now) - set(kept) <= set(NOT_BACK.get(source, ()))
    if source != "rbd":  # which notes its handle
        assert back.metadata == volume.metadata
    assert back.spec.access_modes == volume.spec.access_modes
    assert back.spec.node_affinity == volume.spec.node_affinity


@pytest.mark.parametrize("source", sorted(set(SOURCES) - {"vsphereVolume"}))
@given(data=st.data())
def test_a_handle_survives_the_way_back_and_there_again(source: str, data: st.DataObject) -> None:
    """Or a volume would be looked for under another name than it was attached under.

    Of vSphere only the driver can tell the path behind a handle.
    """
    volume = a_source(source, data.draw(SOURCES[source]))
    translator = BY_SOURCE[source]
    there = translator.to_csi(source_of(volume), volume)
    back = to_in_tree(there)
    again = translator.to_csi(source_of(back), back)
    assert there.spec.csi is not None
    assert again.spec.csi is not None
    assert again.spec.csi.volume_handle == there.spec.csi.volume_handle


ZONED = {
    "awsElasticBlockStore": ({"volumeID": "vol-1"}, "us-east-1a", "us-east-1"),
    "gcePersistentDisk": ({"pdName": "d"}, "us-east1-b", "us-east1"),
    "cinder": ({"volumeID": "c"}, "nova", None),
    "vsphereVolume": ({"volumePath": "p"}, "z", "r"),
}


@pytest.mark.parametrize("source", ZONED)
def test_zones_there_and_back(source: str) -> None:
    raw, zone, region = ZONED[source]
    labels = {ZONE: zone} | ({REGION: region} if region else {})
    affinity = {ZONE: [zone]} | ({REGION: [region]} if region else {})
    volume = a_volume(labels, terms=[affinity], **{source: raw})
    back = there_and_back(volume)
    assert back.metadata == volume.metadata
    assert back.spec.node_affinity == volume.spec.node_affinity


def test_s58_a_regional_gce_disk() -> None:
    volume = a_volume({ZONE: "us-east1-b__us-east1-c"}, gcePersistentDisk={"pdName": "d"})
    there = BY_SOURCE["gcePersistentDisk"].to_csi({"pdName": "d"}, volume)
    assert there.spec.csi is not None
    assert there.spec.csi.volume_handle == "projects/UNSPECIFIED/regions/us-east1/disks/d"
    assert terms_of(there) == [{"topology.gke.io/zone": ["us-east1-b", "us-east1-c"]}]


def test_s59_an_azure_disk_that_is_not_managed() -> None:
    raw = {"diskName": "d", "diskURI": "https://a/vhds/d", "kind": "Shared"}
    with pytest.raises(TranslationError, match=r"kind\(Shared\) is not supported in csi migration"):
        BY_SOURCE["azureDisk"].to_csi(raw, a_volume(azureDisk=raw))


def _csi(driver: str, handle: str, **fields: Any) -> Volume:
    return a_volume(csi={"driver": driver, "volumeHandle": handle, **fields})


BACK: dict[str, tuple[Volume, str, Doc]] = {
    "aws": (
        _csi("ebs.csi.aws.com", "vol-1", volumeAttributes={"partition": "3"}),
        "awsElasticBlockStore",
        {"volumeID": "vol-1", "partition": 3},
    ),
    "gce": (
        _csi("pd.csi.storage.gke.io", "projects/p/zones/z/disks/d", fsType="xfs"),
        "gcePersistentDisk",
        {"pdName": "d", "fsType": "xfs"},
    ),
    "azure disk, attributes override": (
        _csi(
            "disk.csi.azure.com",
            URI,
            fsType="ext4",
            volumeAttributes={"cachingMode": "None", "fsType": "xfs"},
        ),
        "azureDisk",
        {
            "diskName": "d",
            "diskURI": URI,
            "kind": "Managed",
            "cachingMode": "None",
            "fsType": "xfs",
        },
    ),
    "azure disk of a blob": (
        _csi("disk.csi.azure.com", "https://a/vhds/x.vhd"),
        "azureDisk",
        {"diskName": "x.vhd", "diskURI": "https://a/vhds/x.vhd", "kind": "Managed"},
    ),
    "azure file by its handle": (
        _csi("file.csi.azure.com", "rg#acc#share#"),
        "azureFile",
        {
            "shareName": "share",
            "secretName": "azure-storage-account-acc-secret",
            "secretNamespace": "default",
        },
    ),
    "azure file by attributes of any case": (
        _csi(
            "file.csi.azure.com",
            "x",
            volumeAttributes={"shareName": "a", "SECRETNAME": "b", "secretNamespace": "c"},
        ),
        "azureFile",
        {"shareName": "a", "secretName": "b", "secretNamespace": "c"},
    ),
    "portworx": (
        _csi("pxd.portworx.com", "v", readOnly=True),
        "portworxVolume",
        {"volumeID": "v", "readOnly": True},
    ),
    "vsphere, by what the driver says of the path": (
        _csi(
            "csi.vsphere.vmware.com", "id", volumeAttributes={"initialvolumefilepath": "[d] a.vmdk"}
        ),
        "vsphereVolume",
        {"volumePath": "[d] a.vmdk"},
    ),
}


@pytest.mark.parametrize(("volume", "source", "raw"), BACK.values(), ids=BACK)
def test_back(volume: Volume, source: str, raw: Doc) -> None:
    assert to_in_tree(volume).spec.find_source() == (source, raw)


def test_the_resource_group_is_noted_when_the_handle_was_read() -> None:
    back = to_in_tree(_csi("file.csi.azure.com", "rg#acc#share"))
    assert back.metadata.annotations == {"kubernetes.io/azure-file-resource-group": "rg"}


def test_rbd_notes_what_its_source_cannot_say() -> None:
    attributes = {
        "clusterID": "c",
        "imageName": "i",
        "pool": "p",
        "journalPool": "j",
        "imageFeatures": "layering",
        "imageFormat": "2",
    }
    back = to_in_tree(_csi("rbd.csi.ceph.com", "h", volumeAttributes=attributes))
    assert source_of(back) == {"monitors": [""], "image": "i", "pool": "p", "user": "admin"}
    assert back.metadata.annotations == {
        "rbd.csi.ceph.com/volume-handle": "h",
        "clusterID": "c",
        "journalPool": "j",
        "imageFeatures": "layering",
        "imageFormat": "2",
    }


@pytest.mark.parametrize(
    ("volume", "why"),
    [
        (_csi("ebs.csi.aws.com", "v", volumeAttributes={"partition": "x"}), "partition x"),
        (_csi("pd.csi.storage.gke.io", "pvc-1"), "volume handle pvc-1"),
        (_csi("disk.csi.azure.com", "d"), "could not get disk name from d"),
        (_csi("file.csi.azure.com", "a#b"), "should at least contain two #"),
        (_csi("other", "h"), "could not find In-Tree driver name for CSI plugin other"),
        (a_volume(cinder={"volumeID": "c"}), "CSI persistent volume was nil"),
    ],
)
def test_no_way_back(volume: Volume, why: str) -> None:
    with pytest.raises(TranslationError, match=why):
        to_in_tree(volume)


def test_names_that_nobody_translates() -> None:
    assert get_by_plugin("kubernetes.io/cinder") is get_by_driver("cinder.csi.openstack.org")
    with pytest.raises(TranslationError, match="could not find CSI Driver name for plugin x"):
        get_by_plugin("x")


NODE = "projects/p/zones/us-east1-b/instances/i"


@pytest.mark.parametrize(
    ("handle", "then"),
    [
        (
            "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d",
            "projects/p/zones/us-east1-b/disks/d",
        ),
        ("projects/UNSPECIFIED/zones/z/disks/d", "projects/p/zones/z/disks/d"),
        ("projects/UNSPECIFIED/regions/UNSPECIFIED/disks/d", "projects/p/regions/us-east1/disks/d"),
        ("projects/own/zones/UNSPECIFIED/disks/d", "projects/own/zones/UNSPECIFIED/disks/d"),
    ],
)
def test_gce_handles_are_repaired_by_the_node(handle: str, then: str) -> None:
    assert repair_handle("pd.csi.storage.gke.io", handle, NODE) == then


@pytest.mark.parametrize("driver", [*(set(BY_DRIVER) - {"pd.csi.storage.gke.io"}), "other"])
def test_other_handles_need_no_repair(driver: str) -> None:
    assert repair_handle(driver, "h", NODE) == "h"


@pytest.mark.parametrize(
    ("handle", "node"), [("x", NODE), ("projects/UNSPECIFIED/zones/z/disks/d", "n1")]
)
def test_what_cannot_be_repaired(handle: str, node: str) -> None:
    with pytest.raises(TranslationError, match="wrong number of elements"):
        repair_handle("pd.csi.storage.gke.io", handle, node)


@pytest.mark.parametrize(
    ("zone", "region"),
    [
        ("us-west-2a", "us-west-2"),
        ("us-gov-east-1a", "us-gov-east-1"),
        ("us-west-2-lax-1a", "us-west-2"),
        ("us-east-1-wl1-bos-wlz-1", "us-east-1"),
    ],
)
def test_regions_of_aws_zones(zone: str, region: str) -> None:
    volume = a_volume(
        terms=[{"topology.ebs.csi.aws.com/zone": [zone]}],
        csi={"driver": "ebs.csi.aws.com", "volumeHandle": "v"},
    )
    assert to_in_tree(volume).metadata.labels == {ZONE: zone, REGION: region}


@pytest.mark.parametrize("zones", [["us"], ["us-west-2a", "us-east-1a"]])
def test_aws_zones_without_one_region(zones: list[str]) -> None:
    volume = a_volume(
        terms=[{"topology.ebs.csi.aws.com/zone": zones}],
        csi={"driver": "ebs.csi.aws.com", "volumeHandle": "v"},
    )
    with pytest.raises(TranslationError, match="Failed to handle region topology"):
        to_in_tree(volume)
