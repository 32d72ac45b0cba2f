"""Numbers as Go reads them, and their bounds."""

from typing import Any

import pytest

from mooring.apiserver.structural.numbers import (
    bound_faults,
    is_integer,
    is_whole,
    range_fault,
    whole_bounds,
    within_bounds,
)
from mooring.model.document import Doc


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        (5, True),
        (5.0, True),
        (-5.0, True),
        (5.5, False),
        (2**63 - 1, True),
        (2**63, False),
        (-(2**63), True),
        (10**400, False),
        (1e16, False),  # beyond 2^53
        (float("inf"), False),
        (float("nan"), False),
        (True, False),
        ("5", False),
        (None, False),
    ],
)
def test_integers(value: Any, answer: bool) -> None:  # noqa: FBT001  a column
    assert is_integer(value) is answer


def test_what_is_nearly_whole_is_whole() -> None:
    assert is_whole(1 / 0.1 * 0.3)
    assert not is_whole(0.0000001)


@pytest.mark.parametrize(
    ("value", "schema", "words"),
    [
        (5, {"multipleOf": 0}, ["must be positive: 0"]),
        (5, {"multipleOf": 2}, ["should be a multiple of 2"]),
        (0.5, {"multipleOf": 0.2}, ["should be a multiple of 0.2"]),
        (1e300, {"multipleOf": 1e-300}, ["should be a multiple of 1e-300"]),
        (10**400, {"multipleOf": 0.5}, ["should be a multiple of 0.5"]),
        (5, {"minimum": 6.0}, ["should be greater than or equal to 6"]),
        (5.5, {"minimum": 1000000}, ["should be greater than or equal to 1e+06"]),
        (5, {"minimum": 1000000}, ["should be greater than or equal to 1000000"]),
        (5, {"minimum": 5.5}, ["should be greater than or equal to 5.5"]),
        (5, {"minimum": 5, "maximum": 5}, []),
        (
            5,
            {"minimum": 6, "maximum": 4},
            ["should be greater than or equal to 6", "should be less than or equal to 4"],
        ),
        (5, {"exclusiveMaximum": True}, []),
    ],
)
def test_bounds(value: float, schema: Doc, words: list[str]) -> None:
    assert [text for _, text in bound_faults(value, schema)] == words
    assert within_bounds(value, schema) == (not words)


def test_ranges() -> None:
    assert range_fault(2**31, "integer", "int32") == "integer with format int32"
    assert range_fault(2**31, "integer", "int64") == ""
    assert range_fault(1e39, "number", "float") == "number with format float"
    assert range_fault(1e39, "number", "double") == ""
    assert range_fault(2**40, "number", "int32") == ""


def test_the_bounds_of_an_integer_are_two_numbers() -> None:
    schema = {"minimum": 0.5, "maximum": 7.5}
    assert whole_bounds(schema, "integer", "") == (1, 7)
    assert whole_bounds({}, "integer", "int32") == (-(2**31), 2**31 - 1)
    assert whole_bounds({**schema, "multipleOf": 2}, "integer", "") == (None, None)
    assert whole_bounds({**schema, "exclusiveMinimum": True}, "integer", "") == (None, None)
    assert whole_bounds(schema, "number", "") == (None, None)
