"""How long a join token lasts, as users write it."""

from datetime import timedelta

import pytest

from mooring.cli.token import _duration
from mooring.errors import UsageError

TIMES = {
    "24h": timedelta(hours=24),
    "90s": timedelta(seconds=90),
    "1h30m": timedelta(minutes=90),
    "7d": timedelta(days=7),
}


@pytest.mark.parametrize(("text", "meant"), TIMES.items(), ids=TIMES)
def test_a_time_with_its_unit(text: str, meant: timedelta) -> None:
    assert _duration(text) == meant


@pytest.mark.parametrize("text", ["", "24", "h", "1y", "-1h", "1 h", "0s", "366d", "9" * 40 + "d"])
def test_what_is_no_time_for_a_token_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        _duration(text)
