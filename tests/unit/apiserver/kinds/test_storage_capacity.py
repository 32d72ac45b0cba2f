import pytest

from mooring.apiserver.kinds.storage_capacity import STORAGE_CAPACITY
from mooring.model.document import Doc
from tests.unit.apiserver.kinds.writing import (
    BEFORE,
    NO_KEY,
    NO_SUBDOMAIN,
    create,
    created,
    merged,
    printed,
    update,
    warned,
)

LEFT: Doc = {
    "kind": "CSIStorageCapacity",
    "apiVersion": "storage.k8s.io/v1",
    "metadata": {"name": "csisc-1", "namespace": "default", "creationTimestamp": BEFORE},
    "storageClassName": "fast",
    "capacity": "1Gi",
    "nodeTopology": {"matchLabels": {"zone": "a"}},
}

CREATED: dict[str, tuple[Doc, list[str]]] = {
    "an amount is fine": ({}, []),
    "nothing left is fine": ({"capacity": "0"}, []),
    "an unknown amount is fine": ({"capacity": None}, []),
    "an amount is not negative": (
        {"capacity": "-1Gi"},
        ['capacity: Invalid value: "-1Gi": must be greater than or equal to 0'],
    ),
    "a class is required": (
        {"storageClassName": None},
        [f'storageClassName: Invalid value: "": {NO_SUBDOMAIN}'],
    ),
    "a class has a DNS name": (
        {"storageClassName": "Not_A_Name"},
        [f'storageClassName: Invalid value: "Not_A_Name": {NO_SUBDOMAIN}'],
    ),
    "everywhere is a place": ({"nodeTopology": {"matchLabels": None}}, []),
    "a place is a selector": (
        {"nodeTopology": {"matchLabels": {"not a key": "a"}}},
        [f'nodeTopology.matchLabels: Invalid value: "not a key": {NO_KEY}'],
    ),
}


@pytest.mark.parametrize(("patch", "complaints"), CREATED.values(), ids=CREATED)
def test_create(patch: Doc, complaints: list[str]) -> None:
    assert create(STORAGE_CAPACITY, merged(LEFT, patch)) == complaints


UPDATED: dict[str, tuple[Doc, list[str]]] = {
    "the amount may change": ({"capacity": "2Gi"}, []),
    "the largest volume may change": ({"maximumVolumeSize": "1Gi"}, []),
    "the class may not change": (
        {"storageClassName": "slow"},
        ['storageClassName: Invalid value: "slow": field is immutable'],
    ),
    "the place may not change": (
        {"nodeTopology": {"matchLabels": {"zone": "b"}}},
        ['nodeTopology: Invalid value: {"matchLabels":{"zone":"b"}}: field is immutable'],
    ),
}


@pytest.mark.parametrize(("patch", "complaints"), UPDATED.values(), ids=UPDATED)
def test_update(patch: Doc, complaints: list[str]) -> None:
    assert update(STORAGE_CAPACITY, created(STORAGE_CAPACITY, LEFT), patch) == complaints


def test_labels_with_a_successor_are_warned_of() -> None:
    old = "beta.kubernetes.io/arch"
    place = {
        "matchLabels": {old: "a", "zone": None},
        "matchExpressions": [{"key": old, "operator": "Exists"}],
    }
    words = 'deprecated since v1.14; use "kubernetes.io/arch" instead'
    assert warned(STORAGE_CAPACITY, merged(LEFT, {"nodeTopology": place})) == [
        f"nodeTopology.matchExpressions[0].key: {old} is {words}",
        f"nodeTopology.matchLabels.{old}: {words}",
    ]
    assert warned(STORAGE_CAPACITY, LEFT) == []


def test_a_row_has_no_age() -> None:
    assert printed(STORAGE_CAPACITY, LEFT) == {
        "Name": "csisc-1",
        "StorageClassName": "fast",
        "Capacity": "1Gi",
    }
    assert printed(STORAGE_CAPACITY, merged(LEFT, {"capacity": None}))["Capacity"] == "<unset>"
