"""Storage version migrations: what can be one, and what their status may become."""

from typing import Any

import pytest

from mooring.apiserver.kinds.storage_version_migration import STORAGE_VERSION_MIGRATION
from mooring.model.document import Doc
from tests.fakes.objects import a_migration
from tests.unit.apiserver.kinds.writing import NOW, create, created, update, update_status

CREATED: dict[str, tuple[dict[str, str], list[str]]] = {
    "of a group": ({}, []),
    "of the core": ({"group": "", "resource": "pods"}, []),
    "of nothing": (
        {"resource": ""},
        ["spec.resource.resource: Required value: resource is required to be set"],
    ),
    "of a group that is no name": (
        {"group": "No"},
        [
            'spec.resource.group: Invalid value: "No": a lowercase RFC 1123 subdomain must consist '
            "of lower case alphanumeric characters, '-' or '.', and must start and end with an "
            "alphanumeric character (e.g. 'example.com', regex used for validation is "
            "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
        ],
    ),
}


@pytest.mark.parametrize(("resource", "errors"), CREATED.values(), ids=CREATED)
def test_creating(resource: dict[str, str], errors: list[str]) -> None:
    assert create(STORAGE_VERSION_MIGRATION, a_migration(**resource)) == errors


def test_a_resource_that_is_no_name_is_refused() -> None:
    (error,) = create(STORAGE_VERSION_MIGRATION, a_migration(resource="No"))
    assert error.startswith('spec.resource.resource: Invalid value: "No": a DNS-1035 label must')


def test_the_resource_stays() -> None:
    stored = created(STORAGE_VERSION_MIGRATION, a_migration())
    (error,) = update(
        STORAGE_VERSION_MIGRATION, stored, {"spec": {"resource": {"resource": "gadgets"}}}
    )
    assert error.startswith("spec: Invalid value: {")
    assert error.endswith(": field is immutable")


def a_condition(kind: str, status: str = "True", **changes: Any) -> Doc:
    return {
        "type": kind,
        "status": status,
        "lastTransitionTime": NOW,
        "reason": "Because",
        "message": "",
        **changes,
    }


def with_status(**status: Any) -> Doc:
    return {**created(STORAGE_VERSION_MIGRATION, a_migration()), "status": status}


BOTH = "Both success and failed conditions cannot be true at the same time"
STATUSES: dict[str, tuple[Doc, Doc, str]] = {
    "a version": ({}, {"resourceVersion": "7"}, ""),
    "no version": (
        {},
        {"resourceVersion": "07"},
        'status.resourceVersion: Invalid value: "07": resource version is not well formed: 07',
    ),
    "another version": (
        {"resourceVersion": "7"},
        {"resourceVersion": "8"},
        'status.resourceVersion: Invalid value: "8": field is immutable',
    ),
    "both ends": (
        {},
        {"conditions": [a_condition("Succeeded"), a_condition("Failed")]},
        BOTH,
    ),
    "a success that is taken back": (
        {"conditions": [a_condition("Succeeded")]},
        {"conditions": [a_condition("Succeeded", "False")]},
        "Success condition cannot be set to false once it is true",
    ),
    "a failure that is taken back": (
        {"conditions": [a_condition("Failed")]},
        {"conditions": []},
        "Failed condition cannot be set to false once it is true",
    ),
    "a condition twice": (
        {},
        {"conditions": [a_condition("Running")] * 2},
        'status.conditions[1]: Duplicate value: "Running"',
    ),
    "a condition without a reason": (
        {},
        {"conditions": [a_condition("Running", reason="")]},
        "status.conditions[0].reason: Required value",
    ),
    "a reason that is none": (
        {},
        {"conditions": [a_condition("Running", reason="not one")]},
        'status.conditions[0].reason: Invalid value: "not one": a condition reason must start',
    ),
    "a status that is none": (
        {},
        {"conditions": [a_condition("Running", "Maybe")]},
        'status.conditions[0].status: Unsupported value: "Maybe": supported values: "False", '
        '"True", "Unknown"',
    ),
}


@pytest.mark.parametrize(("before", "after", "told"), STATUSES.values(), ids=STATUSES)
def test_status(before: Doc, after: Doc, told: str) -> None:
    errors = update_status(STORAGE_VERSION_MIGRATION, with_status(**before), {"status": after})
    assert len(errors) == (1 if told else 0), errors
    assert not told or told in errors[0]
