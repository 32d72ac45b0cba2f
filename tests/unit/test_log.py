"""A log line is one line, whatever is in it."""

import json
import logging
import sys

import pytest

from mooring import log

FIELDS = {
    "plain": ("web-0", "web-0"),
    "nothing": ("", '""'),
    "spaces": ("two words", '"two words"'),
    "a line break": ("a\nlevel=error at=x", '"a\\nlevel=error at=x"'),
    "a return": ("a\rb", '"a\\u000db"'),
    "an escape sequence": ("\x1b[2J", '"\\u001b[2J"'),
    "an odd line break": ("a\u2028b", '"a\\u2028b"'),
    "without end": ("x" * 100_000, "x" * log.MOST_SHOWN + "..."),
}


@pytest.mark.parametrize(("given", "then"), FIELDS.values(), ids=FIELDS)
def test_fields(given: str, then: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "mooring.test"):
        log.get("mooring.test").info("said", field=given)
    assert caplog.messages == [f"msg=said field={then}"]


NOON = 1_767_355_445.678  # 2026-01-02T12:04:05.678Z


def a_record(
    sentence: str = "said", level: int = logging.WARNING, at: float = NOON
) -> logging.LogRecord:
    record = logging.LogRecord("mooring.test", level, __file__, 1, "%s", (f"msg={sentence}",), None)
    record.created = at
    record.mooring_pairs = {"msg": sentence, "pod": "default/web", "seconds": 3, "at": None}
    return record


def test_a_line_has_a_time_and_what_it_is_about() -> None:
    assert log.TextLine().format(a_record()) == (
        "time=2026-01-02T12:04:05.678Z level=warning at=mooring.test msg=said"
    )


def test_a_line_of_json_has_the_fields_as_they_are() -> None:
    assert json.loads(log.JsonLine().format(a_record("line\nbreak"))) == {
        "time": "2026-01-02T12:04:05.678Z",
        "level": "warning",
        "logger": "mooring.test",
        "msg": "line\nbreak",
        "pod": "default/web",
        "seconds": 3,
        "at": None,
    }


def test_a_field_takes_no_place_from_what_every_line_has() -> None:
    record = a_record()
    record.mooring_pairs = {"msg": "said", "time": "late", "level": "high"}
    told = json.loads(log.JsonLine().format(record))
    assert (told["time_"], told["level_"]) == ("late", "high")
    assert told["level"] == "warning"


def test_what_a_library_says_is_a_line_too() -> None:
    record = logging.LogRecord("asyncio", logging.WARNING, __file__, 1, "took %d s", (3,), None)
    record.created = NOON
    assert log.TextLine().format(record).endswith('level=warning at=asyncio msg="took 3 s"')
    assert json.loads(log.JsonLine().format(record))["msg"] == "took 3 s"


def test_a_traceback_is_told_in_both() -> None:
    record = a_record()
    try:
        raise ZeroDivisionError("no shares")
    except ZeroDivisionError:
        record.exc_info = sys.exc_info()
    assert "\nZeroDivisionError: no shares" in log.TextLine().format(record)
    (line,) = log.JsonLine().format(record).splitlines()
    assert "ZeroDivisionError: no shares" in json.loads(line)["traceback"]


def test_a_warning_is_repeated_once_a_minute_with_a_count() -> None:
    repeats, shown = log.Repeats(), list[str]()
    for second in range(125):
        record = a_record(at=NOON + second)
        if repeats.filter(record):
            shown.append(log.TextLine().format(record))
    assert [line.partition("msg=")[2] for line in shown] == [
        "said",
        "said repeated=59",
        "said repeated=59",
    ]
    assert not repeats.filter(a_record(at=NOON + 125))
    last = a_record(at=NOON + 200)
    assert repeats.filter(last)
    assert json.loads(log.JsonLine().format(last))["repeated"] == 5


def test_another_cause_is_another_line() -> None:
    repeats = log.Repeats()
    assert all(repeats.filter(a_record(f"said {n}")) for n in range(3 * log.MOST_COUNTED))
    assert repeats.filter(a_record("said 0"))


def test_news_are_not_counted() -> None:
    repeats = log.Repeats()
    assert all(repeats.filter(a_record(level=logging.INFO)) for _ in range(3))


def test_a_clock_that_is_set_back_silences_nobody() -> None:
    repeats = log.Repeats()
    assert repeats.filter(a_record())
    assert repeats.filter(a_record(at=NOON - 3600))
