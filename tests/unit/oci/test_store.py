"""The sizes that the store tells people."""

import pytest

from mooring.oci.store import human_size


@pytest.mark.parametrize(
    ("count", "told"),
    [
        (0, "0B"),
        (999, "999B"),
        (1000, "1kB"),
        (4_260_000, "4.26MB"),
        (999_499, "999kB"),
        (999_500, "1MB"),
        (123_456_789_012, "123GB"),
        (5 * 10**15, "5e+03TB"),
    ],
)
def test_three_digits_and_a_unit(count: int, told: str) -> None:
    assert human_size(count) == told
