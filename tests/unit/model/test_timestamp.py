"""Moments on the wire."""

from datetime import UTC, datetime

from mooring.model.timestamp import to_micros, to_seconds

MOMENT = datetime(2026, 2, 3, 4, 5, 6, 789, tzinfo=UTC)


def test_a_time_has_whole_seconds() -> None:
    assert to_seconds(MOMENT) == "2026-02-03T04:05:06Z"


def test_a_micro_time_has_six_digits_even_where_they_are_zero() -> None:
    assert to_micros(MOMENT) == "2026-02-03T04:05:06.000789Z"
    assert to_micros(MOMENT.replace(microsecond=0)) == "2026-02-03T04:05:06.000000Z"
