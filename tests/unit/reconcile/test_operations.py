"""One operation per name at a time; what fails must wait, longer every time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from mooring.errors import MooringError
from mooring.reconcile.operations import Busy, Operations, PendingOperations, PutOff, Started
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


# without tasks of its own


async def fails() -> None:
    raise MooringError("no")


async def succeeds() -> None:
    return


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def pending(clock: VirtualClock) -> PendingOperations[str]:
    return PendingOperations("operations", clock)


async def test_what_has_begun_excludes_its_key_until_it_ends(
    pending: PendingOperations[str],
) -> None:
    assert pending.begin("a") == Started()
    assert pending.begin("a") == Busy()
    assert pending.begin("b") == Started()
    assert await pending.carry_out("a", succeeds) is None
    assert pending.begin("a") == Started()


async def test_a_failure_puts_off_the_same_operation_and_no_other_under_its_key(
    pending: PendingOperations[str],
) -> None:
    assert pending.begin("a", "mount") == Started()
    assert await pending.carry_out("a", fails) == 0.5
    assert pending.begin("a", "mount") == PutOff(0.5)
    assert pending.begin("a", "unmount") == Started()
    assert await pending.carry_out("a", fails) == 0.5, "the first failure of its kind"


async def test_without_a_limit_failures_are_kept_however_long_nobody_asks(
    pending: PendingOperations[str], clock: VirtualClock
) -> None:
    pending.begin("a")
    await pending.carry_out("a", fails)
    await clock.advance(3600)
    assert pending.begin("a") == Started()
    assert await pending.carry_out("a", fails) == 1.0


async def test_failures_are_forgotten_by_choice(pending: PendingOperations[str]) -> None:
    for key, label in (("a", "mount"), ("b", "mount"), ("c", "unmount")):
        pending.begin(key, label)
        await pending.carry_out(key, fails)
    pending.forget_all(lambda key, failed: key == "a" or failed.label == "unmount")
    assert pending.begin("a", "mount") == Started()
    assert pending.begin("b", "mount") == PutOff(0.5)
    assert pending.begin("c", "unmount") == Started()


async def test_cancelled_it_neither_runs_nor_counts_as_failed(
    pending: PendingOperations[str],
) -> None:
    async def hangs() -> None:
        await asyncio.Event().wait()

    pending.begin("a")
    task = asyncio.create_task(pending.carry_out("a", hangs))
    await settle()
    task.cancel()
    await asyncio.wait({task})
    assert pending.begin("a") == Started()


@pytest.mark.poisons
async def test_a_bug_in_being_asked_again_ends_no_other_operation() -> None:
    async with running() as bench:

        def again(name: str, seconds: float) -> None:
            raise KeyError(name)

        bench.operations._again = again
        bench.failures = 1
        bench.start()
        await settle()
        bench.start("b")
        await settle()
        assert len(bench.tries) == 2
