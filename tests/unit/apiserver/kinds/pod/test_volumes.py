from typing import Any

import msgspec
import pytest

from mooring.apiserver.kinds.pod.pod import POD
from mooring.apiserver.schema.parse import load
from mooring.model.document import Doc
from mooring.model.pod_volume import PodVolume
from tests.unit.apiserver.kinds.pods import a_pod, complaints
from tests.unit.apiserver.kinds.writing import (
    NO_LABEL,
    NO_SUBDOMAIN,
    NO_VALUE,
    create,
    merged,
)

AT = "spec.volumes[0]"
TOO_MANY = "Forbidden: may not specify more than 1 volume type"


def volume(**source: Any) -> Doc:
    return {"name": "v", **source}


def of(*volumes: Doc) -> list[str]:
    return complaints(volumes=list(volumes))


NAMES: dict[str, tuple[list[Doc], list[str]]] = {
    "a volume has a name": ([{"emptyDir": {}}], [f"{AT}.name: Required value"]),
    "which is a DNS label": (
        [{"name": "Not_A_Name"}],
        [f'{AT}.name: Invalid value: "Not_A_Name": {NO_LABEL}'],
    ),
    "and unique": (
        [{"name": "v"}, {"name": "w"}, {"name": "v"}],
        ['spec.volumes[2].name: Duplicate value: "v"'],
    ),
    "two sources are one too many": (
        [volume(hostPath={"path": "/x"}, emptyDir={})],
        [f"{AT}.hostPath: {TOO_MANY}"],
    ),
    "of three the first counts, in an order of its own": (
        [volume(csi={}, persistentVolumeClaim={}, secret={"secretName": "s"})],
        [f"{AT}.persistentVolumeClaim: {TOO_MANY}", f"{AT}.csi: {TOO_MANY}"],
    ),
}


@pytest.mark.parametrize(("volumes", "expected"), NAMES.values(), ids=NAMES)
def test_names_and_number_of_sources(volumes: list[Doc], expected: list[str]) -> None:
    assert of(*volumes) == expected


TEMPLATE: Doc = {
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
}
ISCSI = {"targetPortal": "10.0.0.1:3260", "iqn": "iqn.2026-01.com.example:disk", "lun": 0}
SOURCES: dict[str, tuple[Doc, list[str]]] = {
    "emptyDir: of any size": ({"emptyDir": {}}, []),
    "emptyDir: of no size": ({"emptyDir": {"sizeLimit": "0"}}, []),
    "emptyDir: not of less": (
        {"emptyDir": {"sizeLimit": "-1"}},
        [f"{AT}.emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity"],
    ),
    "hostPath: a path": ({"hostPath": {}}, [f"{AT}.hostPath.path: Required value"]),
    "hostPath: that never goes up": (
        {"hostPath": {"path": "/a/../b"}},
        [f"{AT}.hostPath.path: Invalid value: \"/a/../b\": must not contain '..'"],
    ),
    "hostPath: of a known type": (
        {"hostPath": {"path": "/a", "type": "Pipe"}},
        [
            f'{AT}.hostPath.type: Unsupported value: "Pipe": supported values: "", '
            '"BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", '
            '"FileOrCreate", "Socket"'
        ],
    ),
    "gitRepo: a repository, below the volume": (
        {"gitRepo": {"directory": "/x"}},
        [
            f"{AT}.gitRepo.repository: Required value",
            f'{AT}.gitRepo.directory: Invalid value: "/x": must be a relative path',
        ],
    ),
    "persistentVolumeClaim: a claim": (
        {"persistentVolumeClaim": {}},
        [f"{AT}.persistentVolumeClaim.claimName: Required value"],
    ),
    "nfs: a server and a path": (
        {"nfs": {}},
        [
            f"{AT}.nfs.server: Required value",
            f"{AT}.nfs.path: Required value",
            f'{AT}.nfs.path: Invalid value: "": must be an absolute path',
        ],
    ),
    "iscsi: whole": ({"iscsi": ISCSI}, []),
    "iscsi: an initiator and its names are short": (
        {"iscsi": {**ISCSI, "targetPortal": "x" * 63, "initiatorName": ISCSI["iqn"]}},
        [
            f'{AT}.name: Invalid value: "v": Total length of <volume name>:<iscsi.targetPortal> '
            "must be under 64 characters if iscsi.initiatorName is specified."
        ],
    ),
    "cinder: its secret has a name and no namespace": (
        {"cinder": {"volumeID": "x", "secretRef": {}}},
        [f"{AT}.cinder.secretRef.name: Required value"],
    ),
    "gcePersistentDisk: told at another path": (
        {"gcePersistentDisk": {}},
        [f"{AT}.persistentDisk.pdName: Required value"],
    ),
    "rbd: monitors and an image": (
        {"rbd": {}},
        [f"{AT}.rbd.monitors: Required value", f"{AT}.rbd.image: Required value"],
    ),
    "fc: targets or ids": (
        {"fc": {}},
        [
            f"{AT}.fc.targetWWNs: Required value: "
            "must specify either targetWWNs or wwids, but not both"
        ],
    ),
    "csi: a driver": ({"csi": {}}, [f"{AT}.csi.driver: Required value"]),
    "csi: in any case": ({"csi": {"driver": "Disk.Example.com"}}, []),
    "csi: with a proper name": (
        {"csi": {"driver": "disk_1"}},
        [f'{AT}.csi.driver: Invalid value: "disk_1": {NO_SUBDOMAIN}'],
    ),
    "csi: of 63 bytes at most": (
        {"csi": {"driver": "d" * 64}},
        [f"{AT}.csi.driver: Too long: may not be more than 63 bytes"],
    ),
    "csi: its secret has a name": (
        {"csi": {"driver": "d", "nodePublishSecretRef": {}}},
        [f"{AT}.csi.nodePublishSecretRef.name: Required value"],
    ),
    "csi: a bad one is told at another path": (
        {"csi": {"driver": "d", "nodePublishSecretRef": {"name": "Not_A_Name"}}},
        [f'{AT}.csi.name: Invalid value: "Not_A_Name": {NO_SUBDOMAIN}'],
    ),
    "image: a reference": ({"image": {}}, [f"{AT}.image.reference: Required value"]),
    "image: a known way to fetch it": (
        {"image": {"reference": "data:1", "pullPolicy": "Sometimes"}},
        [
            f'{AT}.image.pullPolicy: Unsupported value: "Sometimes": '
            'supported values: "Always", "IfNotPresent", "Never"'
        ],
    ),
    "ephemeral: a template": (
        {"ephemeral": {}},
        [f"{AT}.ephemeral.volumeClaimTemplate: Required value"],
    ),
    "ephemeral: a good one": ({"ephemeral": {"volumeClaimTemplate": TEMPLATE}}, []),
    "ephemeral: judged as a claim": (
        {"ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
        [
            f"{AT}.ephemeral.volumeClaimTemplate.spec.accessModes: Required value: "
            "at least 1 access mode is required",
            f"{AT}.ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value",
        ],
    ),
    "ephemeral: with labels and annotations": (
        {
            "ephemeral": {
                "volumeClaimTemplate": {
                    **TEMPLATE,
                    "metadata": {"labels": {"a": "b"}, "annotations": {"a": "b c"}},
                }
            }
        },
        [],
    ),
    "ephemeral: good ones": (
        {
            "ephemeral": {
                "volumeClaimTemplate": {**TEMPLATE, "metadata": {"labels": {"a": "not a value"}}}
            }
        },
        [
            f"{AT}.ephemeral.volumeClaimTemplate.metadata.labels: "
            f'Invalid value: "not a value": {NO_VALUE}'
        ],
    ),
    "ephemeral: and nothing else of its own": (
        {
            "ephemeral": {
                "volumeClaimTemplate": {**TEMPLATE, "metadata": {"name": "x", "finalizers": ["y"]}}
            }
        },
        [
            f"{AT}.ephemeral.volumeClaimTemplate.metadata.finalizers: Forbidden: cannot be set",
            f"{AT}.ephemeral.volumeClaimTemplate.metadata.name: Forbidden: cannot be set",
        ],
    ),
}


@pytest.mark.parametrize(("source", "expected"), SOURCES.values(), ids=SOURCES)
def test_sources(source: Doc, expected: list[str]) -> None:
    assert of(volume(**source)) == expected


WELL_FORMED: dict[str, Doc] = {
    "awsElasticBlockStore": {"volumeID": "x"},
    "glusterfs": {"endpoints": "e", "path": "p"},
    "flocker": {"datasetName": "d"},
    "cephfs": {"monitors": ["m"]},
    "quobyte": {"registry": "h:1", "volume": "v"},
    "flexVolume": {"driver": "d"},
    "azureFile": {"secretName": "s", "shareName": "s"},
    "vsphereVolume": {"volumePath": "p"},
    "photonPersistentDisk": {"pdID": "x"},
    "portworxVolume": {"volumeID": "x"},
    "azureDisk": {"diskName": "d", "diskURI": "https://x"},
    "storageos": {"volumeName": "v"},
    "scaleIO": {"gateway": "g", "system": "s", "volumeName": "v"},
}


@pytest.mark.parametrize("name", WELL_FORMED)
def test_every_other_source_has_its_required_fields(name: str) -> None:
    assert of(volume(**{name: WELL_FORMED[name]})) == []
    empty = of(volume(**{name: {}}))
    assert empty
    assert all(complaint.startswith(f"{AT}.{name}") for complaint in empty)


def test_the_claim_of_an_ephemeral_volume_cannot_be_used_by_name() -> None:
    made = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": TEMPLATE}}
    used = {"name": "v", "persistentVolumeClaim": {"claimName": "web-scratch"}}
    assert of(made, used) == [
        'spec.volumes[1].persistentVolumeClaim.claimName: Invalid value: "web-scratch": '
        "must not reference a PVC that gets created for an ephemeral volume"
    ]


def test_the_claim_of_an_ephemeral_volume_needs_a_name_that_fits() -> None:
    pod = a_pod(volumes=[volume(ephemeral={"volumeClaimTemplate": TEMPLATE})])
    fits, too_long = "p" * 251, "p" * 252
    assert create(POD, merged(pod, {"metadata": {"name": fits}})) == []
    assert create(POD, merged(pod, {"metadata": {"name": too_long}})) == [
        f'{AT}.name: Invalid value: "v": PVC name "{too_long}-v": '
        "must be no more than 253 characters"
    ]


def test_a_volume_that_is_refused_cannot_be_mounted() -> None:
    container = {
        "name": "c",
        "image": "i",
        "volumeMounts": [{"name": "v", "mountPath": "/data"}],
    }
    assert complaints(container, volumes=[volume(csi={})]) == [
        f"{AT}.csi.driver: Required value",
        'spec.containers[0].volumeMounts[0].name: Not found: "v"',
    ]


@pytest.mark.parametrize("name", load().message("core.v1.VolumeSource").fields)
def test_every_source_that_can_be_written_has_rules(name: str) -> None:
    assert not any("must specify a volume type" in text for text in of(volume(**{name: {}})))


def test_every_source_that_can_be_written_can_be_read() -> None:
    known = {field.encode_name for field in msgspec.structs.fields(PodVolume)}
    assert load().message("core.v1.VolumeSource").fields.keys() <= known


@pytest.mark.parametrize("name", load().message("core.v1.VolumeProjection").fields)
def test_every_projection_that_can_be_written_has_rules(name: str) -> None:
    of(volume(projected={"sources": [{name: {}}]}))
