"""Defaults are checked like documents."""

from typing import Any

import pytest

from mooring.apiserver.structural.contract import Node
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, invalid
from tests.unit.apiserver.structural.complaints import EMBEDDED, PRESERVE, of_field, told
from tests.unit.apiserver.structural.schemas import AT, a_list, a_text, an_integer, an_object


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
