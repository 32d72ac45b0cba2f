"""Long work lets others go first, and those who do long work take turns."""

import asyncio

from mooring.apiserver.limits.turns import SLICE, Turns, round_trip
from mooring.clock import RealClock
from tests.fakes.clock import VirtualClock


async def test_one_slice_runs_in_a_round_whoever_s_it_is() -> None:
    turns = Turns(VirtualClock())
    done: list[str] = []

    async def work(name: str) -> None:
        for _ in range(3):
            await turns.next()
            done.append(name)

    async with asyncio.TaskGroup() as tasks:
        for name in "abc":
            tasks.create_task(work(name))
        rounds = []
        while len(done) < 9:
            await round_trip()
            rounds.append(len(done))
    assert done == list("abcabcabc"), "first come, first served"
    assert max(b - a for a, b in zip([0, *rounds], rounds, strict=False)) == 1


def fail() -> None:
    raise RuntimeError("a bug")


async def test_work_that_fails_does_not_stop_the_line() -> None:
    turns = Turns(VirtualClock())
    failed: list[object] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: failed.append(context["exception"]))
    turns.call(fail)
    await turns.next()
    assert [type(error) for error in failed] == [RuntimeError]


async def test_whoever_gives_up_its_turn_holds_up_nobody() -> None:
    turns = Turns(VirtualClock())
    gone = asyncio.create_task(turns.next())
    await round_trip()
    gone.cancel()
    await turns.next()
    assert gone.cancelled()


async def test_a_slice_is_over_in_time() -> None:
    clock = RealClock()
    began = clock.monotonic()
    working = Turns(clock).slice(SLICE)
    while not working.is_over:
        pass
    assert clock.monotonic() - began >= SLICE
    await working.pause()
    assert not working.is_over
