"""Amounts of storage in documents: requests, limits, capacities. All are canonical strings here."""

from collections.abc import Iterable, Mapping

from mooring.model.field_error import FieldError, invalid
from mooring.model.quantity import ZERO, parse

_POSITIVE_DIGITS = frozenset("123456789")
_FRACTION_SUFFIXES = ("m", "u", "n")


def is_positive(amount: str) -> bool:
    # A canonical amount has a whole mantissa, so its first digit is enough, without parsing.
    return amount[:1] in _POSITIVE_DIGITS or parse(amount) > ZERO


def not_positive(field: str, amount: str) -> FieldError:
    return invalid(field, amount, "must be greater than zero")


def validate_not_negative(field: str, amount: str) -> Iterable[FieldError]:
    if parse(amount) < ZERO:
        yield invalid(field, amount, "must be greater than or equal to 0")


def validate_capacity(field: str, capacity: Mapping[str, str]) -> Iterable[FieldError]:
    """Complaints about entries below zero, in the words for what a volume has, not what it asks."""
    for name, amount in capacity.items():
        if (count := parse(amount).bytes_ceil()) < 0:
            yield invalid(f"{field}[{name}]", count, "must be a valid resource quantity")


def same_amounts(new: Mapping[str, str], old: Mapping[str, str]) -> bool:
    """The same resources in the same amounts, however these are spelt."""
    if new == old:
        return True
    return new.keys() == old.keys() and all(
        amount == old[name] or parse(amount) == parse(old[name]) for name, amount in new.items()
    )


def warn_of_fraction(field: str, amount: str) -> Iterable[str]:
    """A word of warning about a size that is no whole number of bytes."""
    if amount.endswith(_FRACTION_SUFFIXES) or "e-" in amount:
        yield f'{field}: fractional byte value "{amount}" is invalid, must be an integer'
