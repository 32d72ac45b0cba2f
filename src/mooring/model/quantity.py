"""Amounts such as `10Gi`, `1.5G`, `100m`: exact numbers that remember how they were written.

A quantity is a whole number of billionths; finer ones are rounded up, so that a tiny amount does
not become zero. It prints in one canonical way per family of suffixes: a whole mantissa and the
largest suffix that loses no precision. Quantities compare by value: `1Gi` equals `1024Mi`.
"""

import re
from enum import Enum
from fractions import Fraction
from functools import lru_cache

import msgspec

_FORMAT = r"^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
_FORMAT_TEXT = f"quantities must match the regular expression '{_FORMAT}'"
_NUMBER_TEXT = "unable to parse numeric part of quantity"
_SUFFIX_TEXT = "unable to parse quantity's suffix"

_split = re.compile(
    r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)", re.ASCII
).fullmatch
_is_exponent = re.compile(r"[eE][-+]?[0-9]+", re.ASCII).fullmatch

_NANO = 10**9
_MOST_BINARY = 2**63 - 1  # where upstream caps amounts written with a binary suffix
_MOST_DIGITS = 1000  # bounds the cost of a hostile number
_CACHED_LENGTH = 32

_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_SUFFIXES = ("", *_BINARY)
_DECIMAL_SUFFIXES = {power: suffix for suffix, power in _DECIMAL.items()}
_LARGEST_DECIMAL = 18


class Form(Enum):
    """The family of suffixes a quantity was written with, and prints with."""

    BINARY = "BinarySI"
    DECIMAL = "DecimalSI"
    EXPONENT = "DecimalExponent"


class Quantity(msgspec.Struct, frozen=True, eq=False):
    nanos: int
    form: Form = Form.DECIMAL

    @property
    def value(self) -> Fraction:
        return Fraction(self.nanos, _NANO)

    def bytes_ceil(self) -> int:
        """Whole bytes, rounded up."""
        return -(-self.nanos // _NANO)

    def milli_ceil(self) -> "Quantity":
        """Rounded away from zero to thousandths, as resource lists are."""
        thousandths = -(-abs(self.nanos) // 10**6) * 10**6
        return Quantity(thousandths if self.nanos >= 0 else -thousandths, self.form)

    def __str__(self) -> str:
        nanos = self.nanos
        if nanos == 0:
            return "0"
        if self.form is Form.EXPONENT:
            mantissa, power = _thousands(nanos)
            return f"{mantissa}e{power}" if power else str(mantissa)
        if self.form is Form.BINARY and nanos % (1024 * _NANO) == 0:
            return _print_binary(nanos // _NANO)
        # Also where a binary suffix would lose precision or be empty: parsed again, such a number
        # is decimal, so printing it as decimal keeps the output stable.
        mantissa, power = _thousands(nanos)
        if power > _LARGEST_DECIMAL:
            mantissa, power = mantissa * 10 ** (power - _LARGEST_DECIMAL), _LARGEST_DECIMAL
        return f"{mantissa}{_DECIMAL_SUFFIXES[power]}"

    def __eq__(self, other: object) -> bool:
        return self.nanos == other.nanos if isinstance(other, Quantity) else NotImplemented

    def __ne__(self, other: object) -> bool:  # msgspec's own would compare identity
        return not self == other

    def __hash__(self) -> int:
        return hash(self.nanos)

    def __lt__(self, other: "Quantity") -> bool:
        return self.nanos < other.nanos

    def __le__(self, other: "Quantity") -> bool:
        return self.nanos <= other.nanos

    def __gt__(self, other: "Quantity") -> bool:
        return self.nanos > other.nanos

    def __ge__(self, other: "Quantity") -> bool:
        return self.nanos >= other.nanos

    def __add__(self, other: "Quantity") -> "Quantity":
        """The sum, in the form of the first amount; of the second if the first is zero."""
        return Quantity(self.nanos + other.nanos, self.form if self.nanos else other.form)

    def __sub__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.nanos - other.nanos, self.form if self.nanos else other.form)


ZERO = Quantity(0)


def parse(text: str | int | float) -> Quantity:
    """Parse a quantity from JSON: mostly a string, sometimes a bare number.

    Raises: ValueError with the API's text.
    """
    if isinstance(text, str) and len(text) <= _CACHED_LENGTH:
        return _parsed(text)
    return _parse(str(text))


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Quantity:
    return _parse(text)


def _parse(text: str) -> Quantity:
    bare = text.strip()
    found = _split(bare)
    if not bare or found is None:
        raise ValueError(_FORMAT_TEXT)
    sign, whole, fraction, suffix = found.groups("")
    if (shift := _BINARY.get(suffix)) is not None:
        form, power = Form.BINARY, 0
    elif (decimal := _DECIMAL.get(suffix)) is not None:
        form, power, shift = Form.DECIMAL, decimal, 0
    elif _is_exponent(suffix):
        form, power, shift = Form.EXPONENT, _read_exponent(suffix), 0
    else:
        raise ValueError(_SUFFIX_TEXT)
    digits = whole + fraction
    if not digits or len(digits) > _MOST_DIGITS:
        raise ValueError(_NUMBER_TEXT)
    nanos = _nanos(int(digits) << shift, power - len(fraction))
    if form is Form.BINARY:
        if nanos > _MOST_BINARY * _NANO:
            nanos = _MOST_BINARY * _NANO
        elif nanos < _NANO:
            form = Form.DECIMAL
    return Quantity(-nanos if sign == "-" else nanos, form)


def from_bytes(count: int, *, binary: bool = True) -> Quantity:
    return Quantity(count * _NANO, Form.BINARY if binary else Form.DECIMAL)


def canonical(text: str | int | float) -> str:
    """The one spelling of this quantity. Raises: ValueError, as `parse`."""
    if isinstance(text, str) and len(text) <= _CACHED_LENGTH:
        return _canonical(text)
    return str(parse(text))


def canonical_resource(text: str | int | float) -> str:
    """The same for an entry of a resource list (capacity, requests, limits): whole thousandths."""
    if isinstance(text, str) and len(text) <= _CACHED_LENGTH:
        return _canonical_resource(text)
    return str(parse(text).milli_ceil())


@lru_cache(maxsize=4096)
def _canonical(text: str) -> str:
    return str(parse(text))


@lru_cache(maxsize=4096)
def _canonical_resource(text: str) -> str:
    return str(parse(text).milli_ceil())


def _read_exponent(suffix: str) -> int:
    if len(suffix) > 12:
        raise ValueError(_SUFFIX_TEXT)
    exponent = int(suffix[1:])
    if exponent > _MOST_DIGITS:
        raise ValueError(_SUFFIX_TEXT)
    return max(exponent, -_MOST_DIGITS)  # below this, every amount is rounded up to one billionth


def _nanos(mantissa: int, power: int) -> int:
    """`mantissa` times ten to the `power`, in billionths, rounded up."""
    power += 9
    scale: int = 10 ** abs(power)
    return mantissa * scale if power >= 0 else -(-mantissa // scale)


def _thousands(nanos: int) -> tuple[int, int]:
    """The smallest whole mantissa over a power of ten that is a multiple of three."""
    power = -9
    while nanos % 1000 == 0:
        nanos //= 1000
        power += 3
    return nanos, power


def _print_binary(count: int) -> str:
    step = 0
    while count % 1024 == 0 and step < len(_BINARY_SUFFIXES) - 1:
        count //= 1024
        step += 1
    return f"{count}{_BINARY_SUFFIXES[step]}"
