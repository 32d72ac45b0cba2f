"""Floating-point numbers as Go prints them (`%v` of a float64)."""

import math

_PLAIN_POWERS = 6  # from this power of ten on, a number is written with an exponent


def go_float(value: float) -> str:
    """`10`, `1.5`, `1e+06`"""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("+Inf" if value > 0 else "-Inf")
    digits, _, exponent = f"{value!r}".lstrip("-").partition("e")
    whole, _, fraction = digits.partition(".")
    written = (whole + fraction).lstrip("0")
    power = int(exponent or 0) + len(whole) - 1 - (len(whole + fraction) - len(written))
    written = written.rstrip("0") or "0"
    minus = "-" if math.copysign(1, value) < 0 else ""
    if value and not -4 <= power < _PLAIN_POWERS:
        rest = f".{written[1:]}" if len(written) > 1 else ""
        return f"{minus}{written[0]}{rest}e{'-' if power < 0 else '+'}{abs(power):02d}"
    if not value:
        return f"{minus}0"
    if power < 0:
        return f"{minus}0.{'0' * (-power - 1)}{written}"
    if len(written) <= power + 1:
        return minus + written + "0" * (power + 1 - len(written))
    return f"{minus}{written[: power + 1]}.{written[power + 1 :]}"
