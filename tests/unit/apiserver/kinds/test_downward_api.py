import pytest

from mooring.apiserver.kinds.downward_api import (
    FOR_ENVIRONMENT,
    validate_field_ref,
    validate_file_resource_ref,
    validate_resource_ref,
)
from mooring.model.document import Doc

FIELDS: dict[str, tuple[Doc, list[str]]] = {
    "a field of v1": ({"apiVersion": "v1", "fieldPath": "status.podIP"}, []),
    "a version is required": (
        {"fieldPath": "status.podIP"},
        ["f.apiVersion: Required value"],
    ),
    "another version is not known": (
        {"apiVersion": "v2", "fieldPath": "status.podIP"},
        [
            'f.fieldPath: Invalid value: "status.podIP": error converting fieldPath: '
            "unsupported pod version: v2"
        ],
    ),
    "the old name of the node still works": ({"apiVersion": "v1", "fieldPath": "spec.host"}, []),
    "a field that a pod has, though not for this use": (
        {"apiVersion": "v1", "fieldPath": "status.phase"},
        [
            'f.fieldPath: Unsupported value: "status.phase": supported values: '
            + ", ".join(f'"{field}"' for field in FOR_ENVIRONMENT)
        ],
    ),
    "a bracket that never opened is part of the name": (
        {"apiVersion": "v1", "fieldPath": "metadata.name']"},
        [
            'f.fieldPath: Invalid value: "metadata.name\']": error converting fieldPath: '
            "field label not supported: metadata.name']"
        ],
    ),
}


@pytest.mark.parametrize(("reference", "expected"), FIELDS.values(), ids=FIELDS)
def test_fields(reference: Doc, expected: list[str]) -> None:
    assert [str(e) for e in validate_field_ref(reference, "f", FOR_ENVIRONMENT)] == expected


BYTES = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei"


def only(divisors: str, resource: str, name: str) -> list[str]:
    return [
        f'f.divisor: Invalid value: "{resource}": only divisor\'s values {divisors} '
        f"are supported with the {name} resource"
    ]


RESOURCES: dict[str, tuple[Doc, list[str]]] = {
    "a resource": ({"resource": "requests.memory"}, []),
    "pages of any size": ({"resource": "limits.hugepages-2Mi"}, []),
    "a resource is required": ({}, ["f.resource: Required value"]),
    "one of six": (
        {"resource": "limits.gpu"},
        [
            'f.resource: Unsupported value: "limits.gpu": supported values: "limits.cpu", '
            '"limits.ephemeral-storage", "limits.memory", "requests.cpu", '
            '"requests.ephemeral-storage", "requests.memory"'
        ],
    ),
    "no divisor is zero": ({"resource": "limits.cpu", "divisor": "0"}, []),
    "cpu in thousandths": ({"resource": "limits.cpu", "divisor": "1m"}, []),
    "cpu in nothing else": (
        {"resource": "limits.cpu", "divisor": "1Mi"},
        only("1m and 1", "limits.cpu", "cpu"),
    ),
    "memory in mebibytes": ({"resource": "limits.memory", "divisor": "1Mi"}, []),
    "memory in nothing odd": (
        {"resource": "limits.memory", "divisor": "2Mi"},
        only(BYTES, "limits.memory", "memory"),
    ),
    "storage in nothing odd": (
        {"resource": "requests.ephemeral-storage", "divisor": "1m"},
        only(BYTES, "requests.ephemeral-storage", "local ephemeral storage"),
    ),
    "pages in nothing odd": (
        {"resource": "requests.hugepages-2Mi", "divisor": "1m"},
        only(BYTES, "requests.hugepages-2Mi", "hugepages"),
    ),
}


@pytest.mark.parametrize(("reference", "expected"), RESOURCES.values(), ids=RESOURCES)
def test_resources(reference: Doc, expected: list[str]) -> None:
    assert [str(e) for e in validate_resource_ref(reference, "f")] == expected
    of_container = {**reference, "containerName": "c"}
    assert [str(e) for e in validate_file_resource_ref(of_container, "f")] == expected
