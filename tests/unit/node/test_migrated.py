"""In-tree volumes on the node: mounted as volumes of their driver."""

from typing import Any

import pytest

from mooring.model.pod_volume import PodVolume
from mooring.model.storage_terms import AccessMode
from mooring.model.volume import Volume
from mooring.model.volume_use import VolumeUse
from mooring.model.wire import read_document
from mooring.node.migrated import in_driver_terms
from mooring.plugins.contract import VolumeError

HANDLE = "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d"


def a_volume(**spec: Any) -> Volume:
    return read_document({"metadata": {"name": "pv1"}, "spec": spec}, Volume)


def inline(**source: Any) -> VolumeUse:
    return VolumeUse(inline=read_document({"name": "data", **source}, PodVolume))


def test_a_persistent_volume_keeps_its_name_and_the_readers_wish() -> None:
    use = VolumeUse(volume=a_volume(gcePersistentDisk={"pdName": "d"}), read_only=True)
    migrated = in_driver_terms(use, "team")
    assert migrated.volume is not None
    assert migrated.volume.spec.csi is not None
    assert migrated.volume.spec.csi.volume_handle == HANDLE
    assert (migrated.name, migrated.read_only, migrated.is_migrated) == ("pv1", True, True)


def test_an_inline_volume_becomes_a_persistent_one_named_by_its_disk() -> None:
    migrated = in_driver_terms(inline(gcePersistentDisk={"pdName": "d", "readOnly": True}), "team")
    assert migrated.inline is None
    assert migrated.name == "pd.csi.storage.gke.io-d"
    assert (migrated.read_only, migrated.is_migrated) == (True, True)
    assert migrated.access_modes == (AccessMode.READ_ONLY_MANY,)


@pytest.mark.parametrize(
    ("use", "name"),
    [
        (
            inline(azureDisk={"diskName": "d", "diskURI": "/subscriptions/s/d", "kind": "Managed"}),
            "~subscriptions~s~d",
        ),
        (
            inline(vsphereVolume={"volumePath": "[ds] ../../a.vmdk"}),
            "csi.vsphere.vmware.com-[ds] ..~..~a.vmdk",
        ),
    ],
)
def test_its_name_is_one_path_element(use: VolumeUse, name: str) -> None:
    assert in_driver_terms(use, "team").name == name


def test_the_secret_of_an_inline_share_is_in_the_pods_namespace() -> None:
    use = inline(azureFile={"secretName": "s", "shareName": "x"})
    migrated = in_driver_terms(use, "team")
    assert migrated.volume is not None
    assert migrated.volume.spec.csi is not None
    reference = migrated.volume.spec.csi.node_stage_secret_ref
    assert reference is not None
    assert (reference.name, reference.namespace) == ("s", "team")


@pytest.mark.parametrize(
    "use",
    [
        inline(emptyDir={}),
        inline(csi={"driver": "d"}),
        inline(rbd={"monitors": ["m"], "image": "i"}),
        VolumeUse(volume=a_volume(csi={"driver": "d", "volumeHandle": "h"})),
        VolumeUse(volume=a_volume(hostPath={"path": "/x"})),
    ],
)
def test_all_others_stay_as_they_are(use: VolumeUse) -> None:
    assert in_driver_terms(use, "team") is use


def test_what_cannot_be_translated_is_said() -> None:
    blob = {"diskName": "d", "diskURI": "https://a/vhds/d", "kind": "Shared"}
    for use in (inline(azureDisk=blob), VolumeUse(volume=a_volume(azureDisk=blob))):
        with pytest.raises(VolumeError) as refused:
            in_driver_terms(use, "team")
        assert str(refused.value) == (
            "failed to translate in-tree pv to CSI: kind(Shared) is not supported in csi migration"
        )
