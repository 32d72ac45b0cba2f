"""Ages: each boundary from both sides."""

import pytest

from mooring.model.age import age, duration

MINUTE, HOUR, DAY, YEAR = 60, 3600, 86400, 365 * 86400

DURATIONS: dict[str, tuple[float, str]] = {
    "two seconds in the future is nonsense": (-2, "<invalid>"),
    "less than two is a clock that differs": (-1.9, "0s"),
    "now": (0, "0s"),
    "fractions are cut": (1.9, "1s"),
    "seconds up to two minutes": (2 * MINUTE - 1, "119s"),
    "then minutes": (2 * MINUTE, "2m"),
    "with seconds": (2 * MINUTE + 1, "2m1s"),
    "up to ten minutes": (10 * MINUTE - 1, "9m59s"),
    "then minutes alone": (10 * MINUTE + 59, "10m"),
    "up to three hours": (3 * HOUR - 1, "179m"),
    "then hours": (3 * HOUR, "3h"),
    "with minutes": (3 * HOUR + 61, "3h1m"),
    "up to eight hours": (8 * HOUR - 1, "7h59m"),
    "then hours alone": (8 * HOUR + HOUR - 1, "8h"),
    "up to two days": (2 * DAY - 1, "47h"),
    "then days": (2 * DAY, "2d"),
    "with hours": (2 * DAY + HOUR, "2d1h"),
    "up to eight days": (8 * DAY - 1, "7d23h"),
    "then days alone": (9 * DAY - 1, "8d"),
    "up to two years": (2 * YEAR - 1, "729d"),
    "then years": (2 * YEAR, "2y"),
    "with days": (2 * YEAR + DAY, "2y1d"),
    "up to eight years": (8 * YEAR - 1, "7y364d"),
    "then years alone": (9 * YEAR - 1, "8y"),
}


@pytest.mark.parametrize(("seconds", "text"), DURATIONS.values(), ids=DURATIONS)
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text


AGES = {
    "unset": ("", "2026-01-01T00:00:00Z", "<unknown>"),
    "whole seconds": ("2025-12-31T23:59:00Z", "2026-01-01T00:00:00Z", "60s"),
    "microseconds": ("2025-12-31T23:59:58.500000Z", "2026-01-01T00:00:00Z", "1s"),
    "a time that is not in UTC": ("2026-01-01T01:00:00+01:00", "2026-01-01T00:00:05Z", "5s"),
    "later than now": ("2026-01-01T00:00:10Z", "2026-01-01T00:00:00Z", "<invalid>"),
}


@pytest.mark.parametrize(("since", "now", "text"), AGES.values(), ids=AGES)
def test_age(since: str, now: str, text: str) -> None:
    assert age(since, now) == text
