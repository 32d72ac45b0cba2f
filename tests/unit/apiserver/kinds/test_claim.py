import pytest

from mooring.apiserver.kinds.claim import CLAIM, validate_spec
from mooring.model.document import Doc
from mooring.model.quantity import canonical_resource
from tests.unit.apiserver.kinds.writing import (
    BEFORE,
    NO_KEY,
    NO_SUBDOMAIN,
    create,
    created,
    merged,
    printed,
    status_updated,
    update,
    update_status,
    updated,
    warned,
)

BETA = "volume.beta.kubernetes.io/storage-class"
POD_MODE = "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes"
SHRUNK = "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"
FROZEN = (
    "spec: Forbidden: spec is immutable after creation except resources.requests and "
    "volumeAttributesClassName for bound claims\n"
)
VAC = "spec.volumeAttributesClassName"


def a_claim(**spec: object) -> Doc:
    return {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "metadata": {"name": "data", "namespace": "default", "creationTimestamp": BEFORE},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            **spec,
        },
    }


def a_bound_claim(**spec: object) -> Doc:
    bound = created(CLAIM, a_claim(volumeName="pv-1", storageClassName="fast", **spec))
    bound["status"] = {
        "phase": "Bound",
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
    }
    return bound


def asking(amount: str) -> Doc:
    return {"spec": {"resources": {"requests": {"storage": amount}}}}


CREATED: dict[str, tuple[Doc, list[str]]] = {
    "a claim is fine": ({}, []),
    "no access mode is refused": (
        {"spec": {"accessModes": []}},
        ["spec.accessModes: Required value: at least 1 access mode is required"],
    ),
    "absent access modes are refused": (
        {"spec": {"accessModes": None}},
        ["spec.accessModes: Required value: at least 1 access mode is required"],
    ),
    "an abbreviated access mode is unknown": (
        {"spec": {"accessModes": ["RWO"]}},
        [
            'spec.accessModes: Unsupported value: "RWO": supported values: "ReadOnlyMany", '
            '"ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"'
        ],
    ),
    "one pod's own mode excludes the others": (
        {"spec": {"accessModes": ["ReadWriteOncePod", "ReadWriteOnce"]}},
        [POD_MODE],
    ),
    "access modes may repeat": (
        {"spec": {"accessModes": ["ReadWriteOnce", "ReadWriteOnce"]}},
        [],
    ),
    "a size is required": (
        {"spec": {"resources": None}},
        ["spec.resources[storage]: Required value"],
    ),
    "another resource is no size": (
        {"spec": {"resources": {"requests": {"storage": None, "cpu": "1"}}}},
        ["spec.resources[storage]: Required value"],
    ),
    "a size of nothing is refused": (
        asking("0"),
        ['spec.resources[storage]: Invalid value: "0": must be greater than zero'],
    ),
    "a size below nothing is refused": (
        asking("-1Gi"),
        ['spec.resources[storage]: Invalid value: "-1Gi": must be greater than zero'],
    ),
    "a fraction of a byte is no error": (asking("1500m"), []),
    "other resources and limits are not looked at": (
        {"spec": {"resources": {"requests": {"cpu": "-1"}, "limits": {"storage": "-1"}}}},
        [],
    ),
    "an empty class is a choice": ({"spec": {"storageClassName": ""}}, []),
    "a class has a DNS name": (
        {"spec": {"storageClassName": "Not_A_Name"}},
        [f'spec.storageClassName: Invalid value: "Not_A_Name": {NO_SUBDOMAIN}'],
    ),
    "block mode is fine": ({"spec": {"volumeMode": "Block"}}, []),
    "another volume mode is unknown": (
        {"spec": {"volumeMode": "Tape"}},
        ['spec.volumeMode: Unsupported value: "Tape": supported values: "Block", "Filesystem"'],
    ),
    "the volume's name may be anything": ({"spec": {"volumeName": "Not_A_Name"}}, []),
    "a selector keeps to the syntax": (
        {"spec": {"selector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}},
        [
            "spec.selector.matchExpressions[0].operator: Invalid value: "
            '"Near": not a valid selector operator'
        ],
    ),
    "data sources that differ are refused": (
        {
            "spec": {
                "dataSource": {"kind": "PersistentVolumeClaim", "name": "a"},
                "dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "b"},
            }
        },
        ["spec: Invalid value: {}: must match dataSourceRef"],
    ),
    "a core data source is a claim": (
        {"spec": {"dataSourceRef": {"kind": "Pod", "name": "a"}}},
        [
            f'spec.{field}: Invalid value: "Pod": must be '
            "'PersistentVolumeClaim' when referencing the default apiGroup"
            for field in ("dataSource", "dataSourceRef")
        ],
    ),
    "an empty attributes class is fine": ({"spec": {"volumeAttributesClassName": ""}}, []),
    "an attributes class has a DNS name": (
        {"spec": {"volumeAttributesClassName": "Not_A_Name"}},
        [f'{VAC}: Invalid value: "Not_A_Name": {NO_SUBDOMAIN}'],
    ),
    "all that is wrong is told at once": (
        {"spec": {"accessModes": None, "resources": None}},
        [
            "spec.accessModes: Required value: at least 1 access mode is required",
            "spec.resources[storage]: Required value",
        ],
    ),
}


@pytest.mark.parametrize(("patch", "complaints"), CREATED.values(), ids=CREATED)
def test_create(patch: Doc, complaints: list[str]) -> None:
    assert create(CLAIM, merged(a_claim(), patch)) == complaints


def test_a_new_claim_is_a_pending_filesystem_whatever_the_client_says() -> None:
    given = {**a_claim(), "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}}
    new = created(CLAIM, given)
    assert new["spec"]["volumeMode"] == "Filesystem"
    assert new["status"] == {"phase": "Pending"}


def test_a_claim_without_spec_is_told_what_it_lacks() -> None:
    assert create(CLAIM, {"metadata": {"name": "data"}}) == [
        "spec.accessModes: Required value: at least 1 access mode is required",
        "spec.resources[storage]: Required value",
    ]


def test_a_data_source_is_kept_in_both_fields() -> None:
    source = {"kind": "PersistentVolumeClaim", "name": "a"}
    new = created(CLAIM, a_claim(dataSource=source))
    assert new["spec"]["dataSourceRef"] == source


def test_a_data_source_that_is_neither_claim_nor_snapshot_is_ignored() -> None:
    new = created(CLAIM, a_claim(dataSource={"kind": "Secret", "name": "a"}))
    assert "dataSource" not in new["spec"]


@pytest.mark.parametrize("field", ["dataSource", "dataSourceRef"])
def test_a_template_may_use_either_field_for_its_source(field: str) -> None:
    spec = {**a_claim()["spec"], field: {"kind": "PersistentVolumeClaim"}}
    assert [str(e) for e in validate_spec(spec, "spec")] == [f"spec.{field}.name: Required value"]


def test_a_template_is_told_off_at_its_own_path() -> None:
    path = "spec.volumes[0].ephemeral.volumeClaimTemplate.spec"
    assert [str(e) for e in validate_spec({"storageClassName": "Not_A_Name"}, path)] == [
        f"{path}.accessModes: Required value: at least 1 access mode is required",
        f"{path}.resources[storage]: Required value",
        f'{path}.storageClassName: Invalid value: "Not_A_Name": {NO_SUBDOMAIN}',
    ]


UNBOUND: dict[str, tuple[Doc, Doc, list[str]]] = {
    "nothing changed is fine": ({}, {}, []),
    "labels may change": ({}, {"metadata": {"labels": {"a": "b"}}}, []),
    "a volume may be named once": ({}, {"spec": {"volumeName": "pv-1"}}, []),
    "a volume may not be exchanged": (
        {"volumeName": "pv-1"},
        {"spec": {"volumeName": "pv-2"}},
        [FROZEN + 'spec.volumeName: "pv-1" -> "pv-2"'],
    ),
    "a volume may not be let go": (
        {"volumeName": "pv-1"},
        {"spec": {"volumeName": None}},
        [FROZEN + 'spec.volumeName: "pv-1" -> null'],
    ),
    "an empty volume name is no volume": ({}, {"spec": {"volumeName": ""}}, []),
    "a class may be given once": ({}, {"spec": {"storageClassName": "fast"}}, []),
    "a class may be declined once": ({}, {"spec": {"storageClassName": ""}}, []),
    "a class may not change": (
        {"storageClassName": "fast"},
        {"spec": {"storageClassName": "slow"}},
        [FROZEN + 'spec.storageClassName: "fast" -> "slow"'],
    ),
    "a declined class stays declined": (
        {"storageClassName": ""},
        {"spec": {"storageClassName": "fast"}},
        [FROZEN + 'spec.storageClassName: "" -> "fast"'],
    ),
    "a declined class may not become open again": (
        {"storageClassName": ""},
        {"spec": {"storageClassName": None}},
        [FROZEN],
    ),
    "access modes may not change": (
        {},
        {"spec": {"accessModes": ["ReadWriteMany"]}},
        [FROZEN + 'spec.accessModes: ["ReadWriteOnce"] -> ["ReadWriteMany"]'],
    ),
    "the size may not grow before binding": (
        {},
        asking("2Gi"),
        [FROZEN + 'spec.resources.requests.storage: "1Gi" -> "2Gi"'],
    ),
    "another spelling of the size is no change": ({}, asking("1073741824"), []),
    "limits may not change": (
        {},
        {"spec": {"resources": {"limits": {"storage": "2Gi"}}}},
        [FROZEN + 'spec.resources.limits: null -> {"storage":"2Gi"}'],
    ),
    "the attributes class may not change before binding": (
        {},
        {"spec": {"volumeAttributesClassName": "gold"}},
        [FROZEN + 'spec.volumeAttributesClassName: null -> "gold"'],
    ),
    "the volume mode is told twice": (
        {},
        {"spec": {"volumeMode": "Block"}},
        [
            FROZEN + 'spec.volumeMode: "Filesystem" -> "Block"',
            'volumeMode: Invalid value: "Block": field is immutable',
        ],
    ),
    "an absent volume mode is the default one": ({}, {"spec": {"volumeMode": None}}, []),
}


@pytest.mark.parametrize(("spec", "patch", "complaints"), UNBOUND.values(), ids=UNBOUND)
def test_update_before_binding(spec: Doc, patch: Doc, complaints: list[str]) -> None:
    assert update(CLAIM, created(CLAIM, a_claim(**spec)), patch) == complaints


BOUND: dict[str, tuple[Doc, list[str]]] = {
    "the size may grow": (asking("2Gi"), []),
    "the size may not go below what there is": (asking("512Mi"), [SHRUNK]),
    "the size may not be taken away": (
        {"spec": {"resources": None}},
        [
            "spec.resources[storage]: Required value",
            FROZEN + 'spec.resources: {"requests":{"storage":"1Gi"}} -> null',
            SHRUNK,
        ],
    ),
    "the attributes class may be given": ({"spec": {"volumeAttributesClassName": "gold"}}, []),
    "the selector may not change": (
        {"spec": {"selector": {"matchLabels": {"a": "b"}}}},
        [FROZEN + 'spec.selector: null -> {"matchLabels":{"a":"b"}}'],
    ),
    "growing is no cover for other changes": (
        merged(asking("2Gi"), {"spec": {"volumeName": "pv-2"}}),
        [FROZEN + 'spec.volumeName: "pv-1" -> "pv-2"'],
    ),
}


@pytest.mark.parametrize(("patch", "complaints"), BOUND.values(), ids=BOUND)
def test_update_once_bound(patch: Doc, complaints: list[str]) -> None:
    assert update(CLAIM, a_bound_claim(), patch) == complaints


RECOVERY: dict[str, tuple[str, list[str]]] = {
    "a failed expansion may be taken back to just above what there is": ("1025Mi", []),
    "but not to exactly what there is": ("1Gi", [SHRUNK]),
    "and not below": ("1023Mi", [SHRUNK]),
}


@pytest.mark.parametrize(("amount", "complaints"), RECOVERY.values(), ids=RECOVERY)
def test_recovery_from_a_failed_expansion(amount: str, complaints: list[str]) -> None:
    grown = merged(a_bound_claim(), asking("5Gi"))
    assert update(CLAIM, grown, asking(amount)) == complaints


ATTRIBUTES: dict[str, tuple[Doc, Doc, list[str]]] = {
    "a class taken on may be replaced": (
        {"currentVolumeAttributesClassName": "gold"},
        {"spec": {"volumeAttributesClassName": "silver"}},
        [],
    ),
    "a class taken on may not be taken away": (
        {"currentVolumeAttributesClassName": "gold"},
        {"spec": {"volumeAttributesClassName": None}},
        [
            f"{VAC}: Forbidden: update to nil is forbidden when "
            "status.currentVolumeAttributesClassName is not nil"
        ],
    ),
    "a class taken on may not become empty": (
        {"currentVolumeAttributesClassName": "gold"},
        {"spec": {"volumeAttributesClassName": ""}},
        [
            f"{VAC}: Forbidden: update to empty string is forbidden when "
            "status.currentVolumeAttributesClassName is not nil"
        ],
    ),
    "a class never taken on may be taken away": (
        {},
        {"spec": {"volumeAttributesClassName": None}},
        [],
    ),
}


@pytest.mark.parametrize(("status", "patch", "complaints"), ATTRIBUTES.values(), ids=ATTRIBUTES)
def test_attributes_class(status: Doc, patch: Doc, complaints: list[str]) -> None:
    old = merged(a_bound_claim(volumeAttributesClassName="gold"), {"status": status})
    assert update(CLAIM, old, patch) == complaints


CHANGED = f'metadata.annotations.{BETA}: Invalid value: "": field is immutable'

ANNOTATED: dict[str, tuple[Doc, Doc, list[str]]] = {
    "it may not change": (
        {"metadata": {"annotations": {BETA: "fast"}}},
        {"metadata": {"annotations": {BETA: "slow"}}},
        [f'metadata.annotations.{BETA}: Invalid value: "slow": field is immutable'],
    ),
    "it may not go": (
        {"metadata": {"annotations": {BETA: "fast"}}},
        {"metadata": {"annotations": None}},
        [CHANGED],
    ),
    "it may move to the field": (
        {"metadata": {"annotations": {BETA: "fast"}}},
        {"metadata": {"annotations": None}, "spec": {"storageClassName": "fast"}},
        [],
    ),
    "it may not move to another class": (
        {"metadata": {"annotations": {BETA: "fast"}}},
        {"metadata": {"annotations": None}, "spec": {"storageClassName": "slow"}},
        [CHANGED, FROZEN + 'spec.storageClassName: null -> "slow"'],
    ),
    "it may not go although the field says the same": (
        {"metadata": {"annotations": {BETA: "fast"}}, "spec": {"storageClassName": "fast"}},
        {"metadata": {"annotations": None}},
        [CHANGED],
    ),
    "the field may be given beside it": (
        {"metadata": {"annotations": {BETA: "fast"}}},
        {"spec": {"storageClassName": "fast"}},
        [],
    ),
    "the field may not contradict it": (
        {"metadata": {"annotations": {BETA: "fast"}}},
        {"spec": {"storageClassName": "slow"}},
        [FROZEN + 'spec.storageClassName: null -> "slow"'],
    ),
    "other annotations may change": ({}, {"metadata": {"annotations": {"a": "b"}}}, []),
}


@pytest.mark.parametrize(("given", "patch", "complaints"), ANNOTATED.values(), ids=ANNOTATED)
def test_the_class_in_an_annotation(given: Doc, patch: Doc, complaints: list[str]) -> None:
    assert update(CLAIM, created(CLAIM, merged(a_claim(), given)), patch) == complaints


def test_the_main_path_cannot_touch_status() -> None:
    old = a_bound_claim()
    new = updated(CLAIM, old, merged(old, {"status": {"phase": "Lost"}}))
    assert new["status"] == old["status"]


def test_the_status_path_can_touch_nothing_else() -> None:
    old = a_bound_claim()
    new = status_updated(
        CLAIM, old, merged(old, merged(asking("9Gi"), {"status": {"phase": "Lost"}}))
    )
    assert new["spec"] == old["spec"]
    assert new["status"]["phase"] == "Lost"


STATUS: dict[str, tuple[Doc, list[str]]] = {
    "the whole course of a resize is fine": (
        {
            "allocatedResources": {"storage": "2Gi", "example.com/iops": "5"},
            "allocatedResourceStatuses": {"storage": "NodeResizePending"},
        },
        [],
    ),
    "capacity is not negative": (
        {"capacity": {"storage": "-1"}},
        ["status.capacity[storage]: Invalid value: -1: must be a valid resource quantity"],
    ),
    "what is allocated is not negative": (
        {"allocatedResources": {"storage": "-1"}},
        [
            "status.allocatedResources[storage]: Invalid value: -1: "
            "must be a valid resource quantity"
        ],
    ),
    "an unknown state of resizing is named": (
        {"allocatedResourceStatuses": {"storage": "Stuck"}},
        [
            'status.allocatedResourceStatuses: Unsupported value: "storage": supported values: '
            '"ControllerResizeInProgress", "ControllerResizeInfeasible", '
            '"NodeResizeInProgress", "NodeResizeInfeasible", "NodeResizePending"'
        ],
    ),
    "of Kubernetes' own resources there is only storage": (
        {"allocatedResources": {"cpu": "1"}},
        ['status.allocatedResources: Unsupported value: "cpu": supported values: "storage"'],
    ),
    "a resource has a qualified name": (
        {"allocatedResourceStatuses": {"not a key": "NodeResizePending"}},
        [f'status.allocatedResourceStatuses: Invalid value: "not a key": {NO_KEY}'],
    ),
}


@pytest.mark.parametrize(("status", "complaints"), STATUS.values(), ids=STATUS)
def test_status(status: Doc, complaints: list[str]) -> None:
    assert update_status(CLAIM, a_bound_claim(), {"status": status}) == complaints


STATES = [
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizePending",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
]


@pytest.mark.parametrize("state", STATES)
def test_every_state_of_resizing_is_known(state: str) -> None:
    status = {"allocatedResourceStatuses": {"storage": state}}
    assert update_status(CLAIM, a_bound_claim(), {"status": status}) == []


WARNINGS: dict[str, tuple[Doc, list[str]]] = {
    "a plain claim earns none": ({}, []),
    "a fraction of a byte": (
        asking(canonical_resource("1.5")),
        [
            'spec.resources.requests[storage]: fractional byte value "1500m" is invalid, '
            "must be an integer"
        ],
    ),
    "a fraction as a limit": (
        {"spec": {"resources": {"limits": {"storage": "1m"}}}},
        [
            'spec.resources.limits[storage]: fractional byte value "1m" is invalid, '
            "must be an integer"
        ],
    ),
    "a class in the annotation": (
        {"metadata": {"annotations": {BETA: "fast"}}},
        [
            f"metadata.annotations[{BETA}]: deprecated since v1.8; "
            'use "storageClassName" attribute instead'
        ],
    ),
}


@pytest.mark.parametrize(("patch", "words"), WARNINGS.values(), ids=WARNINGS)
def test_warnings(patch: Doc, words: list[str]) -> None:
    assert warned(CLAIM, merged(a_claim(), patch)) == words


def test_a_bound_claim_prints_what_it_got() -> None:
    old = merged(a_bound_claim(), {"status": {"capacity": {"storage": "2Gi"}}})
    assert printed(CLAIM, old) == {
        "Name": "data",
        "Status": "Bound",
        "Volume": "pv-1",
        "Capacity": "2Gi",
        "Access Modes": "RWO",
        "StorageClass": "fast",
        "VolumeAttributesClass": "<unset>",
        "Age": "27h",
        "VolumeMode": "Filesystem",
    }


PRINTED: dict[str, tuple[Doc, dict[str, str]]] = {
    "an unbound claim has neither capacity nor modes": (
        {"spec": {"volumeName": None}},
        {"Volume": "", "Capacity": "", "Access Modes": ""},
    ),
    "a named volume of unknown size prints as nothing at all": (
        {"status": {"capacity": None}},
        {"Capacity": "0"},
    ),
    "one that is being deleted says so": (
        {"metadata": {"deletionTimestamp": BEFORE}},
        {"Status": "Terminating"},
    ),
    "the annotation names the class": (
        {"metadata": {"annotations": {BETA: "slow"}}},
        {"StorageClass": "slow"},
    ),
    "no class prints as nothing": ({"spec": {"storageClassName": None}}, {"StorageClass": ""}),
    "an attributes class is printed": (
        {"spec": {"volumeAttributesClassName": "gold"}},
        {"VolumeAttributesClass": "gold"},
    ),
}


@pytest.mark.parametrize(("patch", "cells"), PRINTED.values(), ids=PRINTED)
def test_cells(patch: Doc, cells: dict[str, str]) -> None:
    row = printed(CLAIM, merged(a_bound_claim(), patch))
    assert {name: row[name] for name in cells} == cells


def test_only_the_volume_mode_is_for_wide_output() -> None:
    assert [column.name for column in CLAIM.columns if column.wide] == ["VolumeMode"]
