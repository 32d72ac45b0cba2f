"""Parameters of `/mooring/v1/csi-calls`: read, or refused with what would do."""

from datetime import UTC, datetime, timedelta

import pytest

from mooring.csi.call_query import Question, read_question
from mooring.errors import UsageError

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("query", "question"),
    [
        ({}, Question()),
        ({"watch": "1"}, Question(watch=True)),
        ({"watch": "0"}, Question()),
        ({"limit": "7"}, Question(limit=7)),
        ({"slow": "250ms"}, Question(slow_seconds=0.25)),
        ({"slow": "1.5s"}, Question(slow_seconds=1.5)),
        ({"slow": "1m30s"}, Question(slow_seconds=90)),
        ({"since": "10m"}, Question(since=NOW - timedelta(minutes=10))),
        ({"since": "2h30m"}, Question(since=NOW - timedelta(minutes=150))),
        ({"since": "2026-01-01T11:00:00Z"}, Question(since=NOW - timedelta(hours=1))),
        ({"since": "2026-01-01T11:00:00"}, Question(since=NOW - timedelta(hours=1))),
        ({"since": "99999999999999h"}, Question(since=datetime.min.replace(tzinfo=UTC))),
    ],
)
def test_parameters_are_read(query: dict[str, str], question: Question) -> None:
    assert read_question(query, NOW) == question


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"since": "yesterday"}, "since=yesterday: give a duration such as 10m, or a time"),
        ({"slow": "fast"}, "slow=fast: give a duration"),
        ({"slow": "-1s"}, "slow=-1s: give a duration"),
        ({"limit": "-1"}, "limit=-1: give a number"),
        ({"watch": "maybe"}, "watch=maybe: give 1 or 0"),
        ({"sinse": "1m"}, "unknown parameter 'sinse'"),
    ],
)
def test_what_cannot_be_read_is_refused(query: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_question(query, NOW)
    assert said in str(refused.value)
