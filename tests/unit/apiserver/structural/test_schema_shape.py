"""A schema has the shape of one, and is neither too deep nor too large."""

from typing import Any

import pytest

from mooring.apiserver.limits.budgets import MOST_ERRORS
from mooring.model.document import Doc
from tests.unit.apiserver.structural.complaints import PRESERVE, of_field, rule, told
from tests.unit.apiserver.structural.schemas import a_text, an_object


def nested(levels: int, *steps: str) -> Doc:
    schema: Doc = a_text()
    for level in range(levels):
        step = steps[level % len(steps)]
        inside = (
            {"p": schema} if step == "properties" else [schema] if step.endswith("Of") else schema
        )
        schema = {"type": "array" if step == "items" else "object", step: inside}
    return {"type": "object", "properties": {"p": schema}}


@pytest.mark.parametrize(
    "steps",
    [["properties"], ["items"], ["additionalProperties"], ["not"], ["allOf"], ["anyOf", "not"]],
)
def test_a_schema_may_not_be_deeper_than_what_can_be_walked(steps: list[str]) -> None:
    (error,) = told(nested(20_000, *steps))
    assert error.endswith(": Forbidden: schemas may be nested at most 100 deep: use a flatter one")
    assert len(error) < 5_000
    assert all("nested at most" not in text for text in told(nested(90, *steps)))


def test_a_schema_may_not_be_larger_than_what_a_document_may_be() -> None:
    assert told(an_object(**{f"p{number}": a_text() for number in range(20_000)})) == [
        ": Forbidden: a schema may hold at most 20000 schemas: say less, or split the kind"
    ]


def test_defaults_and_enums_may_not_be_deep() -> None:
    deep: Any = 1
    for _ in range(20_000):
        deep = [deep]
    assert of_field({PRESERVE: True, "default": deep, "enum": [deep]}) == [
        ".default: Forbidden: may be nested at most 100 deep",
        ".enum: Forbidden: may be nested at most 100 deep",
    ]


def test_a_huge_enum_costs_one_look() -> None:
    many = [f"value-{number}" for number in range(15_000)]
    assert of_field(a_text(enum=many, default=many[-1])) == []


def test_no_more_is_told_than_an_answer_can_hold() -> None:
    assert len(told(an_object(**{f"p{number}": {} for number in range(5_000)}))) == MOST_ERRORS + 1


@pytest.mark.parametrize(
    ("schema", "error"),
    [
        ([], ': Invalid value: "array": must be of type object'),
        ({"type": 5}, '.type: Invalid value: "integer": must be of type string'),
        ({"properties": []}, '.properties: Invalid value: "array": must be of type map of objects'),
        (
            {"properties": {"a": None}},
            '.properties: Invalid value: "object": must be of type map of objects',
        ),
        ({"minimum": True}, '.minimum: Invalid value: "boolean": must be of type number'),
        ({"required": [1]}, '.required: Invalid value: "array": must be of type array of strings'),
        ({"not": "x"}, '.not: Invalid value: "string": must be of type object'),
        (
            rule(rule=5),
            '.x-kubernetes-validations: Invalid value: "array": must be of type array of rules',
        ),
    ],
)
def test_every_keyword_has_a_value_of_its_type(schema: Any, error: str) -> None:
    assert told(schema) == [error]


def test_a_null_keyword_is_absent() -> None:
    nulls = dict.fromkeys(("format", "items", "not", "anyOf", "properties", "default", "enum"))
    assert told({"type": "object", **nulls}) == []
