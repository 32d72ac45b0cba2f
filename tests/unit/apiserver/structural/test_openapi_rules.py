"""What is not taken of OpenAPI."""

import pytest

from mooring.model.document import Doc
from tests.unit.apiserver.structural.complaints import of_field
from tests.unit.apiserver.structural.schemas import a_list, a_text, an_object

TYPES = '"array", "boolean", "integer", "number", "object", "string"'


@pytest.mark.parametrize(
    ("schema", "errors"),
    [
        (a_text(id="x"), [".id: Forbidden: id is not supported"]),
        (
            a_list(a_text(), additionalItems=True),
            [".additionalItems: Forbidden: additionalItems is not supported"],
        ),
        (
            {"type": "object", "patternProperties": {"x": a_text()}},
            [".patternProperties: Forbidden: patternProperties is not supported"],
        ),
        (
            {"type": "object", "definitions": {"x": a_text()}},
            [".definitions: Forbidden: definitions is not supported"],
        ),
        (
            {"type": "object", "dependencies": {"x": ["y"]}},
            [".dependencies: Forbidden: dependencies is not supported"],
        ),
        ({"$ref": "#"}, [".$ref: Forbidden: $ref is not supported"]),
        (
            {"type": "array", "items": [a_text()]},
            [".items: Forbidden: items must be a schema object and not an array"],
        ),
        (
            a_list(a_text(), uniqueItems=True),
            [
                ".uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime "
                "complexity becomes quadratic"
            ],
        ),
        (a_list(a_text(), uniqueItems=False), []),
        (
            {**an_object(a=a_text()), "additionalProperties": a_text()},
            [
                ".additionalProperties: Forbidden: additionalProperties and properties are "
                "mutual exclusive"
            ],
        ),
        ({**an_object(a=a_text()), "additionalProperties": True}, []),
        ({"type": "text"}, [f'.type: Unsupported value: "text": supported values: {TYPES}']),
        (
            {"type": "null"},
            [
                f'.type: Unsupported value: "null": supported values: {TYPES}',
                ".type: Forbidden: type cannot be set to null, use nullable as an alternative",
            ],
        ),
    ],
)
def test_what_is_not_taken_of_openapi(schema: Doc, errors: list[str]) -> None:
    assert of_field(schema) == errors
