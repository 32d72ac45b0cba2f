"""In-tree volumes under the names of the drivers that serve them now."""

from typing import Any

import pytest

from mooring.model.csi_translation.translate import translate, translate_inline
from mooring.model.meta import ObjectMeta
from mooring.model.pod_volume import PodVolume
from mooring.model.storage_terms import AccessMode
from mooring.model.volume import Volume
from mooring.model.wire import read_document

Doc = dict[str, Any]
ZONE, OLD_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"


def a_volume(
    labels: Doc | None = None, annotations: Doc | None = None, modes: Any = (), **spec: Any
) -> Volume:
    metadata: Doc = {"name": "pv1", "labels": labels or {}, "annotations": annotations or {}}
    return read_document(
        {"metadata": metadata, "spec": {"accessModes": list(modes), **spec}}, Volume
    )


HANDLES: dict[str, tuple[Volume, str | None]] = {
    "aws: as it is": (a_volume(awsElasticBlockStore={"volumeID": "vol-1"}), "vol-1"),
    "aws: with its zone": (
        a_volume(awsElasticBlockStore={"volumeID": "aws://us-east-1a/vol-12ab"}),
        "vol-12ab",
    ),
    "aws: nonsense": (a_volume(awsElasticBlockStore={"volumeID": "aws://us-east-1a/x"}), None),
    "azure disk": (a_volume(azureDisk={"diskName": "d", "diskURI": "/sub/x"}), "/sub/x"),
    "azure disk that nobody manages": (
        a_volume(azureDisk={"diskName": "d", "diskURI": "/sub/x", "kind": "Shared"}),
        None,
    ),
    "azure file": (
        a_volume(
            azureFile={"secretName": "s", "shareName": "share", "secretNamespace": "ns"},
            annotations={"kubernetes.io/azure-file-resource-group": "rg"},
        ),
        "rg#s#share#pv1#ns",
    ),
    "azure file: the account is in the secret's name": (
        a_volume(
            azureFile={"secretName": "azure-storage-account-acc-secret", "shareName": "share"},
            claimRef={"namespace": "team", "name": "c"},
        ),
        "#acc#share#pv1#team",
    ),
    "azure file: no namespace to be found": (
        a_volume(azureFile={"secretName": "s", "shareName": "share"}),
        None,
    ),
    "cinder": (a_volume(cinder={"volumeID": "c1"}), "c1"),
    "gce": (
        a_volume(gcePersistentDisk={"pdName": "d"}),
        "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d",
    ),
    "gce in a zone": (
        a_volume({ZONE: "us-central1-a"}, gcePersistentDisk={"pdName": "d"}),
        "projects/UNSPECIFIED/zones/us-central1-a/disks/d",
    ),
    "gce in a zone, by its old label": (
        a_volume({ZONE: "x", OLD_ZONE: "us-central1-a"}, gcePersistentDisk={"pdName": "d"}),
        "projects/UNSPECIFIED/zones/us-central1-a/disks/d",
    ),
    "gce in two zones of a region": (
        a_volume({ZONE: "us-central1-a__us-central1-b"}, gcePersistentDisk={"pdName": "d"}),
        "projects/UNSPECIFIED/regions/us-central1/disks/d",
    ),
    "gce in zones of two regions": (
        a_volume({ZONE: "us-central1-a__us-west1-b"}, gcePersistentDisk={"pdName": "d"}),
        None,
    ),
    "portworx": (a_volume(portworxVolume={"volumeID": "px"}), "px"),
    "vsphere": (a_volume(vsphereVolume={"volumePath": "[ds] a.vmdk"}), "[ds] a.vmdk"),
    "one that lacks what it is": (a_volume(cinder={}), None),
    "one that no driver serves": (a_volume(nfs={"server": "s", "path": "/"}), None),
    "a CSI volume": (a_volume(csi={"driver": "d", "volumeHandle": "h"}), "h"),
}


@pytest.mark.parametrize(("given", "handle"), HANDLES.values(), ids=HANDLES)
def test_handles(given: Volume, handle: str | None) -> None:
    translated = translate(given)
    csi = None if translated is None else translated.spec.csi
    assert (None if csi is None else csi.volume_handle) == handle
    if translated is not None:
        assert translated.spec.find_source() == ("csi", csi)


def test_what_else_a_driver_is_told() -> None:
    translated = translate(
        a_volume(
            azureDisk={
                "diskName": "d",
                "diskURI": "/x",
                "cachingMode": "ReadOnly",
                "fsType": "xfs",
                "readOnly": True,
            }
        )
    )
    assert translated is not None
    source = translated.spec.csi
    assert source is not None
    assert (source.driver, source.fs_type, source.read_only) == ("disk.csi.azure.com", "xfs", True)
    assert source.volume_attributes == {
        "kind": "Managed",
        "cachingmode": "ReadOnly",
        "fstype": "xfs",
    }


def test_portworx_secrets_come_from_annotations() -> None:
    notes = {
        "openstorage.io/auth-secret-name": "s",
        "openstorage.io/auth-secret-namespace": "ns",
    }
    translated = translate(a_volume(annotations=notes, portworxVolume={"volumeID": "px"}))
    assert translated is not None
    assert translated.spec.csi is not None
    reference = translated.spec.csi.node_stage_secret_ref
    assert reference is not None
    assert (reference.name, reference.namespace) == ("s", "ns")


@pytest.mark.parametrize(
    ("modes", "then"),
    [
        (("ReadWriteMany",), (AccessMode.ONCE,)),
        (("ReadOnlyMany", "ReadWriteOnce"), (AccessMode.ONCE,)),
        (("ReadOnlyMany",), (AccessMode.READ_ONLY_MANY,)),
        ((), ()),
    ],
)
def test_a_gce_disk_has_one_writer_whatever_it_said(
    modes: tuple[str, ...], then: tuple[AccessMode, ...]
) -> None:
    translated = translate(a_volume(modes=modes, gcePersistentDisk={"pdName": "d"}))
    assert translated is not None
    assert translated.spec.access_modes == then


INLINE: dict[str, tuple[Doc, str | None, str, tuple[AccessMode, ...]]] = {
    "aws": (
        {"awsElasticBlockStore": {"volumeID": "vol-1"}},
        "vol-1",
        "ebs.csi.aws.com-vol-1",
        (AccessMode.ONCE,),
    ),
    "gce, only read": (
        {"gcePersistentDisk": {"pdName": "d", "readOnly": True}},
        "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d",
        "pd.csi.storage.gke.io-d",
        (AccessMode.READ_ONLY_MANY,),
    ),
    "azure file": (
        {"azureFile": {"secretName": "s", "shareName": "share"}},
        "#s#share#data#team",
        "#s#share#data#team",
        (AccessMode.MANY,),
    ),
    "azure disk": (
        {"azureDisk": {"diskName": "d", "diskURI": "/x"}},
        "/x",
        "/x",
        (AccessMode.ONCE,),
    ),
    "an inline CSI volume": ({"csi": {"driver": "d"}}, None, "", ()),
    "an empty directory": ({"emptyDir": {}}, None, "", ()),
    "one that lacks what it is": ({"cinder": {}}, None, "", ()),
}


@pytest.mark.parametrize(("source", "handle", "name", "modes"), INLINE.values(), ids=INLINE)
def test_volumes_written_into_a_pod(
    source: Doc, handle: str | None, name: str, modes: tuple[AccessMode, ...]
) -> None:
    volume = read_document({"name": "data", **source}, PodVolume)
    translated = translate_inline(volume, "team")
    if handle is None:
        assert translated is None
        return
    assert translated is not None
    assert translated.spec.csi is not None
    assert translated.spec.csi.volume_handle == handle
    assert translated.metadata == ObjectMeta(name=name)
    assert translated.spec.access_modes == modes
