import pytest

from mooring.apiserver.kinds.populator import VOLUME_POPULATOR
from mooring.model.document import Doc
from tests.unit.apiserver.kinds.writing import BEFORE, create, merged

POPULATOR: Doc = {
    "kind": "VolumePopulator",
    "apiVersion": "populator.storage.k8s.io/v1beta1",
    "metadata": {"name": "books", "creationTimestamp": BEFORE},
    "sourceKind": {"group": "example.com", "kind": "Book"},
}

CREATED: dict[str, tuple[Doc, list[str]]] = {
    "a populator is fine": ({}, []),
    "its kind is required": ({"sourceKind": None}, ["sourceKind: Required value"]),
    "group and kind are required": (
        {"sourceKind": {"group": None, "kind": None}},
        ["sourceKind.group: Required value", "sourceKind.kind: Required value"],
    ),
}


@pytest.mark.parametrize(("patch", "complaints"), CREATED.values(), ids=CREATED)
def test_create(patch: Doc, complaints: list[str]) -> None:
    assert create(VOLUME_POPULATOR, merged(POPULATOR, patch)) == complaints
