import pytest

from mooring.apiserver.kinds.attributes_class import ATTRIBUTES_CLASS
from mooring.model.document import Doc
from tests.unit.apiserver.kinds.writing import BEFORE, NO_KEY, create, merged, printed, update

GOLD: Doc = {
    "kind": "VolumeAttributesClass",
    "apiVersion": "storage.k8s.io/v1",
    "metadata": {"name": "gold", "creationTimestamp": BEFORE},
    "driverName": "hostpath.csi.k8s.io",
    "parameters": {"iops": "100"},
}
NO_PARAMETERS = "parameters: Required value: must contain at least one key/value pair"

CREATED: dict[str, tuple[Doc, list[str]]] = {
    "a class is fine": ({}, []),
    "a driver is required": ({"driverName": None}, ["driverName: Required value"]),
    "a driver has a qualified name": (
        {"driverName": "not a key"},
        [f'driverName: Invalid value: "not a key": {NO_KEY}'],
    ),
    "parameters are required": ({"parameters": None}, [NO_PARAMETERS]),
    "empty parameters are none": ({"parameters": {"iops": None}}, [NO_PARAMETERS]),
}


@pytest.mark.parametrize(("patch", "complaints"), CREATED.values(), ids=CREATED)
def test_create(patch: Doc, complaints: list[str]) -> None:
    assert create(ATTRIBUTES_CLASS, merged(GOLD, patch)) == complaints


UPDATED: dict[str, tuple[Doc, list[str]]] = {
    "labels may change": ({"metadata": {"labels": {"a": "b"}}}, []),
    "the driver may not change": (
        {"driverName": "other"},
        ["driverName: Forbidden: updates to driverName are forbidden."],
    ),
    "parameters may not change": (
        {"parameters": {"iops": "200"}},
        ["parameters: Forbidden: updates to parameters are forbidden."],
    ),
}


@pytest.mark.parametrize(("patch", "complaints"), UPDATED.values(), ids=UPDATED)
def test_update(patch: Doc, complaints: list[str]) -> None:
    assert update(ATTRIBUTES_CLASS, GOLD, patch) == complaints


def test_a_row() -> None:
    assert printed(ATTRIBUTES_CLASS, GOLD) == {
        "Name": "gold",
        "DriverName": "hostpath.csi.k8s.io",
        "Age": "27h",
    }
