"""What is wrong with schemas, in the words of Kubernetes."""

from typing import Any

import pytest
from hypothesis import given, settings

from mooring.apiserver.limits.budgets import MOST_ERRORS
from mooring.apiserver.structural.contract import Node
from mooring.apiserver.structural.schema_problems import format_warnings, schema_problems
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, invalid
from tests.unit.apiserver.structural.schemas import (
    AT,
    a_list,
    a_text,
    an_integer,
    an_object,
    root_schemas,
)

INT_OR_STRING = "x-kubernetes-int-or-string"
PRESERVE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
LIST_TYPE = "x-kubernetes-list-type"
MAP_KEYS = "x-kubernetes-list-map-keys"
MAP_TYPE = "x-kubernetes-map-type"
EITHER = [{"type": "integer"}, {"type": "string"}]


def told(schema: Any, **more: Any) -> list[str]:
    """The errors, without the path that all begin with."""
    return [str(error).removeprefix(AT) for error in schema_problems(schema, AT, **more)]


def of_field(schema: Doc) -> list[str]:
    """The errors of a schema as that of field `f`, without the path that all begin with."""
    return [text.removeprefix(".properties[f]") for text in told(an_object(f=schema))]


def rule(**entry: Any) -> Doc:
    return {"x-kubernetes-validations": [entry]}


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


PORT = {**an_object(port=an_integer(), protocol=a_text(default="TCP")), "required": ["port"]}


@pytest.mark.parametrize(
    ("schema", "errors"),
    [
        (a_list(PORT, **{LIST_TYPE: "map", MAP_KEYS: ["port", "protocol"]}), []),
        (a_list(a_text(), **{LIST_TYPE: "set"}), []),
        (a_list({**PORT, MAP_TYPE: "atomic"}, **{LIST_TYPE: "set"}), []),
        (a_list(a_list(a_text()), **{LIST_TYPE: "set"}), []),
        (
            a_list(PORT, **{LIST_TYPE: "set"}),
            [
                f".items.{MAP_TYPE}: Invalid value: null: must be atomic as item of a list with "
                f"{LIST_TYPE}=set"
            ],
        ),
        (
            a_list(a_list(a_text(), **{LIST_TYPE: "set"}), **{LIST_TYPE: "set"}),
            [
                f'.items.{LIST_TYPE}: Invalid value: "set": must be atomic as item of a list with '
                f"{LIST_TYPE}=set"
            ],
        ),
        (
            a_list(a_text(nullable=True), **{LIST_TYPE: "set"}),
            [f".items.nullable: Forbidden: cannot be nullable when {LIST_TYPE} is set"],
        ),
        (
            a_list(PORT, **{LIST_TYPE: "map"}),
            [f".{MAP_KEYS}: Required value: must not be empty if {LIST_TYPE} is map"],
        ),
        (
            a_list(a_text(), **{LIST_TYPE: "map", MAP_KEYS: ["a"]}),
            [
                '.items.type: Invalid value: "string": must be object if parent array\'s '
                f"{LIST_TYPE} "
                "is map"
            ],
        ),
        (
            a_list(PORT, **{MAP_KEYS: ["port"]}),
            [f".{LIST_TYPE}: Required value: must be map if {MAP_KEYS} is non-empty"],
        ),
        (
            a_list(PORT, **{LIST_TYPE: "atomic", MAP_KEYS: ["port"]}),
            [f'.{LIST_TYPE}: Invalid value: "atomic": must be map if {MAP_KEYS} is non-empty'],
        ),
        (
            a_list(PORT, **{LIST_TYPE: "map", MAP_KEYS: ["port", "x", "port"]}),
            [
                f'.{MAP_KEYS}: Invalid value: ["port","x","port"]: entries must all be names '
                "of item "
                "properties",
                f'.{MAP_KEYS}: Invalid value: ["port","x","port"]: must not contain duplicate '
                "entries",
            ],
        ),
        (
            a_list(
                an_object(a=a_text(nullable=True), l=a_list(a_text())),
                **{LIST_TYPE: "map", MAP_KEYS: ["a", "l"]},
            ),
            [
                '.items.properties[l].type: Invalid value: "object": must be a scalar type '
                "if parent "
                f"array's {LIST_TYPE} is map",
                ".items.properties[a].default: Required value: this property is in "
                f"{MAP_KEYS}, so it "
                "must have a default or be a required property",
                f".items.properties[a].nullable: Forbidden: this property is in {MAP_KEYS}, "
                "so it cannot "
                "be nullable",
                ".items.properties[l].default: Required value: this property is in "
                f"{MAP_KEYS}, so it "
                "must have a default or be a required property",
            ],
        ),
        (
            a_list(a_text(), **{LIST_TYPE: "bag"}),
            [f'.{LIST_TYPE}: Unsupported value: "bag": supported values: "atomic", "set", "map"'],
        ),
        (
            a_text(**{LIST_TYPE: "set"}),
            [f'.type: Invalid value: "string": must be array if {LIST_TYPE} is specified'],
        ),
        (
            {PRESERVE: True, MAP_TYPE: "atomic"},
            [f".type: Required value: must be object if {MAP_TYPE} is specified"],
        ),
        (
            {"type": "object", MAP_TYPE: "loose"},
            [f'.{MAP_TYPE}: Unsupported value: "loose": supported values: "atomic", "granular"'],
        ),
    ],
)
def test_list_and_map_types(schema: Doc, errors: list[str]) -> None:
    assert of_field(schema) == errors


@pytest.mark.parametrize(
    ("schema", "errors"),
    [
        (a_text(default="x", maxLength=3), []),
        ({**an_object(a=a_text()), "default": {"a": "x"}}, []),
        (
            {**an_object(a=an_integer()), "default": {"a": "x", "b": 1}},
            [
                '.default: Invalid value: {"a":"x","b":1}: must not have unknown fields',
                '.default.a: Invalid value: "string": a in body must be of type integer: "string"',
            ],
        ),
        (
            a_text(default=5),
            ['.default: Invalid value: "integer":  in body must be of type string: "integer"'],
        ),
        (
            a_list(a_text(default="xx", maxLength=1)),
            [".items.default: Too long: may not be more than 1 byte"],
        ),
        (
            {"type": "object", "additionalProperties": a_text(default=5)},
            [],
        ),
        (
            {"type": "object", EMBEDDED: True, PRESERVE: True, "default": {"kind": "X"}},
            [".default.apiVersion: Required value"],
        ),
        (
            {
                **an_object(
                    metadata=an_object(
                        labels={"type": "object", "additionalProperties": a_text(default="x")}
                    )
                ),
                EMBEDDED: True,
            },
            [
                ".properties[metadata].properties[labels].additionalProperties.default: Forbidden: "
                "must not be set inside additionalProperties applying to object metadata"
            ],
        ),
    ],
)
def test_defaults_are_checked_like_documents(schema: Doc, errors: list[str]) -> None:
    assert of_field(schema) == errors


def test_other_checks_of_defaults_are_asked_of_valid_ones() -> None:
    asked: list[tuple[Any, str]] = []

    def refuse(value: Any, _node: Node, at: str) -> list[FieldError]:
        asked.append((value, at.removeprefix(AT)))
        return [invalid(at, value, "failed rule: x")]

    schema = an_object(a=a_text(default="x"), b=a_text(default=5))
    found = told(schema, check_rules=refuse)
    assert asked == [("x", ".properties[a].default")]
    assert found[0] == '.properties[a].default: Invalid value: "x": failed rule: x'
    assert len(found) == 2


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


def test_with_a_status_little_is_allowed_at_the_root() -> None:
    fine = {**an_object(spec=an_object()), "description": "d", "required": ["spec"], PRESERVE: True}
    assert told(fine, has_status=True) == []
    (error,) = told({**fine, "maxProperties": 0}, has_status=True)
    assert error.endswith(
        "XValidations] fields are allowed at the root of the schema if the status "
        "subresource is enabled"
    )
    assert told({**fine, "maxProperties": 9}) == []


BROKEN = an_object(
    types={"type": "text"},
    sets=a_list(PORT, **{LIST_TYPE: "set"}),
    keys=a_list(an_object(a=a_text()), **{LIST_TYPE: "map", MAP_KEYS: ["a"]}),
    defaults={**an_object(), "default": {"x": 1}},
)


@pytest.mark.parametrize("field", ["types", "sets", "keys", "defaults"])
def test_what_a_stored_schema_breaks_is_not_enforced(field: str) -> None:
    stored = an_object(other=BROKEN["properties"][field])
    others = [name for name in BROKEN["properties"] if name != field]
    found = told(BROKEN, old=[an_object(), stored])
    assert len(told(BROKEN)) == 4
    assert len(found) == 3, found
    assert all(any(f"[{name}]" in text for text in found) for name in others)


def test_what_makes_a_schema_structural_is_enforced_always() -> None:
    assert told(an_object(a={}), old=[an_object(a={})])


def test_unrecognized_formats_are_warned_of_once_and_when_they_are_new() -> None:
    schema = an_object(
        a=a_text(format="semver"),
        b=a_text(format="semver"),
        c=a_text(format="date-time"),
        d=an_integer(format="date"),
        e={INT_OR_STRING: True, "format": "int32"},
    )
    assert format_warnings(schema) == [
        'unrecognized format "semver"',
        'unrecognized format "date"',
        'unrecognized format "int32"',
    ]
    assert format_warnings(schema, old=[an_object(x=a_text(format="semver"))]) == [
        'unrecognized format "date"',
        'unrecognized format "int32"',
    ]


@settings(max_examples=settings().max_examples // 2)
@given(schema=root_schemas)
def test_nothing_is_wrong_with_a_structural_schema(schema: Doc) -> None:
    """But for what the drawn junctors constrain without its being described."""
    assert [text for text in told(schema) if "because it is defined in" not in text] == []


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
