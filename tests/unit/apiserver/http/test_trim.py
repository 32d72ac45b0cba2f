import asyncio

import pytest

from mooring.apiserver.http.trim import AFTER, SOON, Departures, trim
from tests.fakes.loop_time import LoopTime


async def test_memory_is_given_back_once_for_many_who_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    time = LoopTime(asyncio.get_running_loop(), monkeypatch)
    trims: list[None] = []
    departures = Departures(asyncio.get_running_loop(), lambda: trims.append(None))
    for _ in range(AFTER - 1):
        departures.one_left()
    await time.passes(10 * SOON)
    assert not trims
    for _ in range(3 * AFTER):
        departures.one_left()
    await time.passes(2 * SOON)
    assert len(trims) == 1
    for _ in range(AFTER):
        departures.one_left()
    await time.passes(2 * SOON)
    assert len(trims) == 2


def test_it_can_be_done_at_any_time() -> None:
    trim()
    trim()
