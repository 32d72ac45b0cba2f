"""One operation per name at a time; what fails must wait, longer every time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from mooring.errors import MooringError
from mooring.reconcile.operations import Operations
from tests.fakes.clock import VirtualClock, settle


class Bench:
    """An operation that is asked for again whenever its time has come."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.operations: Operations[str] = Operations("operations", clock, self._again)
        self.tries: list[float] = []
        self.later: list[float] = []
        self.failures = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.error: Exception = MooringError("no")

    async def work(self) -> None:
        self.tries.append(self.clock.monotonic())
        await self.gate.wait()
        if self.failures:
            self.failures -= 1
            raise self.error

    def start(self, name: str = "a") -> None:
        self.operations.start(name, self.work)

    def _again(self, name: str, seconds: float) -> None:
        self.later.append(seconds)


@asynccontextmanager
async def running() -> AsyncIterator[Bench]:
    bench = Bench(VirtualClock())
    task = asyncio.create_task(bench.operations.run())
    yield bench
    task.cancel()
    await asyncio.wait({task})


async def test_one_at_a_time_per_name() -> None:
    async with running() as bench:
        bench.gate.clear()
        bench.start()
        bench.start()
        bench.start("b")
        await settle()
        assert len(bench.tries) == 2


async def test_asked_for_while_it_ran_it_is_asked_for_again_afterwards() -> None:
    async with running() as bench:
        bench.gate.clear()
        bench.start()
        await settle()
        bench.start()
        bench.gate.set()
        await settle()
        assert bench.later == [0.0]
        bench.start()
        await settle()
        assert len(bench.tries) == 2


async def test_the_pauses_double_up_to_two_minutes() -> None:
    async with running() as bench:
        bench.failures = 12
        for _ in range(12):
            bench.start()
            await settle()
            await bench.clock.advance(bench.later[-1])
        assert bench.later == [0.5, 1, 2, 4, 8, 16, 32, 64, 122, 122, 122, 122]


async def test_asked_for_too_early_it_names_the_time_that_is_left() -> None:
    async with running() as bench:
        bench.failures = 1
        bench.start()
        await bench.clock.advance(0.2)
        bench.start()
        await settle()
        assert len(bench.tries) == 1
        assert bench.later == [0.5, 0.3]


async def test_success_ends_the_pauses() -> None:
    async with running() as bench:
        bench.failures = 1
        bench.start()
        await bench.clock.advance(0.5)
        bench.start()
        await settle()
        bench.failures = 1
        bench.start()
        await settle()
        assert bench.later == [0.5, 0.5]


@pytest.mark.poisons
async def test_a_bug_in_one_operation_counts_as_a_failure_and_ends_nothing_else() -> None:
    async with running() as bench:
        bench.failures, bench.error = 1, RuntimeError("a bug")
        bench.start()
        bench.start("b")
        await settle()
        assert bench.later == [0.5]
        assert len(bench.tries) == 2


async def test_failures_of_long_ago_do_not_count() -> None:
    async with running() as bench:
        bench.failures = 3
        bench.start()
        await bench.clock.advance(200)
        bench.start("b")
        await settle()
        bench.start()
        await settle()
        assert bench.later == [0.5, 0.5, 0.5]


async def test_what_is_forgotten_starts_at_once() -> None:
    async with running() as bench:
        bench.failures = 1
        bench.start()
        await settle()
        bench.operations.forget("a")
        bench.start()
        await settle()
        assert len(bench.tries) == 2
