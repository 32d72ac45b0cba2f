"""What the query of a log request says."""

from datetime import UTC, datetime

import pytest

from mooring.model.pod_log_options import PodLogOptions
from mooring.node.server.log_options import log_options
from mooring.node.server.refusal import Refusal

NOW = datetime(2026, 1, 2, 3, 4, 5, 250, tzinfo=UTC)
AT_NOW = 1767323045 * 10**9

GOOD = {
    "nothing": ({}, PodLogOptions()),
    "kubectl's words": (
        {"follow": "true", "previous": "true", "timestamps": "true", "limitBytes": "9"},
        PodLogOptions(follow=True, previous=True, timestamps=True, limit_bytes=9),
    ),
    "false is no": ({"follow": "false", "previous": "0", "timestamps": ""}, PodLogOptions()),
    "the last lines": ({"tailLines": "0"}, PodLogOptions(tail_lines=0)),
    "an old word for them": ({"tail": "all", "tailLines": "3"}, PodLogOptions()),
    "for so many seconds": (
        {"sinceSeconds": "5"},
        PodLogOptions(since_time=AT_NOW - 5 * 10**9 + 250_000),
    ),
    "for longer than there are calendars": (
        {"sinceSeconds": str(10**18)},
        PodLogOptions(since_time=0),
    ),
    "since a time": ({"sinceTime": "2026-01-02T03:04:05Z"}, PodLogOptions(since_time=AT_NOW)),
    "since a time elsewhere": (
        {"sinceTime": "2026-01-02T05:04:05.5+02:00"},
        PodLogOptions(since_time=AT_NOW + 5 * 10**8),
    ),
    "one stream": ({"stream": "Stderr"}, PodLogOptions(stream="Stderr")),
    "both streams": ({"stream": "All", "tailLines": "1"}, PodLogOptions(tail_lines=1)),
}


@pytest.mark.parametrize(("query", "options"), GOOD.values(), ids=GOOD)
def test_options(query: dict[str, str], options: PodLogOptions) -> None:
    assert log_options(query, NOW) == options


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
def test_options_that_make_no_sense(query: dict[str, str], code: int) -> None:
    with pytest.raises(Refusal) as refusal:
        log_options(query, NOW)
    assert refusal.value.code == code
