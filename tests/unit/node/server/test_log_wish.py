"""What the query of a log request says."""

from datetime import UTC, datetime

import pytest

from mooring.node.server.log_wish import LogWish, log_wish
from mooring.node.server.refusal import Refusal

NOW = datetime(2026, 1, 2, 3, 4, 5, 250, tzinfo=UTC)
AT_NOW = 1767323045 * 10**9

GOOD = {
    "nothing": ({}, LogWish()),
    "kubectl's words": (
        {"follow": "true", "previous": "true", "timestamps": "true", "limitBytes": "9"},
        LogWish(follows=True, previous=True, has_timestamps=True, most_bytes=9),
    ),
    "false is no": ({"follow": "false", "previous": "0", "timestamps": ""}, LogWish()),
    "the last lines": ({"tailLines": "0"}, LogWish(tail=0)),
    "an old word for them": ({"tail": "all", "tailLines": "3"}, LogWish()),
    "for so many seconds": (
        {"sinceSeconds": "5"},
        LogWish(since=AT_NOW - 5 * 10**9 + 250_000),
    ),
    "for longer than there are calendars": ({"sinceSeconds": str(10**18)}, LogWish(since=0)),
    "since a time": ({"sinceTime": "2026-01-02T03:04:05Z"}, LogWish(since=AT_NOW)),
    "since a time elsewhere": (
        {"sinceTime": "2026-01-02T05:04:05.5+02:00"},
        LogWish(since=AT_NOW + 5 * 10**8),
    ),
    "one stream": ({"stream": "Stderr"}, LogWish(stream=b"stderr")),
    "both streams": ({"stream": "All", "tailLines": "1"}, LogWish(tail=1)),
}


@pytest.mark.parametrize(("query", "wish"), GOOD.values(), ids=GOOD)
def test_wishes(query: dict[str, str], wish: LogWish) -> None:
    assert log_wish(query, NOW) == wish


BAD = {
    "no number": ({"tailLines": "many"}, 400),
    "no time": ({"sinceTime": "yesterday"}, 400),
    "no such day": ({"sinceTime": "2026-02-30T00:00:00Z"}, 400),
    "fewer than no lines": ({"tailLines": "-1"}, 422),
    "no bytes": ({"limitBytes": "0"}, 422),
    "no seconds": ({"sinceSeconds": "0"}, 422),
    "two beginnings": ({"sinceSeconds": "1", "sinceTime": "2026-01-02T03:04:05Z"}, 422),
    "no such stream": ({"stream": "Stdin"}, 422),
    "the last lines of one stream": ({"stream": "Stdout", "tailLines": "1"}, 422),
}


@pytest.mark.parametrize(("query", "code"), BAD.values(), ids=BAD)
def test_wishes_that_make_no_sense(query: dict[str, str], code: int) -> None:
    with pytest.raises(Refusal) as refusal:
        log_wish(query, NOW)
    assert refusal.value.code == code
