import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.apiserver.kinds.resources import (
    is_positive,
    same_amounts,
    validate_capacity,
    validate_not_negative,
    warn_of_fraction,
)
from mooring.model.quantity import canonical, parse


@given(st.integers(-(2**70), 2**70), st.sampled_from(["", "m", "k", "Gi", "e3", "e-3"]))
def test_a_canonical_amount_is_positive_exactly_when_its_value_is(number: int, suffix: str) -> None:
    amount = canonical(f"{number}{suffix}")
    assert is_positive(amount) == (parse(amount).nanos > 0)


def test_an_amount_below_zero_is_refused() -> None:
    (error,) = validate_not_negative("capacity", "-1Gi")
    assert str(error) == 'capacity: Invalid value: "-1Gi": must be greater than or equal to 0'
    assert list(validate_not_negative("capacity", "0")) == []


def test_a_capacity_below_zero_is_told_in_bytes() -> None:
    (error,) = validate_capacity("status.capacity", {"storage": "-1Ki", "other": "1"})
    assert str(error) == (
        "status.capacity[storage]: Invalid value: -1024: must be a valid resource quantity"
    )


AMOUNTS: dict[str, tuple[dict[str, str], dict[str, str], bool]] = {
    "the same text is the same amount": ({"storage": "1Gi"}, {"storage": "1Gi"}, True),
    "two spellings of one amount are the same": (
        {"storage": "1Gi"},
        {"storage": "1073741824"},
        True,
    ),
    "another amount is not the same": ({"storage": "1Gi"}, {"storage": "1G"}, False),
    "another resource is not the same": ({"storage": "1"}, {"cpu": "1"}, False),
    "one resource more is not the same": ({"storage": "1", "cpu": "1"}, {"storage": "1"}, False),
}


@pytest.mark.parametrize(("new", "old", "same"), AMOUNTS.values(), ids=AMOUNTS)
def test_same_amounts(new: dict[str, str], old: dict[str, str], *, same: bool) -> None:
    assert same_amounts(new, old) is same


@given(st.integers(1, 10**12))
def test_exactly_the_fractions_of_a_byte_are_warned_of(thousandths: int) -> None:
    amount = canonical(f"{thousandths}m")
    assert bool(list(warn_of_fraction("f", amount))) == bool(thousandths % 1000)
