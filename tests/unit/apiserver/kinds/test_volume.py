import pytest

from mooring.apiserver.kinds.volume import VOLUME, validate_inline_spec
from mooring.model.document import Doc
from tests.unit.apiserver.kinds.writing import (
    BEFORE,
    NO_SUBDOMAIN,
    NOW,
    create,
    created,
    merged,
    printed,
    status_updated,
    update,
    updated,
    warned,
)

SOURCE = (
    "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after "
    "creation\n"
)
MOUNT_OPTIONS = "volume.beta.kubernetes.io/mount-options"
BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
ZONE = {
    "required": {
        "nodeSelectorTerms": [
            {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
        ]
    }
}


def a_volume(**spec: object) -> Doc:
    return {
        "kind": "PersistentVolume",
        "apiVersion": "v1",
        "metadata": {"name": "pv-1", "creationTimestamp": BEFORE},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "csi": {"driver": "hostpath.csi.k8s.io", "volumeHandle": "handle-1"},
            **spec,
        },
    }


CREATED: dict[str, tuple[Doc, list[str]]] = {
    "a CSI volume is fine": ({}, []),
    "no access mode is refused": (
        {"spec": {"accessModes": []}},
        ["spec.accessModes: Required value"],
    ),
    "an unknown access mode is named": (
        {"spec": {"accessModes": ["RWO"]}},
        [
            'spec.accessModes: Unsupported value: "RWO": supported values: "ReadOnlyMany", '
            '"ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"'
        ],
    ),
    "one pod's own mode excludes the others": (
        {"spec": {"accessModes": ["ReadWriteOncePod", "ReadWriteMany"]}},
        ["spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes"],
    ),
    "a capacity is required": (
        {"spec": {"capacity": None}},
        [
            "spec.capacity: Required value",
            'spec.capacity: Unsupported value: null: supported values: "storage"',
        ],
    ),
    "a capacity of something else is refused": (
        {"spec": {"capacity": {"storage": None, "cpu": "1"}}},
        ['spec.capacity: Unsupported value: {"cpu":"1"}: supported values: "storage"'],
    ),
    "a capacity of something more is refused": (
        {"spec": {"capacity": {"cpu": "1"}}},
        [
            'spec.capacity: Unsupported value: {"storage":"1Gi","cpu":"1"}: '
            'supported values: "storage"'
        ],
    ),
    "a capacity of nothing is refused": (
        {"spec": {"capacity": {"storage": "0"}}},
        ['spec.capacity[storage]: Invalid value: "0": must be greater than zero'],
    ),
    "a negative capacity is refused twice": (
        {"spec": {"capacity": {"storage": "-1Ki"}}},
        [
            "spec.capacity[storage]: Invalid value: -1024: must be a valid resource quantity",
            'spec.capacity[storage]: Invalid value: "-1Ki": must be greater than zero',
        ],
    ),
    "an unknown reclaim policy is named": (
        {"spec": {"persistentVolumeReclaimPolicy": "Burn"}},
        [
            'spec.persistentVolumeReclaimPolicy: Unsupported value: "Burn": '
            'supported values: "Delete", "Recycle", "Retain"'
        ],
    ),
    "a volume needs a source": (
        {"spec": {"csi": None}},
        ["spec: Required value: must specify a volume type"],
    ),
    "a volume has one source": (
        {"spec": {"nfs": {"server": "s", "path": "/"}}},
        ["spec.csi: Forbidden: may not specify more than 1 volume type"],
    ),
    "a local volume needs to say where": (
        {"spec": {"csi": None, "local": {"path": "/mnt"}}},
        ["spec.nodeAffinity: Required value: Local volume requires node affinity"],
    ),
    "a local volume that says where is fine": (
        {"spec": {"csi": None, "local": {"path": "/mnt"}, "nodeAffinity": ZONE}},
        [],
    ),
    "an affinity has something required": (
        {"spec": {"nodeAffinity": {}}},
        ["spec.nodeAffinity.required: Required value: must specify required node constraints"],
    ),
    "recycling the host's root is refused": (
        {
            "spec": {
                "csi": None,
                "hostPath": {"path": "//."},
                "persistentVolumeReclaimPolicy": "Recycle",
            }
        },
        [
            "spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath "
            "mount of '/'"
        ],
    ),
    "recycling a directory is fine": (
        {
            "spec": {
                "csi": None,
                "hostPath": {"path": "/data"},
                "persistentVolumeReclaimPolicy": "Recycle",
            }
        },
        [],
    ),
    "a class has a DNS name": (
        {"spec": {"storageClassName": "Not_A_Name"}},
        [f'spec.storageClassName: Invalid value: "Not_A_Name": {NO_SUBDOMAIN}'],
    ),
    "an unknown volume mode is named": (
        {"spec": {"volumeMode": "Tape"}},
        ['spec.volumeMode: Unsupported value: "Tape": supported values: "Block", "Filesystem"'],
    ),
    "an attributes class is fine on a CSI volume": (
        {"spec": {"volumeAttributesClassName": "gold"}},
        [],
    ),
    "an attributes class is not empty": (
        {"spec": {"volumeAttributesClassName": ""}},
        ["spec.volumeAttributesClassName: Required value: an empty string is disallowed"],
    ),
    "an attributes class has a DNS name": (
        {"spec": {"volumeAttributesClassName": "Not_A_Name"}},
        [f'spec.volumeAttributesClassName: Invalid value: "Not_A_Name": {NO_SUBDOMAIN}'],
    ),
    "an attributes class needs a CSI driver": (
        {
            "spec": {
                "csi": None,
                "nfs": {"server": "s", "path": "/"},
                "volumeAttributesClassName": "gold",
            }
        },
        ["spec.csi: Required value: has to be specified when using volumeAttributesClassName"],
    ),
    "mount options are not looked at": ({"spec": {"mountOptions": ["; rm -rf /"]}}, []),
    "mount options in the annotation are not for CSI": (
        {"metadata": {"annotations": {MOUNT_OPTIONS: "ro"}}},
        [
            f"metadata.annotations.{MOUNT_OPTIONS}: Forbidden: "
            "may not specify mount options for this volume type"
        ],
    ),
    "mount options in the annotation are fine on NFS": (
        {
            "metadata": {"annotations": {MOUNT_OPTIONS: "ro"}},
            "spec": {"csi": None, "nfs": {"server": "s", "path": "/"}},
        },
        [],
    ),
}


@pytest.mark.parametrize(("patch", "complaints"), CREATED.values(), ids=CREATED)
def test_create(patch: Doc, complaints: list[str]) -> None:
    assert create(VOLUME, merged(a_volume(), patch)) == complaints


@pytest.mark.parametrize("policy", ["Delete", "Recycle", "Retain"])
def test_every_reclaim_policy_is_known(policy: str) -> None:
    assert create(VOLUME, a_volume(persistentVolumeReclaimPolicy=policy)) == []


def test_a_new_volume_is_retained_mounted_and_pending_whatever_the_client_says() -> None:
    new = created(VOLUME, {**a_volume(), "status": {"phase": "Bound", "reason": "mine"}})
    assert new["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    assert new["spec"]["volumeMode"] == "Filesystem"
    assert new["status"] == {"phase": "Pending", "lastPhaseTransitionTime": NOW}


def test_a_volume_without_spec_is_told_what_it_lacks() -> None:
    assert create(VOLUME, {"metadata": {"name": "pv-1"}}) == [
        "spec.accessModes: Required value",
        "spec.capacity: Required value",
        'spec.capacity: Unsupported value: null: supported values: "storage"',
        "spec: Required value: must specify a volume type",
    ]


SECRET = {"name": "s", "namespace": "ns"}

UPDATED: dict[str, tuple[Doc, Doc, list[str]]] = {
    "nothing changed is fine": ({}, {}, []),
    "capacity may grow": ({}, {"spec": {"capacity": {"storage": "2Gi"}}}, []),
    "capacity may shrink": ({}, {"spec": {"capacity": {"storage": "1Mi"}}}, []),
    "access modes may change": ({}, {"spec": {"accessModes": ["ReadOnlyMany"]}}, []),
    "a claim may be pointed at": ({}, {"spec": {"claimRef": {"name": "a"}}}, []),
    "the reclaim policy may change": (
        {},
        {"spec": {"persistentVolumeReclaimPolicy": "Delete"}},
        [],
    ),
    "the class may change": ({}, {"spec": {"storageClassName": "slow"}}, []),
    "mount options may change": ({}, {"spec": {"mountOptions": ["ro"]}}, []),
    "the handle may not change": (
        {},
        {"spec": {"csi": {"volumeHandle": "handle-2"}}},
        [SOURCE + 'spec.csi.volumeHandle: "handle-1" -> "handle-2"'],
    ),
    "the source may not be exchanged": (
        {},
        {"spec": {"csi": None, "nfs": {"server": "s", "path": "/"}}},
        [
            SOURCE
            + 'spec.csi: {"driver":"hostpath.csi.k8s.io","volumeHandle":"handle-1"} -> null\n'
            'spec.nfs: null -> {"server":"s","path":"/"}'
        ],
    ),
    "an empty field of the source is no change": ({}, {"spec": {"csi": {"fsType": ""}}}, []),
    "a secret for expansion may be added": (
        {},
        {"spec": {"csi": {"controllerExpandSecretRef": SECRET}}},
        [],
    ),
    "a secret for expansion may not change": (
        {"csi": {"driver": "d", "volumeHandle": "h", "controllerExpandSecretRef": SECRET}},
        {"spec": {"csi": {"controllerExpandSecretRef": {"name": "other"}}}},
        [SOURCE + 'spec.csi.controllerExpandSecretRef.name: "s" -> "other"'],
    ),
    "another secret may not be added": (
        {},
        {"spec": {"csi": {"nodePublishSecretRef": SECRET}}},
        [SOURCE + 'spec.csi.nodePublishSecretRef: null -> {"name":"s","namespace":"ns"}'],
    ),
    "the volume mode may not change": (
        {},
        {"spec": {"volumeMode": "Block"}},
        ['volumeMode: Invalid value: "Block": field is immutable'],
    ),
    "an affinity may be given once": ({}, {"spec": {"nodeAffinity": ZONE}}, []),
    "an affinity may not go": (
        {"nodeAffinity": ZONE},
        {"spec": {"nodeAffinity": None}},
        [
            "nodeAffinity: Invalid value: null: field is immutable, "
            "except for updating from beta label to GA"
        ],
    ),
    "an attributes class may change": (
        {"volumeAttributesClassName": "gold"},
        {"spec": {"volumeAttributesClassName": "silver"}},
        [],
    ),
    "an attributes class may not go": (
        {"volumeAttributesClassName": "gold"},
        {"spec": {"volumeAttributesClassName": None}},
        [
            "spec.volumeAttributesClassName: Forbidden: "
            "update from non-nil value to nil is forbidden"
        ],
    ),
}


@pytest.mark.parametrize(("spec", "patch", "complaints"), UPDATED.values(), ids=UPDATED)
def test_update(spec: Doc, patch: Doc, complaints: list[str]) -> None:
    assert update(VOLUME, created(VOLUME, a_volume(**spec)), patch) == complaints


def test_an_update_changes_neither_document_it_compares() -> None:
    old = created(VOLUME, a_volume())
    new = updated(
        VOLUME, old, merged(old, {"spec": {"csi": {"controllerExpandSecretRef": SECRET}}})
    )
    list(VOLUME.validate_update(new, old))
    assert new["spec"]["csi"]["controllerExpandSecretRef"] == SECRET
    assert "controllerExpandSecretRef" not in old["spec"]["csi"]


def test_the_main_path_cannot_touch_status() -> None:
    old = created(VOLUME, a_volume())
    assert (
        updated(VOLUME, old, merged(old, {"status": {"phase": "Bound"}}))["status"]
        == (old["status"])
    )


TRANSITIONS: dict[str, tuple[Doc, Doc, str | None]] = {
    "a change of phase is noted": (
        {"phase": "Pending", "lastPhaseTransitionTime": BEFORE},
        {"phase": "Available"},
        NOW,
    ),
    "a change of phase with the old time is noted": (
        {"phase": "Pending", "lastPhaseTransitionTime": BEFORE},
        {"phase": "Available", "lastPhaseTransitionTime": BEFORE},
        NOW,
    ),
    "a change of phase with a time of its own is believed": (
        {"phase": "Pending", "lastPhaseTransitionTime": BEFORE},
        {"phase": "Available", "lastPhaseTransitionTime": "2026-01-01T12:00:00Z"},
        "2026-01-01T12:00:00Z",
    ),
    "without a change of phase the time stays": (
        {"phase": "Bound", "lastPhaseTransitionTime": BEFORE},
        {"phase": "Bound", "message": "still"},
        BEFORE,
    ),
    "without a change of phase a time that is given is taken": (
        {"phase": "Bound", "lastPhaseTransitionTime": BEFORE},
        {"phase": "Bound", "lastPhaseTransitionTime": "2026-01-01T12:00:00Z"},
        "2026-01-01T12:00:00Z",
    ),
    "an unknown time stays unknown": ({"phase": "Bound"}, {"phase": "Bound"}, None),
    "any phase will do": ({"phase": "Bound"}, {"phase": "Sunk"}, NOW),
}


@pytest.mark.parametrize(("before", "now", "time"), TRANSITIONS.values(), ids=TRANSITIONS)
def test_the_time_of_the_last_transition(before: Doc, now: Doc, time: str | None) -> None:
    old = {**created(VOLUME, a_volume()), "status": before}
    new = status_updated(VOLUME, old, {**old, "spec": {}, "status": now})
    assert new["spec"] == old["spec"]
    assert new["status"]["phase"] == now["phase"]
    assert new["status"].get("lastPhaseTransitionTime") == time
    assert list(VOLUME.validate_status(new, old)) == []


WARNINGS: dict[str, tuple[Doc, list[str]]] = {
    "a plain volume earns none": ({}, []),
    "recycling": (
        {"spec": {"persistentVolumeReclaimPolicy": "Recycle"}},
        [
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. "
            "Instead, the recommended approach is to use dynamic provisioning."
        ],
    ),
    "class and mount options in annotations": (
        {"metadata": {"annotations": {BETA_CLASS: "a", MOUNT_OPTIONS: "b"}}},
        [
            f"metadata.annotations[{BETA_CLASS}]: deprecated since v1.8; "
            'use "storageClassName" attribute instead',
            f"metadata.annotations[{MOUNT_OPTIONS}]: deprecated since v1.31; "
            'use "mountOptions" attribute instead',
        ],
    ),
    "a label with a successor": (
        {
            "spec": {
                "nodeAffinity": {
                    "required": {
                        "nodeSelectorTerms": [
                            {
                                "matchExpressions": [
                                    {"key": "beta.kubernetes.io/os", "operator": "Exists"}
                                ]
                            }
                        ]
                    }
                }
            }
        },
        [
            "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: "
            "beta.kubernetes.io/os is deprecated since v1.14; "
            'use "kubernetes.io/os" instead'
        ],
    ),
    "a source without effect": (
        {"spec": {"csi": None, "storageos": {"volumeName": "a"}}},
        ["spec.storageOS: deprecated in v1.22, non-functional in v1.25+"],
    ),
}


@pytest.mark.parametrize(("patch", "words"), WARNINGS.values(), ids=WARNINGS)
def test_warnings(patch: Doc, words: list[str]) -> None:
    assert warned(VOLUME, merged(a_volume(), patch)) == words


INLINE: dict[str, tuple[Doc, list[str]]] = {
    "a CSI source with modes is fine": ({}, []),
    "filesystem and Retain may be spelt out": (
        {"volumeMode": "Filesystem", "persistentVolumeReclaimPolicy": "Retain"},
        [],
    ),
    "no claim": (
        {"claimRef": {"name": "a"}},
        ["in.claimRef: Forbidden: may not be specified in the context of inline volumes"],
    ),
    "no capacity": (
        {"capacity": {"storage": "1Gi"}},
        ["in.capacity: Forbidden: may not be specified in the context of inline volumes"],
    ),
    "no class": (
        {"storageClassName": "fast"},
        ["in.storageClassName: Forbidden: may not be specified in the context of inline volumes"],
    ),
    "no affinity": (
        {"nodeAffinity": {}},
        ["in.nodeAffinity: Forbidden: may not be specified in the context of inline volumes"],
    ),
    "no policy but Retain": (
        {"persistentVolumeReclaimPolicy": "Delete"},
        [
            "in.persistentVolumeReclaimPolicy: Forbidden: "
            "may only be Retain in the context of inline volumes"
        ],
    ),
    "no block mode": (
        {"volumeMode": "Block"},
        [
            "in.volumeMode: Forbidden: may not specify volumeMode other than Filesystem "
            "in the context of inline volumes"
        ],
    ),
    "modes are required": ({"accessModes": None}, ["in.accessModes: Required value"]),
    "nothing but CSI": (
        {"csi": None, "nfs": {"server": "s", "path": "/"}},
        ["in.csi: Required value: has to be specified in the context of inline volumes"],
    ),
    "the source is checked": (
        {"csi": {"volumeHandle": None}},
        ["in.csi.volumeHandle: Required value"],
    ),
}


@pytest.mark.parametrize(("patch", "complaints"), INLINE.values(), ids=INLINE)
def test_inline_in_an_attachment(patch: Doc, complaints: list[str]) -> None:
    spec = merged(
        {"accessModes": ["ReadWriteOnce"], "csi": {"driver": "d", "volumeHandle": "h"}}, patch
    )
    assert [str(e) for e in validate_inline_spec(spec, "in")] == complaints


def test_a_bound_volume_prints_whose_it_is() -> None:
    claim = {"namespace": "default", "name": "data"}
    bound = {
        **created(VOLUME, a_volume(claimRef=claim, storageClassName="fast")),
        "status": {"phase": "Bound"},
    }
    assert printed(VOLUME, bound) == {
        "Name": "pv-1",
        "Capacity": "1Gi",
        "Access Modes": "RWO",
        "Reclaim Policy": "Retain",
        "Status": "Bound",
        "Claim": "default/data",
        "StorageClass": "fast",
        "VolumeAttributesClass": "<unset>",
        "Reason": "",
        "Age": "27h",
        "VolumeMode": "Filesystem",
    }


PRINTED: dict[str, tuple[Doc, dict[str, str]]] = {
    "without a claim the cell is empty": ({}, {"Claim": "", "StorageClass": ""}),
    "one that is being deleted says so": (
        {"metadata": {"deletionTimestamp": BEFORE}},
        {"Status": "Terminating"},
    ),
    "a failed one says why": (
        {"status": {"phase": "Failed", "reason": "VolumeFailedDelete"}},
        {"Status": "Failed", "Reason": "VolumeFailedDelete"},
    ),
    "the annotation names the class": (
        {"metadata": {"annotations": {BETA_CLASS: "slow"}}, "spec": {"storageClassName": "fast"}},
        {"StorageClass": "slow"},
    ),
    "block mode and attributes class are printed": (
        {"spec": {"volumeMode": "Block", "volumeAttributesClassName": "gold"}},
        {"VolumeMode": "Block", "VolumeAttributesClass": "gold"},
    ),
}


@pytest.mark.parametrize(("patch", "cells"), PRINTED.values(), ids=PRINTED)
def test_cells(patch: Doc, cells: dict[str, str]) -> None:
    row = printed(VOLUME, merged(created(VOLUME, a_volume()), patch))
    assert {name: row[name] for name in cells} == cells


def test_only_the_volume_mode_is_for_wide_output() -> None:
    assert [column.name for column in VOLUME.columns if column.wide] == ["VolumeMode"]
