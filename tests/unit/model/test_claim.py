"""PersistentVolumeClaims as controllers read them."""

from typing import Any

import pytest

from mooring.model.claim import Claim, ClaimPhase
from mooring.model.condition import find_condition
from mooring.model.keys import Key
from mooring.model.quantity import ZERO, parse
from mooring.model.reference import TypedObjectReference
from mooring.model.storage_terms import AccessMode, VolumeMode
from tests.unit.model.reading import read

BETA_CLASS = "volume.beta.kubernetes.io/storage-class"

DOCUMENT: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {
        "name": "data",
        "namespace": "ns",
        "uid": "u-pvc",
        "deletionTimestamp": "2026-01-03T00:00:00Z",
        "deletionGracePeriodSeconds": 0,
        "finalizers": ["kubernetes.io/pvc-protection"],
        "annotations": {
            "pv.kubernetes.io/bind-completed": "yes",
            "pv.kubernetes.io/bound-by-controller": "yes",
            "volume.kubernetes.io/storage-provisioner": "ebs.csi.example.com",
            "volume.kubernetes.io/selected-node": "n1",
        },
    },
    "spec": {
        "accessModes": ["ReadWriteMany"],
        "resources": {"requests": {"storage": "10Gi"}},
        "selector": {"matchLabels": {"tier": "gold"}},
        "storageClassName": "fast",
        "volumeMode": "Filesystem",
        "volumeName": "pvc-7f",
        "dataSource": {"apiGroup": None, "kind": "PersistentVolumeClaim", "name": "seed"},
        "dataSourceRef": {
            "apiGroup": "snapshot.storage.k8s.io",
            "kind": "VolumeSnapshot",
            "name": "snap",
            "namespace": "other",
        },
        "volumeAttributesClassName": "gold",
    },
    "status": {
        "phase": "Bound",
        "accessModes": ["ReadWriteMany"],
        "capacity": {"storage": "8Gi"},
        "allocatedResources": {"storage": "10Gi"},
        "allocatedResourceStatuses": {"storage": "NodeResizePending"},
        "currentVolumeAttributesClassName": "silver",
        "modifyVolumeStatus": {
            "status": "InProgress",
            "targetVolumeAttributesClassName": "gold",
        },
        "conditions": [
            {
                "type": "FileSystemResizePending",
                "status": "True",
                "lastProbeTime": None,
                "lastTransitionTime": "2026-01-02T00:00:00Z",
                "message": "Waiting",
            }
        ],
    },
}


def a_claim(spec: dict[str, Any], annotations: dict[str, str]) -> Claim:
    return read(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data", "namespace": "ns", "annotations": annotations},
            "spec": spec,
        },
        Claim,
    )


def test_a_bound_claim() -> None:
    claim = read(DOCUMENT, Claim)
    assert claim.key == Key("ns", "data")
    assert claim.requested == parse("10Gi")
    assert claim.capacity == parse("8Gi")
    assert claim.storage_class == "fast"
    assert claim.spec.access_modes == (AccessMode.MANY,)
    assert claim.spec.volume_mode is VolumeMode.FILESYSTEM
    assert claim.spec.volume_name == "pvc-7f"
    assert claim.spec.selector is not None
    assert claim.spec.selector.selector().matches({"tier": "gold"})
    assert claim.spec.data_source == TypedObjectReference("PersistentVolumeClaim", "seed")
    assert claim.spec.data_source_ref == TypedObjectReference(
        "VolumeSnapshot", "snap", "snapshot.storage.k8s.io", "other"
    )
    assert claim.status.phase is ClaimPhase.BOUND
    assert claim.status.allocated_resources == {"storage": "10Gi"}
    assert claim.status.allocated_resource_statuses == {"storage": "NodeResizePending"}
    assert claim.status.current_volume_attributes_class_name == "silver"
    assert claim.status.modify_volume_status is not None
    assert claim.status.modify_volume_status.target_volume_attributes_class_name == "gold"
    waiting = find_condition(claim.status.conditions, "FileSystemResizePending")
    assert waiting is not None
    assert waiting.is_true
    assert claim.is_bound
    assert claim.is_bind_completed
    assert claim.is_bound_by_controller
    assert claim.is_deleting
    assert claim.provisioner == "ebs.csi.example.com"
    assert claim.selected_node == "n1"


def test_a_new_claim() -> None:
    claim = a_claim({}, {})
    assert claim.status.phase is ClaimPhase.PENDING
    assert claim.requested == ZERO
    assert claim.capacity == ZERO
    assert not claim.is_bound
    assert not claim.is_bind_completed
    assert not claim.is_bound_by_controller
    assert not claim.is_deleting
    assert claim.provisioner == ""
    assert claim.selected_node == ""


CLASSES: dict[str, tuple[dict[str, Any], dict[str, str], str, bool]] = {
    "nothing said: a default class may come": ({}, {}, "", False),
    "explicitly none is a class": ({"storageClassName": ""}, {}, "", True),
    "a name": ({"storageClassName": "fast"}, {}, "fast", True),
    "the annotation beats the spec": (
        {"storageClassName": "fast"},
        {BETA_CLASS: "old"},
        "old",
        True,
    ),
    "even when it is empty": ({"storageClassName": "fast"}, {BETA_CLASS: ""}, "", True),
    "the annotation alone": ({}, {BETA_CLASS: "old"}, "old", True),
}


@pytest.mark.parametrize(("spec", "annotations", "name", "said"), CLASSES.values(), ids=CLASSES)
def test_class(
    spec: dict[str, Any],
    annotations: dict[str, str],
    name: str,
    said: bool,  # noqa: FBT001 - a column
) -> None:
    claim = a_claim(spec, annotations)
    assert (claim.storage_class, claim.has_class) == (name, said)


def test_the_old_spelling_of_the_provisioner_counts_too() -> None:
    old = {"volume.beta.kubernetes.io/storage-provisioner": "a"}
    both = old | {"volume.kubernetes.io/storage-provisioner": "b"}
    assert a_claim({}, old).provisioner == "a"
    assert a_claim({}, both).provisioner == "b"
