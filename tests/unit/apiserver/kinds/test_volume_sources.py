import msgspec
import pytest

from mooring.apiserver.kinds.volume_sources import SOURCES, default_sources, validate_sources
from mooring.apiserver.schema.parse import load
from mooring.model.document import Doc
from mooring.model.field_error import show
from mooring.model.volume_source import PersistentSources
from tests.unit.apiserver.kinds.writing import NO_LABEL, NO_SUBDOMAIN, merged

SECRET = {"name": "s", "namespace": "ns"}
IQN = "iqn.2026-01.com.example:storage.disk"
MANAGED = "/subscriptions/a/resourcegroups/b/providers/microsoft.compute/disks/c"
MANAGED_FORM = (
    "/subscriptions/{sub-id}/resourcegroups/{group-name}"
    "/providers/microsoft.compute/disks/{disk-id}"
)
BLOB_FORM = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"

GOOD: dict[str, Doc] = {
    "awsElasticBlockStore": {"volumeID": "vol-1"},
    "azureDisk": {"diskName": "d", "diskURI": "https://a"},
    "azureFile": {"secretName": "s", "shareName": "x", "secretNamespace": "ns"},
    "cephfs": {"monitors": ["m"]},
    "cinder": {"volumeID": "v", "secretRef": SECRET},
    "csi": {
        "driver": "Hostpath.CSI.k8s.io",
        "volumeHandle": "h",
        "controllerPublishSecretRef": SECRET,
        "nodeStageSecretRef": {},
        "nodePublishSecretRef": SECRET,
        "controllerExpandSecretRef": SECRET,
        "nodeExpandSecretRef": SECRET,
    },
    "fc": {"targetWWNs": ["w"], "lun": 0},
    "flexVolume": {"driver": "d", "options": {"example.com/a": "b"}},
    "flocker": {"datasetName": "d"},
    "gcePersistentDisk": {"pdName": "p", "partition": 1},
    "glusterfs": {"endpoints": "e", "path": "p", "endpointsNamespace": "ns"},
    "hostPath": {"path": "/data", "type": "DirectoryOrCreate"},
    "iscsi": {"targetPortal": "1.2.3.4", "iqn": IQN, "lun": 0, "secretRef": SECRET},
    "local": {"path": "/mnt"},
    "nfs": {"server": "s", "path": "/"},
    "photonPersistentDisk": {"pdID": "p"},
    "portworxVolume": {"volumeID": "v"},
    "quobyte": {"registry": "a:1,[::1]:2", "volume": "v"},
    "rbd": {"monitors": ["m"], "image": "i"},
    "scaleIO": {"gateway": "g", "system": "s", "volumeName": "v"},
    "storageos": {"volumeName": "v", "volumeNamespace": "ns", "secretRef": SECRET},
    "vsphereVolume": {"volumePath": "p"},
}


def test_there_are_twenty_two_sources() -> None:
    assert GOOD.keys() == SOURCES.keys()
    assert len(SOURCES) == 22


@pytest.mark.parametrize("name", GOOD)
def test_a_well_formed_source_is_fine(name: str) -> None:
    spec: Doc = {name: GOOD[name]}
    default_sources(spec)
    assert list(validate_sources(spec, "spec", "pv-1")) == []


BAD: dict[str, tuple[str, Doc, list[str]]] = {
    "aws: a volume": (
        "awsElasticBlockStore",
        {"volumeID": None},
        ["spec.awsElasticBlockStore.volumeID: Required value"],
    ),
    "aws: a partition": (
        "awsElasticBlockStore",
        {"partition": 256},
        [
            "spec.awsElasticBlockStore.partition: Invalid value: 256: "
            "must be between 1 and 255, inclusive"
        ],
    ),
    "gce: told at a path of its own": (
        "gcePersistentDisk",
        {"pdName": "", "partition": -1},
        [
            "spec.persistentDisk.pdName: Required value",
            "spec.persistentDisk.partition: Invalid value: -1: "
            "must be between 1 and 255, inclusive",
        ],
    ),
    "azureFile: secret and share": (
        "azureFile",
        {"secretName": "", "shareName": None, "secretNamespace": ""},
        [
            "spec.azureFile.secretName: Required value",
            "spec.azureFile.shareName: Required value",
            "spec.azureFile.secretNamespace: Required value",
        ],
    ),
    "azureDisk: name and address": (
        "azureDisk",
        {"diskName": None, "diskURI": None},
        [
            "spec.azureDisk.diskName: Required value",
            "spec.azureDisk.diskURI: Required value",
            f'spec.azureDisk.diskURI: Unsupported value: "": supported values: "{BLOB_FORM}"',
        ],
    ),
    "azureDisk: caching": (
        "azureDisk",
        {"cachingMode": "Some"},
        [
            'spec.azureDisk.cachingMode: Unsupported value: "Some": '
            'supported values: "None", "ReadOnly", "ReadWrite"'
        ],
    ),
    "azureDisk: kind": (
        "azureDisk",
        {"kind": "Rented"},
        [
            'spec.azureDisk.kind: Unsupported value: "Rented": '
            'supported values: "Dedicated", "Managed", "Shared"'
        ],
    ),
    "azureDisk: a managed disk has another address": (
        "azureDisk",
        {"kind": "Managed"},
        [
            'spec.azureDisk.diskURI: Unsupported value: "https://a": '
            f'supported values: "{MANAGED_FORM}"'
        ],
    ),
    "azureDisk: a blob has no such address": (
        "azureDisk",
        {"kind": "Dedicated", "diskURI": MANAGED},
        [
            f'spec.azureDisk.diskURI: Unsupported value: "{MANAGED}": '
            f'supported values: "{BLOB_FORM}"'
        ],
    ),
    "cephfs: monitors": ("cephfs", {"monitors": []}, ["spec.cephfs.monitors: Required value"]),
    "cinder: a volume and a whole secret": (
        "cinder",
        {"volumeID": None, "secretRef": {"name": None, "namespace": None}},
        [
            "spec.cinder.volumeID: Required value",
            "spec.cinder.secretRef.name: Required value",
            "spec.cinder.secretRef.namespace: Required value",
        ],
    ),
    "csi: driver and handle": (
        "csi",
        {"driver": None, "volumeHandle": ""},
        ["spec.csi.driver: Required value", "spec.csi.volumeHandle: Required value"],
    ),
    "csi: a driver's name is short": (
        "csi",
        {"driver": "d" * 64},
        ["spec.csi.driver: Too long: may not be more than 63 bytes"],
    ),
    "csi: a driver's name is a DNS name in any case": (
        "csi",
        {"driver": "Not_A_Name"},
        [f'spec.csi.driver: Invalid value: "Not_A_Name": {NO_SUBDOMAIN}'],
    ),
    "csi: a secret has name and namespace": (
        "csi",
        {"controllerPublishSecretRef": {"name": None}, "nodeExpandSecretRef": {"namespace": ""}},
        [
            "spec.csi.controllerPublishSecretRef.name: Required value",
            "spec.csi.nodeExpandSecretRef.namespace: Required value",
        ],
    ),
    "csi: a secret's names are checked": (
        "csi",
        {"nodePublishSecretRef": {"name": "Not_A_Name", "namespace": "Not_A_Name"}},
        [
            f'spec.csi.nodePublishSecretRef.name: Invalid value: "Not_A_Name": {NO_SUBDOMAIN}',
            f'spec.csi.nodePublishSecretRef.namespace: Invalid value: "Not_A_Name": {NO_LABEL}',
        ],
    ),
    "fc: targets or ids": (
        "fc",
        {"targetWWNs": None},
        [
            "spec.fc.targetWWNs: Required value: "
            "must specify either targetWWNs or wwids, but not both"
        ],
    ),
    "fc: not both": (
        "fc",
        {"wwids": ["x"]},
        [
            'spec.fc.targetWWNs: Invalid value: ["w"]: '
            "targetWWNs and wwids can not be specified simultaneously"
        ],
    ),
    "fc: targets need a unit": (
        "fc",
        {"lun": None},
        ["spec.fc.lun: Required value: lun is required if targetWWNs is specified"],
    ),
    "fc: a unit fits a byte": (
        "fc",
        {"lun": 256},
        ["spec.fc.lun: Invalid value: 256: must be between 0 and 255, inclusive"],
    ),
    "flexVolume: a driver": (
        "flexVolume",
        {"driver": None},
        ["spec.flexVolume.driver: Required value"],
    ),
    "flexVolume: Kubernetes' own options": (
        "flexVolume",
        {"options": {"Kubernetes.io/a": "", "x.k8s.io": ""}},
        [
            f"spec.flexVolume.options[{key}]: Invalid value: {show(key)}: "
            "kubernetes.io and k8s.io namespaces are reserved"
            for key in ("Kubernetes.io/a", "x.k8s.io")
        ],
    ),
    "flocker: a dataset": (
        "flocker",
        {"datasetName": None},
        ["spec.flocker: Required value: one of datasetName and datasetUUID is required"],
    ),
    "flocker: one name for it": (
        "flocker",
        {"datasetUUID": "u", "datasetName": "a/b"},
        [
            'spec.flocker: Invalid value: "resource": '
            "datasetName and datasetUUID can not be specified simultaneously",
            "spec.flocker.datasetName: Invalid value: \"a/b\": must not contain '/'",
        ],
    ),
    "glusterfs: endpoints and path": (
        "glusterfs",
        {"endpoints": None, "path": None, "endpointsNamespace": ""},
        [
            "spec.glusterfs.endpoints: Required value",
            "spec.glusterfs.path: Required value",
            'spec.glusterfs.endpointsNamespace: Invalid value: "": '
            "if the endpointnamespace is set, it must be a valid namespace name",
        ],
    ),
    "glusterfs: a namespace": (
        "glusterfs",
        {"endpointsNamespace": "Not_A_Name"},
        [f'spec.glusterfs.endpointsNamespace: Invalid value: "Not_A_Name": {NO_LABEL}'],
    ),
    "hostPath: a path": ("hostPath", {"path": ""}, ["spec.hostPath.path: Required value"]),
    "hostPath: no way out": (
        "hostPath",
        {"path": "/data/../.."},
        ["spec.hostPath.path: Invalid value: \"/data/../..\": must not contain '..'"],
    ),
    "hostPath: dots in a name are fine": ("hostPath", {"path": "/a..b/..c"}, []),
    "hostPath: an unknown type": (
        "hostPath",
        {"type": "Tape"},
        [
            'spec.hostPath.type: Unsupported value: "Tape": supported values: "", "BlockDevice", '
            '"CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"'
        ],
    ),
    "iscsi: a target": (
        "iscsi",
        {"targetPortal": None, "iqn": None},
        ["spec.iscsi.targetPortal: Required value", "spec.iscsi.iqn: Required value"],
    ),
    "iscsi: a unit fits a byte": (
        "iscsi",
        {"lun": -1},
        ["spec.iscsi.lun: Invalid value: -1: must be between 0 and 255, inclusive"],
    ),
    "iscsi: a name of a known sort": (
        "iscsi",
        {"iqn": "foo.2026-01"},
        ['spec.iscsi.iqn: Invalid value: "foo.2026-01": must be valid format'],
    ),
    "iscsi: a name in its form": (
        "iscsi",
        {"iqn": "iqn.26-1.com:x", "initiatorName": "eui.short"},
        [
            'spec.iscsi.iqn: Invalid value: "iqn.26-1.com:x": must be valid format',
            'spec.iscsi.initiatorname: Invalid value: "eui.short": must be valid format',
        ],
    ),
    "iscsi: the other sorts of names": (
        "iscsi",
        {"iqn": "eui.0123456789abcdef", "initiatorName": f"naa.{'0' * 32}"},
        [],
    ),
    "iscsi: a login needs a secret": (
        "iscsi",
        {"secretRef": None, "chapAuthSession": True},
        ["spec.iscsi.secretRef: Required value"],
    ),
    "iscsi: a secret has a name": (
        "iscsi",
        {"secretRef": {"name": None}},
        ["spec.iscsi.secretRef.name: Required value"],
    ),
    "iscsi: an own initiator leaves less room": (
        "iscsi",
        {"initiatorName": IQN, "targetPortal": "p" * 60},
        [
            f'spec.iscsi.targetportal: Invalid value: "{"p" * 60}": Total length of <volume '
            "name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is "
            "specified."
        ],
    ),
    "local: a path": ("local", {"path": None}, ["spec.local.path: Required value"]),
    "local: no way out": (
        "local",
        {"path": "../mnt"},
        ["spec.local.path: Invalid value: \"../mnt\": must not contain '..'"],
    ),
    "nfs: server and path": (
        "nfs",
        {"server": None, "path": None},
        [
            "spec.nfs.server: Required value",
            "spec.nfs.path: Required value",
            'spec.nfs.path: Invalid value: "": must be an absolute path',
        ],
    ),
    "nfs: an absolute path": (
        "nfs",
        {"path": "data"},
        ['spec.nfs.path: Invalid value: "data": must be an absolute path'],
    ),
    "photon: a disk": (
        "photonPersistentDisk",
        {"pdID": None},
        ["spec.photonPersistentDisk.pdID: Required value"],
    ),
    "portworx: a volume": (
        "portworxVolume",
        {"volumeID": None},
        ["spec.portworxVolume.volumeID: Required value"],
    ),
    "quobyte: registry and volume": (
        "quobyte",
        {"registry": None, "volume": None},
        [
            "spec.quobyte.registry: Required value: "
            "must be a host:port pair or multiple pairs separated by commas",
            "spec.quobyte.volume: Required value",
        ],
    ),
    "quobyte: hosts with ports": (
        "quobyte",
        {"registry": "a:1,b"},
        [
            'spec.quobyte.registry: Invalid value: "a:1,b": '
            "must be a host:port pair or multiple pairs separated by commas"
        ],
    ),
    "quobyte: a short tenant": (
        "quobyte",
        {"tenant": "t" * 65},
        [
            "spec.quobyte.tenant: Required value: "
            "must be a UUID and may not exceed a length of 64 characters"
        ],
    ),
    "rbd: monitors and image": (
        "rbd",
        {"monitors": None, "image": None},
        ["spec.rbd.monitors: Required value", "spec.rbd.image: Required value"],
    ),
    "scaleIO: gateway, system, volume": (
        "scaleIO",
        {"gateway": None, "system": None, "volumeName": None},
        [
            "spec.scaleIO.gateway: Required value",
            "spec.scaleIO.system: Required value",
            "spec.scaleIO.volumeName: Required value",
        ],
    ),
    "storageos: a volume": (
        "storageos",
        {"volumeName": None, "volumeNamespace": "Not_A_Name", "secretRef": {"namespace": None}},
        [
            "spec.storageos.volumeName: Required value",
            f'spec.storageos.volumeNamespace: Invalid value: "Not_A_Name": {NO_LABEL}',
            "spec.storageos.secretRef.namespace: Required value",
        ],
    ),
    "vsphere: a path": (
        "vsphereVolume",
        {"volumePath": None},
        ["spec.vsphereVolume.volumePath: Required value"],
    ),
}


@pytest.mark.parametrize(("name", "patch", "complaints"), BAD.values(), ids=BAD)
def test_a_source_must_say(name: str, patch: Doc, complaints: list[str]) -> None:
    spec: Doc = {name: merged(GOOD[name], patch)}
    default_sources(spec)
    assert [str(e) for e in validate_sources(spec, "spec", "pv-1")] == complaints


TYPES = ["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate"]
TYPES += ["File", "FileOrCreate", "Socket"]


@pytest.mark.parametrize("sort", TYPES)
def test_every_type_of_host_path_is_known(sort: str) -> None:
    assert list(validate_sources({"hostPath": {"path": "/a", "type": sort}}, "spec", "")) == []


def test_of_several_sources_one_counts_and_the_others_are_too_many() -> None:
    spec = {"csi": GOOD["csi"], "nfs": GOOD["nfs"], "hostPath": {"path": ""}}
    assert [str(e) for e in validate_sources(spec, "spec", "")] == [
        "spec.hostPath.path: Required value",
        "spec.nfs: Forbidden: may not specify more than 1 volume type",
        "spec.csi: Forbidden: may not specify more than 1 volume type",
    ]


DEFAULTS: dict[str, tuple[str, Doc, Doc]] = {
    "hostPath is of no type": ("hostPath", {}, {"type": ""}),
    "hostPath keeps its type": ("hostPath", {"type": "File"}, {"type": "File"}),
    "iscsi has a unit and an interface": (
        "iscsi",
        {"iscsiInterface": ""},
        {"lun": 0, "iscsiInterface": "default"},
    ),
    "rbd has a pool, a user and a keyring": (
        "rbd",
        {"user": "me"},
        {"pool": "rbd", "user": "me", "keyring": "/etc/ceph/keyring"},
    ),
    "scaleIO is thin and xfs": (
        "scaleIO",
        {},
        {"storageMode": "ThinProvisioned", "fsType": "xfs"},
    ),
    "azureDisk is shared, cached and ext4": (
        "azureDisk",
        {"readOnly": True},
        {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": True, "kind": "Shared"},
    ),
    "csi has none": ("csi", {}, {}),
}


@pytest.mark.parametrize(("name", "given", "then"), DEFAULTS.values(), ids=DEFAULTS)
def test_defaults(name: str, given: Doc, then: Doc) -> None:
    spec: Doc = {name: dict(given)}
    default_sources(spec)
    assert spec == {name: then}


def test_every_source_that_can_be_written_has_rules_and_can_be_read() -> None:
    written = load().message("core.v1.PersistentVolumeSource").fields.keys()
    read = {field.encode_name for field in msgspec.structs.fields(PersistentSources)}
    assert written == SOURCES.keys()
    assert written <= read
