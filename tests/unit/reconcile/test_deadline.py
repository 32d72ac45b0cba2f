import asyncio

import pytest

from mooring.errors import NotFound
from mooring.reconcile.deadline import within
from tests.fakes.clock import VirtualClock, settle


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


async def test_a_body_that_takes_too_long_is_cut(clock: VirtualClock) -> None:
    ended = []

    async def slow() -> None:
        try:
            async with within(clock, 10):
                await asyncio.Event().wait()
        except TimeoutError:
            ended.append(clock.monotonic())

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(slow())
        await clock.advance(9.9)
        assert ended == []
        await clock.advance(0.1)
        assert ended == [10]


async def test_a_body_that_makes_it_is_left_alone(clock: VirtualClock) -> None:
    async with within(clock, 10):
        await settle(2)
    await clock.advance(20)  # nothing is left that could strike now


async def test_what_the_body_raises_comes_out_as_it_is(clock: VirtualClock) -> None:
    with pytest.raises(NotFound):
        async with within(clock, 10):
            raise NotFound("gone")


async def test_a_cancelled_body_is_cancelled_not_timed_out(clock: VirtualClock) -> None:
    async def slow() -> None:
        async with within(clock, 10):
            await asyncio.Event().wait()

    task = asyncio.create_task(slow())
    await settle()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_no_timer_outlives_its_body(clock: VirtualClock) -> None:
    before = asyncio.all_tasks()
    async with within(clock, 10):
        await settle(2)
    assert asyncio.all_tasks() == before


class Bell(VirtualClock):
    """Time is up when it rings."""

    def __init__(self) -> None:
        super().__init__()
        self.rung = asyncio.get_running_loop().create_future()

    async def sleep(self, seconds: float) -> None:
        await self.rung


async def test_a_body_that_ends_as_the_bell_rings_has_made_it() -> None:
    bell, done = Bell(), asyncio.get_running_loop().create_future()

    async def body() -> str:
        async with within(bell, 10):
            await done
        return "made it"

    task = asyncio.create_task(body())
    await settle()
    bell.rung.set_result(None)
    done.set_result(None)
    assert await task == "made it"
