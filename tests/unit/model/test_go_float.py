"""Floats as Go prints them."""

import pytest

from mooring.model.field_error import invalid
from mooring.model.go_float import go_float


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "-0"),
        (1.0, "1"),
        (10.0, "10"),
        (-2.5, "-2.5"),
        (0.1, "0.1"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (123456.0, "123456"),
        (100000.5, "100000.5"),
        (1000000.0, "1e+06"),
        (123456789.0, "1.23456789e+08"),
        (1e300, "1e+300"),
        (5e-324, "5e-324"),
        (float("inf"), "+Inf"),
        (float("-inf"), "-Inf"),
        (float("nan"), "NaN"),
    ],
)
def test_a_float_is_printed_as_in_go(value: float, text: str) -> None:
    assert go_float(value) == text


def test_errors_show_them_so() -> None:
    assert str(invalid("a", 5.0, "no")) == "a: Invalid value: 5: no"
