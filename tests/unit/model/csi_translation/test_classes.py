"""Storage classes of in-tree plugins as their drivers have them."""

import hashlib

import pytest

from mooring.model.csi_translation.contract import TranslationError
from mooring.model.csi_translation.registry import BY_PLUGIN
from mooring.model.csi_translation.translate import serves, translate_class
from mooring.model.storage_class import StorageClass
from tests.unit.model.csi_translation.objects import BETA_ZONE, ZONE, Doc, a_class, allowed_of

AWS, GCE, CINDER = "kubernetes.io/aws-ebs", "kubernetes.io/gce-pd", "kubernetes.io/cinder"
AZURE_DISK, AZURE_FILE = "kubernetes.io/azure-disk", "kubernetes.io/azure-file"
VSPHERE, PORTWORX, RBD = (
    "kubernetes.io/vsphere-volume",
    "kubernetes.io/portworx-volume",
    "kubernetes.io/rbd",
)
AWS_ZONE, GCE_ZONE = "topology.ebs.csi.aws.com/zone", "topology.gke.io/zone"
AZURE_ZONE = "topology.disk.csi.azure.com/zone"
FS = "csi.storage.k8s.io/fstype"
MONS = "10.0.0.1:6789,10.0.0.2:6789"


def _secrets(*calls: str) -> Doc:
    keys = {f"csi.storage.k8s.io/{call}-secret" for call in calls}
    return {f"{key}-name": "s" for key in keys} | {f"{key}-namespace": "ns" for key in keys}


CLASSES: dict[str, tuple[StorageClass, Doc, list[Doc]]] = {
    "seed 002": (a_class(GCE, type="pd-ssd"), {"type": "pd-ssd"}, []),
    "gce: file system and zone": (
        a_class(GCE, type="pd-ssd", fsType="xfs", zone="z"),
        {"type": "pd-ssd", FS: "xfs"},
        [{GCE_ZONE: ["z"]}],
    ),
    "gce: zones are not trimmed": (a_class(GCE, Zones="a, b"), {}, [{GCE_ZONE: ["a", " b"]}]),
    "gce: allowed topologies, both spellings, others unchanged": (
        a_class(GCE, [{ZONE: ["a"], "x": ["1"]}, {BETA_ZONE: ["b"]}]),
        {},
        [{GCE_ZONE: ["a"], "x": ["1"]}, {GCE_ZONE: ["b"]}],
    ),
    "gce: unknown keys keep their spelling": (
        a_class(GCE, ReplicaType="x"),
        {"ReplicaType": "x"},
        [],
    ),
    "aws: iops": (
        a_class(AWS, iopsPerGB="10", FSTYPE="ext4"),
        {"iopsPerGB": "10", "allowautoiopspergbincrease": "true", FS: "ext4"},
        [],
    ),
    "aws: zone": (a_class(AWS, zone="us-east-1a"), {}, [{AWS_ZONE: ["us-east-1a"]}]),
    "azure disk: file system stays, numbers are no zones": (
        a_class(AZURE_DISK, fsType="xfs", zones="1,eastus-1"),
        {"fsType": "xfs"},
        [{AZURE_ZONE: ["", "eastus-1"]}],
    ),
    "azure disk: allowed topologies": (
        a_class(AZURE_DISK, [{ZONE: ["eastus-1", "0"]}]),
        {},
        [{AZURE_ZONE: ["eastus-1", ""]}],
    ),
    "azure file: unchanged": (
        a_class(AZURE_FILE, [{ZONE: ["a"]}], skuName="x", fsType="nfs"),
        {"skuName": "x", "fsType": "nfs"},
        [{ZONE: ["a"]}],
    ),
    "cinder: no zone parameter": (
        a_class(CINDER, [{BETA_ZONE: ["a"]}], fsType="xfs", availability="n", zone="z"),
        {FS: "xfs", "availability": "n", "zone": "z"},
        [{"topology.cinder.csi.openstack.org/zone": ["a"]}],
    ),
    "vsphere": (
        a_class(
            VSPHERE,
            [{ZONE: ["a"]}],
            datastore="d",
            diskFormat="thin",
            hostFailuresToTolerate="1",
            forceProvisioning="1",
            cacheReservation="1",
            diskStripes="1",
            objectSpaceReservation="1",
            iopsLimit="1",
            storagePolicyName="gold",
            fsType="ext4",
            other="dropped",
        ),
        {
            "datastore-migrationparam": "d",
            "diskformat-migrationparam": "thin",
            "hostfailurestotolerate-migrationparam": "1",
            "forceprovisioning-migrationparam": "1",
            "cachereservation-migrationparam": "1",
            "diskstripes-migrationparam": "1",
            "objectspacereservation-migrationparam": "1",
            "iopslimit-migrationparam": "1",
            "storagepolicyname": "gold",
            FS: "ext4",
            "csimigration": "true",
        },
        [{"topology.csi.vmware.com/zone": ["a"]}],
    ),
    "portworx: secrets": (
        a_class(
            PORTWORX,
            None,
            **{
                "openstorage.io/auth-secret-name": "s",
                "openstorage.io/auth-secret-namespace": "ns",
                "repl": "2",
            },
        ),
        {
            "repl": "2",
            **_secrets(
                "provisioner",
                "controller-publish",
                "node-publish",
                "node-stage",
                "controller-expand",
                "node-expand",
            ),
        },
        [],
    ),
    "rbd": (
        a_class(
            RBD,
            monitors=MONS,
            adminId="kube",
            adminSecretName="s",
            adminSecretNamespace="ns",
            pool="p",
            imageFeatures="layering",
            imageFormat="2",
            fsType="ext4",
            userId="dropped",
        ),
        {
            "migration": "true",
            "pool": "p",
            "monitors": MONS,
            "clusterID": hashlib.md5(MONS.encode(), usedforsecurity=False).hexdigest(),
            "adminId": "kube",
            "imageFeatures": "layering",
            "imageFormat": "2",
            FS: "ext4",
            **_secrets("provisioner", "node-stage", "controller-expand"),
        },
        [],
    ),
}


@pytest.mark.parametrize(("given", "parameters", "allowed"), CLASSES.values(), ids=CLASSES)
def test_classes(given: StorageClass, parameters: Doc, allowed: list[Doc]) -> None:
    translated = BY_PLUGIN[given.provisioner].class_to_csi(given)
    assert translated.parameters == parameters
    assert allowed_of(translated) == allowed


def test_portworx_and_rbd_name_their_driver_others_keep_the_plugin() -> None:
    rbd = a_class(RBD, monitors="m", adminSecretName="s")
    named = [
        BY_PLUGIN[each.provisioner].class_to_csi(each).provisioner
        for each in (a_class(PORTWORX), rbd, a_class(GCE))
    ]
    assert named == ["pxd.portworx.com", "rbd.csi.ceph.com", GCE]


def test_a_rbd_class_has_defaults() -> None:
    rbd = a_class(RBD, monitors="m", adminSecretName="s")
    parameters = BY_PLUGIN[RBD].class_to_csi(rbd).parameters
    assert parameters["pool"] == "rbd"
    assert parameters["csi.storage.k8s.io/node-stage-secret-namespace"] == "default"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (
            a_class(AWS, [{ZONE: ["a"]}], zones="a"),
            "cannot simultaneously set allowed topologies and zone/zones parameters",
        ),
        (a_class(RBD, monitors="m"), "missing Ceph admin secret name"),
        (a_class(RBD, adminSecretName="s"), "missing Ceph monitors"),
    ],
)
def test_classes_that_cannot_be_translated(given: StorageClass, why: str) -> None:
    with pytest.raises(TranslationError, match=why):
        BY_PLUGIN[given.provisioner].class_to_csi(given)


def test_the_class_of_a_migrated_plugin_keeps_its_provisioner() -> None:
    """A volume's annotation names it; the way back is chosen by it."""
    assert translate_class(a_class(PORTWORX)).provisioner == PORTWORX
    assert translate_class(a_class("other", zone="a")) == a_class("other", zone="a")


def test_whose_a_class_is() -> None:
    assert serves("pd.csi.storage.gke.io", GCE)
    assert serves("other", "other")
    assert not serves("ebs.csi.aws.com", GCE)
    assert not serves("rbd.csi.ceph.com", RBD)
