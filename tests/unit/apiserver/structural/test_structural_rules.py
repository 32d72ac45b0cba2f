"""What makes a schema structural."""

import pytest
from hypothesis import given, settings

from mooring.model.document import Doc
from tests.unit.apiserver.structural.complaints import (
    EITHER,
    EMBEDDED,
    INT_OR_STRING,
    PRESERVE,
    of_field,
    rule,
    told,
)
from tests.unit.apiserver.structural.schemas import (
    AT,
    a_list,
    a_text,
    an_integer,
    an_object,
    root_schemas,
)


@pytest.mark.parametrize(
    ("schema", "errors"),
    [
        ({}, [".type: Required value: must not be empty at the root"]),
        (a_text(), ['.type: Invalid value: "string": must be object at the root']),
        ({PRESERVE: True}, []),
        (
            {"type": "object", "additionalProperties": a_text()},
            [".additionalProperties: Forbidden: must not be used at the root"],
        ),
        (
            {"type": "object", "nullable": True},
            [".nullable: Forbidden: nullable cannot be true at the root"],
        ),
        (an_object(metadata={"type": "object"}), []),
        (
            an_object(metadata=an_object(name=a_text(maxLength=9), generateName=a_text())),
            [],
        ),
        (
            an_object(metadata=an_object(name=a_text(), labels={"type": "object"})),
            [
                ".properties[metadata]: Forbidden: must not specify anything other than name and "
                "generateName, but metadata is implicitly specified"
            ],
        ),
        (
            an_object(metadata=a_text()),
            ['.properties[metadata].type: Invalid value: "string": must be object'],
        ),
        (
            an_object(kind=an_integer(), apiVersion=a_text()),
            ['.properties[kind].type: Invalid value: "integer": must be string'],
        ),
        (
            {**an_object(a=an_object()), "anyOf": [{"properties": {"b": {}, "a": {"items": {}}}}]},
            [
                ".properties[a].items: Required value: because it is defined in "
                f"{AT}.anyOf[0].properties[a].items",
                ".properties[b]: Required value: because it is defined in "
                f"{AT}.anyOf[0].properties[b]",
            ],
        ),
        (
            an_object(metadata={"type": "object", "default": {}}, kind=a_text(default="X")),
            [
                ".properties[metadata].default: Forbidden: must not be set in top-level metadata",
                ".properties[kind].default: Forbidden: must not be set in top-level kind",
            ],
        ),
        (
            {"type": "object", "$schema": "x"},
            [": Invalid value: \"\": OpenAPIV3Schema 'schema' is not supported"],
        ),
    ],
)
def test_the_root(schema: Doc, errors: list[str]) -> None:
    assert told(schema) == errors


@pytest.mark.parametrize(
    ("schema", "errors"),
    [
        ({}, [".type: Required value: must not be empty for specified object fields"]),
        ({"type": "array"}, [".items: Required value: must be specified"]),
        (a_list({}), [".items.type: Required value: must not be empty for specified array items"]),
        (
            {"type": "object", "additionalProperties": {}},
            [
                ".additionalProperties.type: Required value: must not be empty for specified "
                "object fields"
            ],
        ),
        ({INT_OR_STRING: True}, []),
        ({PRESERVE: True}, []),
        ({INT_OR_STRING: True, "anyOf": EITHER}, []),
        ({INT_OR_STRING: True, "allOf": [{"anyOf": EITHER}, {"maxLength": 3}]}, []),
        (
            {INT_OR_STRING: True, "allOf": [{"maxLength": 3}, {"anyOf": EITHER}]},
            [
                ".allOf[1].anyOf[0].type: Forbidden: must be empty to be structural",
                ".allOf[1].anyOf[1].type: Forbidden: must be empty to be structural",
            ],
        ),
        (
            {INT_OR_STRING: True, PRESERVE: True},
            [f".{PRESERVE}: Invalid value: true: must be false if {INT_OR_STRING} is true"],
        ),
        (
            {PRESERVE: False, "type": "object"},
            [f".{PRESERVE}: Invalid value: false: must be true or undefined"],
        ),
        (
            {EMBEDDED: True, "type": "object"},
            [
                f".properties: Required value: must not be empty if {EMBEDDED} is true "
                f"without {PRESERVE}",
            ],
        ),
        (
            {EMBEDDED: True, PRESERVE: True},
            [f".type: Required value: must be object if {EMBEDDED} is true"],
        ),
        (
            {EMBEDDED: True, PRESERVE: True, "type": "object", "additionalProperties": True},
            [f".additionalProperties: Forbidden: must not be used if {EMBEDDED} is set"],
        ),
        (
            a_text(pattern="(?=a)"),
            [
                '.pattern: Invalid value: "(?=a)": must be a valid regular expression, but isn\'t: '
                "error parsing regexp: invalid or unsupported Perl syntax: `(?=`"
            ],
        ),
        (
            an_integer(oneOf=[{"not": {"pattern": "["}}]),
            [
                '.oneOf[0].not.pattern: Invalid value: "[": must be a valid regular '
                "expression, but "
                "isn't: error parsing regexp: missing closing ]: `[`"
            ],
        ),
        (
            {
                **an_object(a=a_text()),
                "anyOf": [
                    {
                        "type": "object",
                        "title": "t",
                        "description": "d",
                        "nullable": True,
                        "default": {},
                        "additionalProperties": {},
                        PRESERVE: True,
                        "properties": {"metadata": {}},
                        **rule(rule="true"),
                    }
                ],
            },
            [
                ".anyOf[0].additionalProperties: Forbidden: must be undefined to be structural",
                ".anyOf[0].default: Forbidden: must be undefined to be structural",
                ".anyOf[0].description: Forbidden: must be empty to be structural",
                ".anyOf[0].nullable: Forbidden: must be false to be structural",
                ".anyOf[0].properties[metadata]: Forbidden: must not be specified in a "
                "nested context",
                ".anyOf[0].title: Forbidden: must be empty to be structural",
                ".anyOf[0].type: Forbidden: must be empty to be structural",
                f".anyOf[0].{PRESERVE}: Forbidden: must be false to be structural",
                ".anyOf[0].x-kubernetes-validations: Forbidden: must be empty to be structural",
                ".anyOf[0].additionalProperties: Forbidden: additionalProperties and "
                "properties are mutual exclusive",
            ],
        ),
    ],
)
def test_what_makes_a_schema_structural(schema: Doc, errors: list[str]) -> None:
    assert of_field(schema) == errors


@settings(max_examples=settings().max_examples // 2)
@given(schema=root_schemas)
def test_nothing_is_wrong_with_a_structural_schema(schema: Doc) -> None:
    """But for what the drawn junctors constrain without its being described."""
    assert [text for text in told(schema) if "because it is defined in" not in text] == []
