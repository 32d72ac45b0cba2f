"""Schedules in the words of cron."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.model.cron import parse

NEXT = {
    "every minute": ("* * * * *", "2026-01-02T03:04:05", "2026-01-02T03:05:00"),
    "every five minutes": ("*/5 * * * *", "2026-01-02T03:05:00", "2026-01-02T03:10:00"),
    "from ten on": ("10/20 * * * *", "2026-01-02T03:31:00", "2026-01-02T03:50:00"),
    "at night": ("30 2 * * *", "2026-01-02T03:04:05", "2026-01-03T02:30:00"),
    "on Sundays": ("0 0 * * 0", "2026-01-02T03:04:05", "2026-01-04T00:00:00"),
    "by name": ("0 0 1 feb mon", "2026-01-02T03:04:05", "2026-02-01T00:00:00"),
    "one day or the other": ("0 0 13 * fri", "2026-01-03T00:00:00", "2026-01-09T00:00:00"),
    "a leap day": ("0 0 29 2 *", "2026-01-01T00:00:00", "2028-02-29T00:00:00"),
    "a range with steps": ("0 6-16/4 * * 1-5", "2026-01-02T15:00:00", "2026-01-05T06:00:00"),
    "@hourly": ("@hourly", "2026-01-02T03:04:05", "2026-01-02T04:00:00"),
    "@daily": ("@daily", "2026-01-02T03:04:05", "2026-01-03T00:00:00"),
    "@weekly": ("@weekly", "2026-01-02T03:04:05", "2026-01-04T00:00:00"),
    "@yearly": ("@yearly", "2026-01-02T03:04:05", "2027-01-01T00:00:00"),
    "@every": ("@every 1h30m", "2026-01-02T03:04:05", "2026-01-02T04:34:05"),
    "a question mark": ("0 0 ? * 3", "2026-01-02T03:04:05", "2026-01-07T00:00:00"),
}


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(("schedule", "now", "following"), NEXT.values(), ids=NEXT)
def test_the_next_time(schedule: str, now: str, following: str) -> None:
    assert parse(schedule).next_after(at(now)) == at(following)


def test_a_day_that_never_comes() -> None:
    assert parse("59 23 31 2 *").next_after(at("2026-01-01T00:00:00")) is None


def test_a_time_that_clocks_leave_out_is_passed_over() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    found = parse("30 2 * * *").next_after(datetime(2026, 3, 28, 12, tzinfo=berlin))
    assert found == datetime(2026, 3, 30, 2, 30, tzinfo=berlin)


def test_a_time_that_clocks_show_twice_comes_once() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    found = parse("30 2 * * *").next_after(datetime(2026, 10, 24, 12, tzinfo=berlin))
    assert found == datetime(2026, 10, 25, 2, 30, tzinfo=berlin)
    assert parse("30 2 * * *").next_after(found) == datetime(2026, 10, 26, 2, 30, tzinfo=berlin)


WRONG = {
    "": "empty spec string",
    "* * * *": "expected exactly 5 fields, found 4: [* * * *]",
    "60 * * * *": "end of range (60) above maximum (59): 60",
    "* * 0 * *": "beginning of range (0) below minimum (1): 0",
    "5-1 * * * *": "beginning of range (5) beyond end of range (1): 5-1",
    "*/0 * * * *": "step of range should be a positive number: */0",
    "x * * * *": 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax',
    "1-2-3 * * * *": "too many hyphens: 1-2-3",
    "1/2/3 * * * *": "too many slashes: 1/2/3",
    "@often": "unrecognized descriptor: @often",
    "@every x": 'failed to parse duration @every x: time: invalid duration "x"',
}


@pytest.mark.parametrize(("text", "why"), WRONG.items())
def test_what_is_no_schedule(text: str, why: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011  the text is compared whole
        parse(text)
    assert str(caught.value) == why


FIELD = st.one_of(
    st.just("*"),
    st.integers(1, 6).map(str),
    st.tuples(st.integers(1, 3), st.integers(4, 6)).map(lambda pair: f"{pair[0]}-{pair[1]}"),
    st.integers(1, 6).map(lambda step: f"*/{step}"),
)


@given(
    fields=st.tuples(FIELD, FIELD, FIELD, FIELD, FIELD),
    moment=st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1)),  # noqa: DTZ001  made aware
)
def test_the_next_time_is_later_and_none_lies_between(
    fields: tuple[str, ...], moment: datetime
) -> None:
    schedule, now = parse(" ".join(fields)), moment.replace(tzinfo=UTC)
    found = schedule.next_after(now)
    assert found is not None
    assert found > now
    assert found.second == 0
    assert schedule.next_after(now) == found, "the same question has the same answer"
