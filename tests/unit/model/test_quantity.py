"""Quantities: the spellings of the API, and the laws of exact numbers."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.model.quantity import (
    ZERO,
    Form,
    Quantity,
    canonical,
    canonical_resource,
    from_bytes,
    parse,
)

SUFFIXES = {
    "": 1,
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 10**3),
    **{suffix: 10 ** (3 * i) for i, suffix in enumerate("kMGTPE", 1)},
    **{f"{suffix}i": 1024**i for i, suffix in enumerate("KMGTPE", 1)},
    **{f"e{i}": Fraction(10) ** i for i in (-9, -1, 0, 2, 3, 20)},
}

CANONICAL: dict[str, tuple[str | int | float, str]] = {
    "the largest binary suffix": ("1024Ki", "1Mi"),
    "a fraction becomes whole in a smaller suffix": ("1.5Gi", "1536Mi"),
    "two steps of 1024 in one": ("2048Mi", "2Gi"),
    "the largest decimal suffix": ("1000", "1k"),
    "decimal suffixes climb too": ("1000M", "1G"),
    "no family is left for another": ("1024", "1024"),
    "what does not divide stays": ("1500Mi", "1500Mi"),
    "thousandths": ("0.1", "100m"),
    "a binary fraction of a byte falls back to thousandths": ("1.1Gi", "1181116006400m"),
    "exponents stay exponents": ("1e3", "1e3"),
    "an upper case exponent prints in lower case": ("1E3", "1e3"),
    "exponents go by threes": ("1e4", "10e3"),
    "an exponent of nothing vanishes": ("7e0", "7"),
    "a bare number": (10000000000, "10G"),
    "a bare fraction": (1.5, "1500m"),
    "surrounding spaces": (" 1Gi\n", "1Gi"),
    "a plus sign and leading zeros": ("+01Gi", "1Gi"),
    "negative": ("-1.5Gi", "-1536Mi"),
    "zero has no suffix": ("0Gi", "0"),
    "negative zero is zero": ("-0", "0"),
    "a started billionth counts as one": ("0.1n", "1n"),
    "and so below zero": ("-0.1n", "-1n"),
    "however small": ("1e-999999", "1e-9"),
    "800 exabytes fit": ("800E", "800E"),
    "beyond the largest suffix the number grows": ("1000E", "1000E"),
    "binary amounts are capped": ("9Ei", "9223372036854775807"),
    "decimal amounts are not": ("10E", "10E"),
    "less than 1024 prints as decimal": ("0.5Ki", "512"),
    "less than one prints as decimal": ("0.0001Ki", "102400u"),
    "what no binary suffix divides prints as it will be read back": ("15.625Ki", "16k"),
    "a point without digits after it": ("1.Gi", "1Gi"),
    "a point without digits before it": (".5Gi", "512Mi"),
}

FORMAT = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
NUMBER = "unable to parse numeric part of quantity"
SUFFIX = "unable to parse quantity's suffix"

REFUSED: dict[str, tuple[str | float, str]] = {
    "empty": ("", FORMAT),
    "blank": ("  ", FORMAT),
    "upper case kilo": ("1K", SUFFIX),
    "a unit": ("1GB", FORMAT),
    "lower case": ("1gi", FORMAT),
    "an inner space": ("1 Gi", FORMAT),
    "hexadecimal": ("0x10", FORMAT),
    "a comma": ("1,5", FORMAT),
    "two points": ("1.2.3", FORMAT),
    "an exponent without digits": ("1e", SUFFIX),
    "an exponent and a suffix": ("1e3k", FORMAT),
    "a suffix alone": ("Gi", NUMBER),
    "a point alone": (".", NUMBER),
    "digits of another script": ("\u0661Gi", FORMAT),
    "not a number": (float("nan"), FORMAT),
    "a truth value": (True, FORMAT),
    "an exponent that would fill the memory": ("1e2147483647", SUFFIX),
    "a number that would fill the memory": ("9" * 1001, NUMBER),
}


@pytest.mark.parametrize(("text", "expected"), CANONICAL.values(), ids=CANONICAL)
def test_canonical(text: str | int | float, expected: str) -> None:
    assert canonical(text) == expected


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(text: str | float, message: str) -> None:
    with pytest.raises(ValueError) as refusal:  # noqa: PT011 - the whole text is compared below
        canonical(text)
    assert str(refusal.value) == message


RESOURCES = {
    "billionths round up to thousandths": ("1n", "1m"),
    "away from zero": ("-1n", "-1m"),
    "thousandths stay": ("1500m", "1500m"),
    "whole amounts stay": ("1Gi", "1Gi"),
}


@pytest.mark.parametrize(("text", "expected"), RESOURCES.values(), ids=RESOURCES)
def test_resource_lists_hold_whole_thousandths(text: str, expected: str) -> None:
    assert canonical_resource(text) == expected
    assert canonical_resource(" " * 40 + text) == expected


def test_equality_is_by_value_not_by_spelling() -> None:
    assert parse("1Gi") == parse("1024Mi")
    assert hash(parse("1Gi")) == hash(parse("1073741824"))
    assert parse("1G") != parse("1Gi")
    assert parse("1") != "1"


BYTES = {
    "1Gi": 1073741824,
    "1.1Gi": 1181116007,
    "1m": 1,
    "0": 0,
    "800E": 800 * 10**18,
}


@pytest.mark.parametrize(("text", "count"), BYTES.items(), ids=BYTES)
def test_a_started_byte_counts(text: str, count: int) -> None:
    assert parse(text).bytes_ceil() == count


def test_bytes_print_binary_when_they_divide_and_decimal_on_demand() -> None:
    assert str(from_bytes(1073741824)) == "1Gi"
    assert str(from_bytes(1073741824, binary=False)) == "1073741824"
    assert str(from_bytes(1000)) == "1k"


def test_a_sum_is_written_like_its_first_amount() -> None:
    assert str(parse("1Gi") + parse("1G")) == "2073741824"
    assert str(parse("1Gi") + parse("1024")) == "1048577Ki"
    assert str(parse("1Gi") - parse("512Mi")) == "512Mi"
    assert str(ZERO + parse("2048Ki")) == "2Mi"
    assert (ZERO + parse("2Mi")).form is Form.BINARY


numbers = st.from_regex(r"[0-9]{1,20}(\.[0-9]{0,12})?", fullmatch=True)
spellings = st.builds(
    "{}{}{}".format, st.sampled_from(["", "+", "-"]), numbers, st.sampled_from(list(SUFFIXES))
)


@given(spellings)
def test_canonical_is_idempotent(text: str) -> None:
    once = canonical(text)
    assert canonical(once) == once


@given(spellings)
def test_printing_keeps_the_value(text: str) -> None:
    amount = parse(text)
    assert parse(str(amount)) == amount


@given(numbers, st.sampled_from(list(SUFFIXES)))
def test_the_value_is_exact_but_for_rounding_up_to_billionths(number: str, suffix: str) -> None:
    exact = Fraction(number.rstrip(".")) * SUFFIXES[suffix]
    if suffix.endswith("i"):
        exact = min(exact, Fraction(2**63 - 1))
    value = parse(number + suffix).value
    assert 0 <= value - exact < Fraction(1, 10**9)


amounts = st.builds(Quantity, st.integers(-(10**40), 10**40), st.sampled_from(Form))


@given(amounts, amounts)
def test_order_and_sums_agree_with_fractions(a: Quantity, b: Quantity) -> None:
    assert (a < b, a <= b, a == b) == (a.value < b.value, a.value <= b.value, a.value == b.value)
    assert (a > b, a >= b) == (a.value > b.value, a.value >= b.value)
    assert (a + b).value == a.value + b.value
    assert (a - b).value == a.value - b.value


@given(amounts)
def test_every_amount_prints_as_something_that_reads_back(amount: Quantity) -> None:
    if amount.form is Form.BINARY:
        amount = Quantity(max(min(amount.nanos, 10**27), -(10**27)), amount.form)
    assert parse(str(amount)) == amount
