"""The one spelling of times and binary data."""

import base64

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.apiserver.schema.values import base64_text, microseconds, whole_seconds

TIMES = {
    "whole seconds in UTC stay": ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"),
    "a fraction is dropped, not rounded": ("2026-01-02T03:04:05.999999Z", "2026-01-02T03:04:05Z"),
    "an offset is converted": ("2026-01-02T03:04:05+02:00", "2026-01-02T01:04:05Z"),
    "an offset may change the day": ("2026-01-01T23:30:00-01:00", "2026-01-02T00:30:00Z"),
    "the offset Python writes for UTC": ("2026-01-02T03:04:05+00:00", "2026-01-02T03:04:05Z"),
    "a comma before the fraction": ("2026-01-02T03:04:05,5Z", "2026-01-02T03:04:05Z"),
    "the zero time of Go is none": ("0001-01-01T00:00:00Z", None),
    "early years keep four digits": ("0099-01-02T03:04:05Z", "0099-01-02T03:04:05Z"),
}


@pytest.mark.parametrize(("given", "kept"), TIMES.values(), ids=TIMES)
def test_time(given: str, kept: str | None) -> None:
    assert whole_seconds(given) == kept


MICRO_TIMES = {
    "six digits stay": ("2026-01-02T03:04:05.000006Z", "2026-01-02T03:04:05.000006Z"),
    "no digits become six": ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000000Z"),
    "few digits become six": ("2026-01-02T03:04:05.5Z", "2026-01-02T03:04:05.500000Z"),
    "more digits are cut": ("2026-01-02T03:04:05.1234567Z", "2026-01-02T03:04:05.123456Z"),
    "an offset is converted": ("2026-01-02T03:04:05.5+00:30", "2026-01-02T02:34:05.500000Z"),
    "the zero time of Go is none": ("0001-01-01T00:00:00Z", None),
}


@pytest.mark.parametrize(("given", "kept"), MICRO_TIMES.values(), ids=MICRO_TIMES)
def test_micro_time(given: str, kept: str | None) -> None:
    assert microseconds(given) == kept


NO_TIMES = {
    "no time at all": ("yesterday", 'cannot parse "yesterday" as "2006"'),
    "a date alone": ("2026-01-02", "cannot parse"),
    "no zone": ("2026-01-02T03:04:05", "cannot parse"),
    "a trailing line break": ("2026-01-02T03:04:05Z\n", "cannot parse"),
    "digits of another script": ("٢٠٢٦-01-02T03:04:05Z", "cannot parse"),
    "a month too many": ("2026-13-02T03:04:05Z", "month out of range"),
    "a day too many": ("2026-02-30T03:04:05Z", "day out of range"),
    "a leap second": ("2026-01-02T03:04:60Z", "second out of range"),
    "a zone of more than a day": ("2026-01-02T03:04:05+25:00", "out of range"),
    "a zone that leads out of the calendar": ("9999-12-31T23:59:59-01:00", "out of range"),
}


@pytest.mark.parametrize(("given", "why"), NO_TIMES.values(), ids=NO_TIMES)
def test_what_is_no_time_is_refused(given: str, why: str) -> None:
    for spell in (whole_seconds, microseconds):
        with pytest.raises(ValueError, match=why):
            spell(given)


@settings(deadline=None)  # the machine may be busy
@given(
    st.text(max_size=30) | st.from_regex(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+\d\d:\d\d)")
)
def test_spelling_a_time_twice_changes_nothing(text: str) -> None:
    for spell in (whole_seconds, microseconds):
        try:
            kept = spell(text)
        except ValueError:
            continue
        assert kept is None or spell(kept) == kept


@settings(deadline=None)  # the machine may be busy
@given(st.binary(max_size=40))
def test_base64_that_is_right_stays(data: bytes) -> None:
    text = base64.b64encode(data).decode()
    assert base64_text(text) == text


BASE64 = {
    "line breaks are dropped": ("YW\nI=\r\n", "YWI="),
    "spare bits are zero": ("YR==", "YQ=="),
}


@pytest.mark.parametrize(("given", "kept"), BASE64.values(), ids=BASE64)
def test_base64_has_one_spelling(given: str, kept: str) -> None:
    assert base64_text(given) == kept


NO_BASE64 = {
    "another alphabet": ("YW_-", 2),
    "no padding": ("YQ", 2),
    "a space": ("Y Q=", 1),
    "not even ASCII": ("é", 0),
    "something behind the padding": ("YQ==YQ==", 2),
}


@pytest.mark.parametrize(("given", "place"), NO_BASE64.values(), ids=NO_BASE64)
def test_what_is_no_base64_is_refused(given: str, place: int) -> None:
    with pytest.raises(ValueError, match=f"illegal base64 data at input byte {place}$"):
        base64_text(given)
