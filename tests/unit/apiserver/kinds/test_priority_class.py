import pytest

from mooring.apiserver.kinds.priority_class import PRIORITY_CLASS, SYSTEM_CLASSES
from mooring.model.document import Doc
from tests.fakes.objects import a_priority_class
from tests.unit.apiserver.kinds.writing import create, created, merged, update

RESERVED = "priority class names with 'system-' prefix are reserved for system use only. error:"

CREATED: dict[str, tuple[Doc, list[str]]] = {
    "a class is fine": ({}, []),
    "the highest value of users": ({"value": 1_000_000_000}, []),
    "a value below zero": ({"value": -5}, []),
    "a value of the system": (
        {"value": 1_000_000_001},
        ["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"],
    ),
    "a policy that nobody knows": (
        {"preemptionPolicy": "Sometimes"},
        [
            'preemptionPolicy: Unsupported value: "Sometimes": supported values: "Never", '
            '"PreemptLowerPriority"'
        ],
    ),
    "a name of the system": (
        {"metadata": {"name": "system-x"}},
        [f"metadata.name: Forbidden: {RESERVED} system-x is not a known system priority class"],
    ),
    "a system class of another value": (
        {"metadata": {"name": "system-node-critical"}},
        [
            f"metadata.name: Forbidden: {RESERVED} value of system-node-critical PriorityClass "
            "must be 2000001000"
        ],
    ),
}


@pytest.mark.parametrize(("patch", "errors"), CREATED.values(), ids=CREATED)
def test_creating(patch: Doc, errors: list[str]) -> None:
    assert create(PRIORITY_CLASS, merged(a_priority_class(), patch)) == errors


@pytest.mark.parametrize("name", SYSTEM_CLASSES)
def test_the_classes_of_the_system_are_fine(name: str) -> None:
    assert create(PRIORITY_CLASS, SYSTEM_CLASSES[name]) == []


UPDATED: dict[str, tuple[Doc, list[str]]] = {
    "a description": ({"description": "for databases"}, []),
    "the default": ({"globalDefault": True}, []),
    "the value": ({"value": 7}, ["value: Forbidden: may not be changed in an update."]),
    "the policy": (
        {"preemptionPolicy": "Never"},
        ['preemptionPolicy: Invalid value: "Never": field is immutable'],
    ),
}


@pytest.mark.parametrize(("patch", "errors"), UPDATED.values(), ids=UPDATED)
def test_changing(patch: Doc, errors: list[str]) -> None:
    assert update(PRIORITY_CLASS, created(PRIORITY_CLASS, a_priority_class()), patch) == errors
