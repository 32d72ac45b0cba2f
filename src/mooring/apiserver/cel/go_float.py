"""Numbers as Go prints them with `%g`."""

import math


def go_float(number: float) -> str:
    """The shortest text that reads back as the number; exponents below -4 and from 21 on."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    if number == 0:
        return "-0" if math.copysign(1.0, number) < 0 else "0"
    digits, exponent = _shortest(abs(number))
    sign = "-" if number < 0 else ""
    if exponent < -4 or exponent >= 21:
        rest = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{rest}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    if len(digits) <= exponent + 1:
        return sign + digits.ljust(exponent + 1, "0")
    return f"{sign}{digits[: exponent + 1]}.{digits[exponent + 1 :]}"


def _shortest(number: float) -> tuple[str, int]:
    """The significant digits, and the exponent of the first."""
    mantissa, _, exponent = repr(number).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    leading = (
        len(whole) - 1 if whole.strip("0") else -(len(fraction) - len(fraction.lstrip("0"))) - 1
    )
    return digits.rstrip("0") or "0", leading + int(exponent or 0)
