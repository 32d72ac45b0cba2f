"""The entries of rules, but for their expressions."""

import pytest

from mooring.model.document import Doc
from tests.unit.apiserver.structural.complaints import of_field, rule
from tests.unit.apiserver.structural.schemas import a_text, an_object

REASONS = '"FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"'


@pytest.mark.parametrize(
    ("entry", "errors"),
    [
        ({"rule": "true", "message": "m", "reason": "FieldValueForbidden", "fieldPath": ".a"}, []),
        ({"rule": " "}, ["rule: Required value: rule is not specified"]),
        (
            {"rule": "x", "message": " "},
            ['message: Invalid value: " ": must be non-empty if specified'],
        ),
        (
            {"rule": "x", "message": "a\nb"},
            ['message: Invalid value: "a\\nb": must not contain line breaks'],
        ),
        (
            {"rule": "x\n&& y"},
            ["message: Required value: message must be specified if rule contains line breaks"],
        ),
        (
            {"rule": "x", "messageExpression": " "},
            ["messageExpression: Required value: messageExpression must be non-empty if specified"],
        ),
        (
            {"rule": "x", "reason": "Bad"},
            [f'reason: Unsupported value: "Bad": supported values: {REASONS}'],
        ),
        (
            {"rule": "x", "fieldPath": ".b"},
            ['fieldPath: Invalid value: ".b": must be a valid path'],
        ),
    ],
)
def test_the_entries_of_rules(entry: Doc, errors: list[str]) -> None:
    schema = {**an_object(a=a_text()), **rule(**entry)}
    assert of_field(schema) == [f".x-kubernetes-validations[0].{text}" for text in errors]
