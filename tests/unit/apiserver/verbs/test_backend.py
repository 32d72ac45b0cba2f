"""What every verb works with: time and randomness, spelled."""

import random
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mooring.apiserver.verbs.backend import Backend
from mooring.model.timestamp import to_seconds

MOMENTS = {
    "the middle of a second": datetime(2026, 1, 2, 3, 4, 5, 999_999, tzinfo=UTC),
    "a year of three digits": datetime(987, 12, 31, 23, 59, 59, tzinfo=UTC),
}


class Moments:
    """A clock that tells one moment after the other."""

    def __init__(self, *moments: datetime) -> None:
        self._left: Iterator[datetime] = iter(moments)

    def now(self) -> datetime:
        return next(self._left)

    def monotonic(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        raise NotImplementedError


def _backend(*moments: datetime) -> Backend:
    nothing: Any = None  # only time and randomness are asked for
    rng = random.Random(1)  # noqa: S311  repeatable, not secret
    clock = Moments(*moments)
    return Backend(nothing, nothing, nothing, nothing, nothing, clock, rng, *[nothing] * 8)


@pytest.mark.parametrize("moment", MOMENTS.values(), ids=MOMENTS)
def test_now_is_spelled_in_whole_seconds(moment: datetime) -> None:
    later = moment + timedelta(microseconds=1)
    backend = _backend(moment, later, moment)
    assert [backend.now() for _ in range(3)] == [*map(to_seconds, (moment, later, moment))]


def test_uids_are_random_uuids() -> None:
    backend = _backend()
    uids = [backend.new_uid() for _ in range(100)]
    assert {(uuid.UUID(uid).version, uuid.UUID(uid).variant) for uid in uids} == {
        (4, uuid.RFC_4122)
    }
    assert [str(uuid.UUID(uid)) for uid in uids] == uids
    assert len(set(uids)) == 100
