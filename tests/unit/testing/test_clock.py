"""The clock that can be moved on."""

import asyncio

import pytest

from mooring.testing.clock import AdvancingClock
from mooring.testing.errors import ClusterError
from tests.fakes.clock import VirtualClock

REAL = 1_000_000.0  # seconds: nothing in these tests wakes of itself


async def test_sleepers_wake_in_order_and_see_their_time() -> None:
    clock = AdvancingClock(VirtualClock())
    woken: list[tuple[str, float]] = []

    async def sleep(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append((name, clock.monotonic()))

    tasks = [asyncio.create_task(sleep(*each)) for each in (("b", REAL + 20), ("a", REAL + 10))]
    await clock.advance(REAL + 15)
    assert woken == [("a", REAL + 10)]
    await clock.advance(5)
    assert woken == [("a", REAL + 10), ("b", REAL + 20)]
    await asyncio.gather(*tasks)


async def test_who_sleeps_again_on_the_way_is_woken_again() -> None:
    clock = AdvancingClock(VirtualClock())
    beats: list[float] = []

    async def beat() -> None:
        while True:
            await clock.sleep(REAL)
            beats.append(clock.monotonic())

    task = asyncio.create_task(beat())
    await clock.advance(5 * REAL)
    assert beats == [REAL, 2 * REAL, 3 * REAL, 4 * REAL, 5 * REAL]
    task.cancel()


async def test_the_wall_moves_with_it_and_real_time_goes_on() -> None:
    real = VirtualClock()
    clock = AdvancingClock(real)
    before = clock.now()
    await clock.advance(60)
    await real.advance(5)
    assert (clock.now() - before).total_seconds() == 65
    assert clock.monotonic() == 65


async def test_a_sleeper_that_was_cancelled_is_forgotten() -> None:
    clock = AdvancingClock(VirtualClock())
    task = asyncio.create_task(clock.sleep(REAL))
    await asyncio.wait([task], timeout=0)
    task.cancel()
    await clock.advance(2 * REAL)
    assert task.cancelled()


async def test_time_goes_on_by_itself() -> None:
    clock = AdvancingClock(VirtualClock())
    await clock.sleep(0.01)


@pytest.mark.parametrize(
    ("seconds", "said"), [(-1, "moved on, never back"), (601 * 86400, "600 days ahead at most")]
)
async def test_steps_that_would_break_something_are_refused(seconds: float, said: str) -> None:
    clock = AdvancingClock(VirtualClock())
    with pytest.raises(ClusterError, match=said):
        await clock.advance(seconds)
    assert clock.monotonic() == 0
