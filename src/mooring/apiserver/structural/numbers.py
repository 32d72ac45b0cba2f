"""Numbers as Go reads them: int64 where they fit, float64 otherwise; and the bounds of schemas."""

import math
from collections.abc import Iterable
from typing import Any

from mooring.model.document import Doc
from mooring.model.field_error import show

_MOST_SAFE = float(2**53 - 1)  # beyond, a float is no whole number
_NEARLY = 1e-9
_MOST_FLOAT32 = 3.4028235677973366e38
_RANGES = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}

_MORE_THAN_BOUNDS = ("multipleOf", "exclusiveMinimum", "exclusiveMaximum")
KEYWORDS = ("minimum", "maximum", "multipleOf")


def is_whole(value: float) -> bool:
    """Whether a float counts as an integer."""
    if not abs(value) <= _MOST_SAFE:  # infinities and NaN too
        return False
    whole = float(int(value))
    return value == whole or (
        whole != 0.0 and abs(value - whole) / (abs(value) + abs(whole)) < _NEARLY
    )


def is_integer(value: Any) -> bool:
    if type(value) is int:
        return -(2**63) <= value < 2**63
    return type(value) is float and is_whole(value)


def is_number(value: Any) -> bool:
    return type(value) is int or type(value) is float


def range_fault(value: float, type_: str, format_: str) -> str:
    """`integer with format int32` that a number does not fit; "" when it fits, or none is asked."""
    if type_ == "integer" and format_ in _RANGES:
        least, most = _RANGES[format_]
        return "" if least <= value <= most else f"integer with format {format_}"
    if type_ == "number" and format_ == "float" and not abs(value) < _MOST_FLOAT32:
        return "number with format float"
    return ""


def bound_faults(value: float, schema: Doc) -> Iterable[tuple[Any, str]]:
    """What of multipleOf, minimum and maximum a number breaks: the value to show, and the words."""
    factor, least, most = schema.get("multipleOf"), schema.get("minimum"), schema.get("maximum")
    if factor is not None:
        if factor <= 0:
            yield factor, f"must be positive: {show(factor)}"
        elif not _is_multiple(value, factor):
            yield value, f"should be a multiple of {_text(factor, value)}"
    if least is not None:
        if schema.get("exclusiveMinimum"):
            if value <= least:
                yield value, f"should be greater than {_text(least, value)}"
        elif value < least:
            yield value, f"should be greater than or equal to {_text(least, value)}"
    if most is not None:
        if schema.get("exclusiveMaximum"):
            if value >= most:
                yield value, f"should be less than {_text(most, value)}"
        elif value > most:
            yield value, f"should be less than or equal to {_text(most, value)}"


def whole_bounds(schema: Doc, type_: str, format_: str) -> tuple[int | None, int | None]:
    """Between which integers an int of this type is valid; none when more has to be looked at."""
    if type_ != "integer" or any(schema.get(k) for k in _MORE_THAN_BOUNDS):
        return None, None
    lowest, highest = _RANGES.get(format_, _RANGES["int64"])
    least, most = schema.get("minimum"), schema.get("maximum")
    return (
        lowest if least is None else max(lowest, math.ceil(least)),
        highest if most is None else min(highest, math.floor(most)),
    )


def within_bounds(value: float, schema: Doc) -> bool:
    return next(iter(bound_faults(value, schema)), None) is None


def _is_multiple(value: float, factor: float) -> bool:
    if isinstance(value, int) and float(factor).is_integer():
        return value % int(factor) == 0
    try:
        ratio = 1 / factor * value if factor < 1 else value / factor
    except OverflowError:
        return False
    return math.isfinite(ratio) and is_whole(ratio)


def _text(bound: float, value: float) -> str:
    """A bound as it is told: for a whole number, whole."""
    if isinstance(value, int) and isinstance(bound, float) and bound.is_integer():
        return str(int(bound))
    if isinstance(value, float) and isinstance(bound, int) and abs(bound) < 2**1023:
        return show(float(bound))
    return show(bound)
