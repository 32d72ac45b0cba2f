"""PersistentVolumes as controllers read them."""

from typing import Any

import pytest

from mooring.model.keys import Key
from mooring.model.quantity import parse
from mooring.model.reference import SecretReference
from mooring.model.storage_terms import AccessMode, ReclaimPolicy, VolumeMode
from mooring.model.volume import Volume, VolumePhase
from mooring.model.volume_source import (
    CsiSource,
    FcSource,
    HostPathSource,
    IscsiSource,
    LocalSource,
    NfsSource,
)
from tests.unit.model.reading import read

DOCUMENT: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "PersistentVolume",
    "metadata": {
        "name": "pvc-7f",
        "uid": "u-pv",
        "resourceVersion": "812",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": {"topology.kubernetes.io/zone": "z1"},
        "annotations": {
            "pv.kubernetes.io/provisioned-by": "ebs.csi.example.com",
            "pv.kubernetes.io/bound-by-controller": "yes",
        },
        "finalizers": ["kubernetes.io/pv-protection", "external-attacher/ebs-csi-example-com"],
        "managedFields": [{"manager": "csi-provisioner", "operation": "Update"}],
    },
    "spec": {
        "capacity": {"storage": "8Gi"},
        "accessModes": ["ReadWriteOnce", "ReadWriteOncePod"],
        "persistentVolumeReclaimPolicy": "Delete",
        "storageClassName": "fast",
        "volumeMode": "Block",
        "mountOptions": ["noatime"],
        "volumeAttributesClassName": "gold",
        "claimRef": {
            "kind": "PersistentVolumeClaim",
            "apiVersion": "v1",
            "namespace": "ns",
            "name": "data",
            "uid": "u-pvc",
            "resourceVersion": "801",
        },
        "csi": {
            "driver": "ebs.csi.example.com",
            "volumeHandle": "vol-1",
            "fsType": "ext4",
            "volumeAttributes": {"tier": "gold"},
            "nodeStageSecretRef": {"name": "login", "namespace": "kube-system"},
        },
        "nodeAffinity": {
            "required": {
                "nodeSelectorTerms": [
                    {
                        "matchExpressions": [
                            {
                                "key": "topology.kubernetes.io/zone",
                                "operator": "In",
                                "values": ["z1"],
                            }
                        ]
                    }
                ]
            }
        },
    },
    "status": {"phase": "Bound", "lastPhaseTransitionTime": "2026-01-01T00:00:03Z"},
}


def a_volume(
    spec: dict[str, Any] | None = None, phase: str = "Available", **annotations: str
) -> Volume:
    return read(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": "pv", "annotations": annotations},
            "spec": spec or {},
            "status": {"phase": phase},
        },
        Volume,
    )


def test_a_provisioned_volume() -> None:
    volume = read(DOCUMENT, Volume)
    assert volume.key == Key("", "pvc-7f")
    assert volume.size == parse("8Gi")
    assert volume.storage_class == "fast"
    assert volume.spec.access_modes == (AccessMode.ONCE, AccessMode.ONCE_POD)
    assert volume.spec.reclaim_policy is ReclaimPolicy.DELETE
    assert volume.spec.volume_mode is VolumeMode.BLOCK
    assert volume.spec.mount_options == ("noatime",)
    assert volume.spec.volume_attributes_class_name == "gold"
    assert volume.spec.csi == CsiSource(
        "ebs.csi.example.com",
        "vol-1",
        fs_type="ext4",
        volume_attributes={"tier": "gold"},
        node_stage_secret_ref=SecretReference("login", "kube-system"),
    )
    assert volume.spec.claim_ref is not None
    assert volume.spec.claim_ref.points_at(Key("ns", "data"), "u-pvc")
    assert volume.status.last_phase_transition_time == "2026-01-01T00:00:03Z"
    assert volume.is_bound
    assert volume.is_bound_by_controller
    assert volume.provisioned_by == "ebs.csi.example.com"
    assert volume.migrated_to == ""
    assert not volume.is_deleting


def test_a_bare_volume_has_the_defaults_of_the_api() -> None:
    volume = a_volume()
    assert volume.spec.reclaim_policy is ReclaimPolicy.RETAIN
    assert volume.spec.volume_mode is VolumeMode.FILESYSTEM
    assert volume.size == parse("0")
    assert volume.storage_class == ""
    assert volume.spec.find_source() is None
    assert not volume.is_bound_by_controller


CLASSES: dict[str, tuple[dict[str, Any], dict[str, str], str]] = {
    "spec": ({"storageClassName": "fast"}, {}, "fast"),
    "the annotation beats the spec": (
        {"storageClassName": "fast"},
        {"volume.beta.kubernetes.io/storage-class": "old"},
        "old",
    ),
    "even when it is empty": (
        {"storageClassName": "fast"},
        {"volume.beta.kubernetes.io/storage-class": ""},
        "",
    ),
}


@pytest.mark.parametrize(("spec", "annotations", "name"), CLASSES.values(), ids=CLASSES)
def test_class(spec: dict[str, Any], annotations: dict[str, str], name: str) -> None:
    assert a_volume(spec, **annotations).storage_class == name


@pytest.mark.parametrize("phase", list(VolumePhase))
def test_phase_questions_answer_for_their_phase_alone(phase: VolumePhase) -> None:
    volume = a_volume(phase=phase)
    assert volume.is_available is (phase == "Available")
    assert volume.is_bound is (phase == "Bound")
    assert volume.is_released is (phase == "Released")


SOURCES: dict[str, tuple[dict[str, Any], object]] = {
    "hostPath": ({"path": "/data", "type": "Directory"}, HostPathSource("/data", "Directory")),
    "local": ({"path": "/mnt/d1", "fsType": "xfs"}, LocalSource("/mnt/d1", "xfs")),
    "nfs": ({"server": "s", "path": "/e", "readOnly": True}, NfsSource("s", "/e", read_only=True)),
    "scaleIO": ({"gateway": "g"}, {"gateway": "g"}),
    "iscsi": (
        {"targetPortal": "10.0.0.1", "iqn": "iqn.x", "lun": 1, "chapAuthSession": True},
        IscsiSource("10.0.0.1", "iqn.x", 1, chap_auth_session=True),
    ),
    "fc": ({"targetWWNs": ["5006"], "lun": 2}, FcSource(("5006",), 2)),
}


@pytest.mark.parametrize("name", SOURCES)
def test_source(name: str) -> None:
    document, source = SOURCES[name]
    assert a_volume({name: document}).spec.find_source() == (name, source)


NODES = {
    "in its zone": (DOCUMENT["spec"], {"topology.kubernetes.io/zone": "z1"}, True),
    "in another zone": (DOCUMENT["spec"], {"topology.kubernetes.io/zone": "z2"}, False),
    "a volume that does not mind": ({}, {}, True),
    "an affinity that asks nothing": ({"nodeAffinity": {}}, {}, True),
    "an affinity without terms chooses no node": (
        {"nodeAffinity": {"required": {"nodeSelectorTerms": []}}},
        {},
        False,
    ),
}


@pytest.mark.parametrize(("spec", "labels", "answer"), NODES.values(), ids=NODES)
def test_reachable(spec: dict[str, Any], labels: dict[str, str], answer: bool) -> None:  # noqa: FBT001 - a column
    assert a_volume(spec).is_reachable_from(labels, {"metadata.name": "n1"}) is answer
