"""What is wrong with values, in the words of Kubernetes."""

from typing import Any

import pytest

from mooring.apiserver.limits.budgets import MOST_ERRORS
from mooring.apiserver.structural.parse import node_of
from mooring.apiserver.structural.validate import skips_rules, validate
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, duplicate, invalid, required
from tests.unit.apiserver.structural.schemas import a_list, a_text, an_integer, an_object, root

ONE_OF = {**an_object(a=a_text(), b=a_text()), "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}
INTEGER_OR_STRING = [{"type": "integer"}, {"type": "string"}]
NIL = '<nil>: Invalid value: ""'


def told(errors: list[FieldError]) -> list[str]:
    return [str(error) for error in errors]


@pytest.mark.parametrize(
    ("schema", "value", "errors"),
    [
        (an_integer(), "x", ['must be of type integer: "string"']),
        (an_integer(), True, ['must be of type integer: "boolean"']),
        (an_integer(), 1.5, ['must be of type integer: "number"']),
        (an_integer(), None, ['must be of type integer: "null"']),
        (an_integer(), 2**63, ['must be of type integer: "number"']),
        (an_integer(), 5.0, []),
        (an_integer(nullable=True), None, []),
        ({"type": "number"}, 5, []),
        ({"type": "boolean"}, 1, ['must be of type boolean: "integer"']),
        (a_text(), [], ['must be of type string: "array"']),
        (an_object(), "x", ['must be of type object: "string"']),
        (a_list(a_text()), {}, ['must be of type array: "object"']),
        (an_integer(format="int32"), "x", ['must be of type integer: "string"']),
        (an_integer(format="int32"), True, ['must be of type int32: ""']),
        (an_integer(format="int32"), 1.5, ['must be of type int32: "float64"']),
        (a_text(format="date-time"), 5, ['must be of type date-time: "int64"']),
        ({"x-kubernetes-int-or-string": True}, 5, []),
        ({"x-kubernetes-int-or-string": True}, "5Gi", []),
        ({"x-kubernetes-int-or-string": True}, 1.5, ['must be of type integer,string: "number"']),
        ({"x-kubernetes-int-or-string": True}, True, ['must be of type integer,string: "boolean"']),
    ],
)
def test_types(schema: Doc, value: Any, errors: list[str]) -> None:
    found = validate({"spec": {"f": value}}, node_of(root(f=schema)))
    assert [error.reason for error in found] == ["FieldValueTypeInvalid"] * len(errors)
    assert [error.text.split(" in body ")[-1] for error in found] == errors
    assert all(
        str(error) == f'spec.f: Invalid value: "{shown}": spec.f in body {words}'
        for error, words in zip(found, errors, strict=True)
        for shown in [words.split('"')[1]]
    )


@pytest.mark.parametrize(
    ("schema", "value", "errors"),
    [
        (
            a_text(enum=["A", "B"]),
            "x",
            ['spec.f: Unsupported value: "x": supported values: "A", "B"'],
        ),
        (an_integer(enum=[1, 2]), 3, ['spec.f: Unsupported value: 3: supported values: "1", "2"']),
        (an_integer(enum=[1, 2]), 2.0, []),
        ({"type": "boolean", "enum": [True]}, True, []),
        (
            a_text(enum=["A"], nullable=True),
            None,
            ['spec.f: Unsupported value: null: supported values: "A"'],
        ),
        (
            a_text(enum=["A"]),
            1,
            [
                'spec.f: Invalid value: "integer": spec.f in body must be of type string: '
                '"integer"',
                'spec.f: Unsupported value: 1: supported values: "A"',
            ],
        ),
        (
            an_integer(minimum=10),
            5,
            ["spec.f: Invalid value: 5: spec.f in body should be greater than or equal to 10"],
        ),
        (
            an_integer(minimum=5, exclusiveMinimum=True),
            5,
            ["spec.f: Invalid value: 5: spec.f in body should be greater than 5"],
        ),
        (
            an_integer(maximum=4),
            5,
            ["spec.f: Invalid value: 5: spec.f in body should be less than or equal to 4"],
        ),
        (
            {"type": "number", "maximum": 2.5, "exclusiveMaximum": True},
            2.5,
            ["spec.f: Invalid value: 2.5: spec.f in body should be less than 2.5"],
        ),
        (
            an_integer(multipleOf=3),
            5,
            ["spec.f: Invalid value: 5: spec.f in body should be a multiple of 3"],
        ),
        ({"type": "number", "multipleOf": 0.1}, 0.3, []),
        (
            an_integer(format="int32"),
            2**31,
            [f"{NIL}: Checked value must be of type integer with format int32 in spec.f"],
        ),
        (an_integer(format="int64"), 2**31, []),
        (
            a_text(pattern="^[a-z]+$"),
            "a b",
            ["spec.f: Invalid value: \"a b\": spec.f in body should match '^[a-z]+$'"],
        ),
        (
            a_text(pattern="^[a-z]+$"),
            "a\n",
            ["spec.f: Invalid value: \"a\\n\": spec.f in body should match '^[a-z]+$'"],
        ),
        (
            a_text(pattern="+"),
            "x",
            [
                'spec.f: Invalid value: "x": spec.f in body should match '
                "'+, but pattern is invalid: error parsing regexp: "
                "missing argument to repetition operator: `+`'"
            ],
        ),
        (
            a_text(minLength=3),
            "é",
            ['spec.f: Invalid value: "é": spec.f in body should be at least 3 chars long'],
        ),
        (a_text(maxLength=5), "ééééé", []),
        (a_text(maxLength=5), "abcdef", ["spec.f: Too long: may not be more than 5 bytes"]),
        (a_text(maxLength=1), "ab", ["spec.f: Too long: may not be more than 1 byte"]),
        (
            a_text(maxLength=1, pattern="^x"),
            "ab",
            ["spec.f: Too long: may not be more than 1 byte"],
        ),
        (
            a_text(format="date-time"),
            "x",
            ['spec.f: Invalid value: "x": spec.f in body must be of type date-time: "x"'],
        ),
        (a_text(format="whatever"), "x", []),
        (
            a_list(a_text(), maxItems=2),
            ["a"] * 3,
            ["spec.f: Too many: 3: must have at most 2 items"],
        ),
        (
            a_list(a_text(), minItems=1),
            [],
            ["spec.f: Invalid value: 0: spec.f in body should have at least 1 items"],
        ),
        (
            {"type": "object", "additionalProperties": a_text(), "maxProperties": 1},
            {"a": "", "b": ""},
            ["spec.f: Too many: 2: must have at most 1 item"],
        ),
        (
            {"type": "object", "additionalProperties": a_text(), "minProperties": 1},
            {},
            ["spec.f: Invalid value: 0: spec.f in body should have at least 1 properties"],
        ),
        (
            {"type": "object", "additionalProperties": False},
            {"a": 1},
            ['spec.f: Invalid value: "a": spec.f.a in body is a forbidden property'],
        ),
        (
            {"type": "object", "additionalProperties": an_integer()},
            {"a.b": "x"},
            [
                'spec.f.a.b: Invalid value: "string": spec.f.a.b in body must be of type '
                'integer: "string"'
            ],
        ),
        ({**an_object(a=a_text()), "required": ["a"]}, {}, ["spec.f.a: Required value"]),
        (
            a_list(an_object(a=an_integer())),
            [{}, {"a": "x"}],
            [
                'spec.f[1].a: Invalid value: "string": spec.f[1].a in body must be of type '
                'integer: "string"'
            ],
        ),
    ],
)
def test_constraints(schema: Doc, value: Any, errors: list[str]) -> None:
    assert told(validate({"spec": {"f": value}}, node_of(root(f=schema)))) == errors


@pytest.mark.parametrize(
    ("schema", "value", "errors"),
    [
        (
            ONE_OF,
            {},
            [
                f'{NIL}: "spec.f" must validate one and only one schema (oneOf). Found none valid',
                "spec.f.a: Required value",
            ],
        ),
        (
            ONE_OF,
            {"a": "", "b": ""},
            [
                f'{NIL}: "spec.f" must validate one and only one schema (oneOf). Found 2 '
                "valid alternatives"
            ],
        ),
        (
            {
                **an_object(a=an_integer(), b=a_text()),
                "anyOf": [{"required": ["b"]}, {"properties": {"a": {"minimum": 3}}}],
            },
            {"a": 1},
            [
                f'{NIL}: "spec.f" must validate at least one schema (anyOf)',
                "spec.f.a: Invalid value: 1: spec.f.a in body should be greater than or equal to 3",
            ],
        ),
        (
            an_integer(allOf=[{"minimum": 3}, {"maximum": 9}]),
            1,
            [
                "spec.f: Invalid value: 1: spec.f in body should be greater than or equal to 3",
                f'{NIL}: "spec.f" must validate all the schemas (allOf)',
            ],
        ),
        (
            an_integer(allOf=[{"minimum": 3}, {"minimum": 4}]),
            1,
            [
                "spec.f: Invalid value: 1: spec.f in body should be greater than or equal to 3",
                "spec.f: Invalid value: 1: spec.f in body should be greater than or equal to 4",
                f'{NIL}: "spec.f" must validate all the schemas (allOf). None validated',
            ],
        ),
        (
            {**an_object(a=a_text()), "not": {"required": ["a"]}},
            {"a": ""},
            [f'{NIL}: "spec.f" must not validate the schema (not)'],
        ),
        (
            {"x-kubernetes-int-or-string": True, "allOf": [{"anyOf": INTEGER_OR_STRING}]},
            True,
            [
                'spec.f: Invalid value: "boolean": spec.f in body must be of type integer,string: '
                '"boolean"',
                f'{NIL}: "spec.f" must validate at least one schema (anyOf)',
                'spec.f: Invalid value: "boolean": spec.f in body must be of type integer: '
                '"boolean"',
                f'{NIL}: "spec.f" must validate all the schemas (allOf). None validated',
            ],
        ),
        (
            {
                "x-kubernetes-int-or-string": True,
                "anyOf": [{"type": "integer"}, {"type": "string"}],
                "pattern": "^[0-9]+Gi$",
            },
            "5",
            ["spec.f: Invalid value: \"5\": spec.f in body should match '^[0-9]+Gi$'"],
        ),
    ],
)
def test_junctors_are_told_of_no_field(schema: Doc, value: Any, errors: list[str]) -> None:
    assert told(validate({"spec": {"f": value}}, node_of(root(f=schema)))) == errors


def test_the_same_text_is_told_once() -> None:
    schema = an_integer(minimum=3, allOf=[{"minimum": 3}])
    assert (
        told(validate({"spec": {"f": 1}}, node_of(root(f=schema))))
        == [
            f'{NIL}: "spec.f" must validate all the schemas (allOf). None validated',
            "spec.f: Invalid value: 1: spec.f in body should be greater than or equal to 3",
        ][::-1]
    )


def test_the_root_and_the_status_have_names_of_their_own() -> None:
    node = node_of({**an_object(n=an_integer(minimum=1)), "required": ["n"]})
    assert told(validate("x", node)) == [
        '<nil>: Invalid value: "string":  in body must be of type object: "string"'
    ]
    assert told(validate({}, node)) == ["n: Required value"]
    assert told(validate({}, node, at="status")) == ["status.n: Required value"]
    assert told(validate({"n": 0}, node, at="status")) == [
        "status.n: Invalid value: 0: n in body should be greater than or equal to 1"
    ]
    assert told(validate(5, node, at="status")) == [
        'status: Invalid value: "integer":  in body must be of type object: "integer"'
    ]


NOT_CHECKED = (
    "<nil>: Invalid value: null: some validation rules were not checked because the object was "
    "invalid; correct the existing errors to complete validation"
)


@pytest.mark.parametrize(
    ("schema", "value", "skips"),
    [
        (an_integer(), "x", True),
        (a_text(enum=["A"]), "x", True),
        (a_text(maxLength=1), "xx", True),
        (a_list(a_text(), maxItems=0), ["x"], True),
        ({**an_object(), "required": ["a"]}, {}, True),
        (a_text(pattern="^a"), "x", False),
        (an_integer(minimum=3), 1, False),
        (a_list(a_text(), minItems=1), [], False),
        ({**an_object(), "not": {}}, {}, False),
        (a_text(format="date"), "x", True),
    ],
)
def test_some_errors_keep_rules_from_being_checked(schema: Doc, value: Any, skips: bool) -> None:  # noqa: FBT001  a column
    errors = validate({"spec": {"f": value}}, node_of(root(f=schema)))
    assert errors
    added = skips_rules(errors)
    assert (str(added) if added else None) == (NOT_CHECKED if skips else None)


def test_rules_are_checked_when_nothing_or_little_is_wrong() -> None:
    assert skips_rules([]) is None
    assert skips_rules([invalid("a", 1, "x"), duplicate("b", 1)]) is None
    assert skips_rules([invalid("a", 1, "x"), required("b")]) is not None


def test_no_more_is_told_than_an_answer_can_hold() -> None:
    many = [f"v{number}" for number in range(5_000)]
    node = node_of(root(f=a_list(a_text(enum=many))))
    errors = validate({"spec": {"f": ["x"] * 10_000}}, node)
    assert MOST_ERRORS < len(errors) <= MOST_ERRORS + 1
    assert len(errors[0].text) < 5_000
    assert errors[0].text.endswith(", ...")


def test_a_long_key_does_not_make_paths_dear() -> None:
    node = node_of(root(f={"type": "object", "additionalProperties": a_list(an_integer())}))
    errors = validate({"spec": {"f": {"k" * 1_000_000: ["x"] * 5_000}}}, node)
    assert max(len(str(error)) for error in errors) < 20_000
