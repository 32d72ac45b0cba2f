import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.model.backoff import Backoff
from mooring.reconcile.queue import PATIENCE, RESPITE_SECONDS, KeyedQueue
from mooring.reconcile.ready import Ranked
from tests.fakes.clock import VirtualClock, settle


class Desk:
    """Workers that note what they get, and keep it until they are told to finish."""

    def __init__(self, clock: VirtualClock, queue: KeyedQueue[str]) -> None:
        self.clock = clock
        self.queue = queue
        self.started: list[str] = []
        self.at: list[float] = []
        self.open: dict[str, asyncio.Event] = {}
        self.keep = False

    async def work(self) -> None:
        while True:
            async with self.queue.lease() as key:
                self.started.append(key)
                self.at.append(self.clock.monotonic())
                if self.keep:
                    assert key not in self.open, f"{key} has two workers"
                    self.open[key] = asyncio.Event()
                    await self.open[key].wait()
                    del self.open[key]

    async def finish(self, key: str) -> None:
        self.open[key].set()
        await settle()


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def queue(clock: VirtualClock) -> KeyedQueue[str]:
    return KeyedQueue(clock, Backoff(1, 100))


@asynccontextmanager
async def at_work(
    clock: VirtualClock, queue: KeyedQueue[str], workers: int, *, keep: bool = False
) -> AsyncIterator[Desk]:
    desk = Desk(clock, queue)
    desk.keep = keep
    async with asyncio.TaskGroup() as tasks:
        owned = [tasks.create_task(desk.work()) for _ in range(workers)]
        await settle()
        yield desk
        for task in owned:
            task.cancel()


async def test_keys_come_in_the_order_they_were_added(
    clock: VirtualClock, queue: KeyedQueue[str]
) -> None:
    async with at_work(clock, queue, 1) as desk:
        for key in "bac":
            queue.add(key)
        await settle()
        assert desk.started == ["b", "a", "c"]


async def test_a_key_added_twice_is_served_once(
    clock: VirtualClock, queue: KeyedQueue[str]
) -> None:
    queue.add("a")
    queue.add("a")
    assert len(queue) == 1
    async with at_work(clock, queue, 2) as desk:
        assert desk.started == ["a"]


async def test_a_key_touched_while_it_has_a_worker_returns_afterwards(
    clock: VirtualClock, queue: KeyedQueue[str]
) -> None:
    async with at_work(clock, queue, 2, keep=True) as desk:
        queue.add("a")
        await settle()
        queue.add("a")
        queue.add("a")
        await settle()
        assert desk.started == ["a"]
        await desk.finish("a")
        assert desk.started == ["a", "a"]
        await desk.finish("a")
        assert desk.started == ["a", "a"]


async def test_different_keys_have_workers_at_the_same_time(
    clock: VirtualClock, queue: KeyedQueue[str]
) -> None:
    async with at_work(clock, queue, 2, keep=True) as desk:
        for key in "abc":
            queue.add(key)
        await settle()
        assert set(desk.open) == {"a", "b"}
        assert len(queue) == 1


async def test_a_key_put_off_comes_when_its_time_has_come(
    clock: VirtualClock, queue: KeyedQueue[str]
) -> None:
    async with at_work(clock, queue, 3) as desk:
        queue.add_after("late", 20)
        queue.add_after("early", 10)
        await clock.advance(9)
        assert desk.started == []
        assert len(queue) == 0
        await clock.advance(100)
        assert list(zip(desk.started, desk.at, strict=True)) == [("early", 10), ("late", 20)]


PUT_OFF = {
    "of two times the earlier wins": ([10.0, 5.0], [5]),
    "a later one changes nothing": ([5.0, 10.0], [5]),
    "no time at all is now": ([0.0], [0]),
    "a time gone by is now": ([-1.0], [0]),
}


@pytest.mark.parametrize(("waits", "served_at"), PUT_OFF.values(), ids=PUT_OFF)
async def test_put_off(
    clock: VirtualClock, queue: KeyedQueue[str], waits: list[float], served_at: list[float]
) -> None:
    async with at_work(clock, queue, 2) as desk:
        for seconds in waits:
            queue.add_after("a", seconds)
        await clock.advance(100)
        assert desk.at == served_at


async def test_put_off_and_added_it_comes_both_times(
    clock: VirtualClock, queue: KeyedQueue[str]
) -> None:
    async with at_work(clock, queue, 1) as desk:
        queue.add_after("a", 10)
        queue.add("a")
        await clock.advance(100)
        assert desk.at == [0, 10]


async def test_time_passes_while_all_workers_are_busy(
    clock: VirtualClock, queue: KeyedQueue[str]
) -> None:
    async with at_work(clock, queue, 1, keep=True) as desk:
        queue.add("long")
        await settle()
        queue.add_after("b", 10)
        queue.add_after("a", 5)
        await clock.advance(20)
        queue.add("c")
        for key in ("long", "a", "b", "c"):
            await desk.finish(key)
        assert desk.started == ["long", "a", "b", "c"]


async def test_the_clock_is_watched_by_another_when_the_watchman_leaves(
    clock: VirtualClock, queue: KeyedQueue[str]
) -> None:
    async with at_work(clock, queue, 2, keep=True) as desk:
        queue.add_after("later", 10)
        await settle()
        queue.add("now")
        await settle()
        queue.add_after("soon", 5)
        await clock.advance(5)
        assert set(desk.open) == {"now", "soon"}
        await desk.finish("soon")
        await clock.advance(5)
        assert set(desk.open) == {"now", "later"}


async def test_when_the_watchman_gets_a_key_another_takes_over_its_watch(
    clock: VirtualClock, queue: KeyedQueue[str]
) -> None:
    async with at_work(clock, queue, 3, keep=True) as desk:
        queue.add_after("later", 10)
        await settle()
        for key in ("first", "second"):
            queue.add(key)
            await settle()
        await desk.finish("first")  # now the watchman is the one that has waited longest
        queue.add("third")
        await clock.advance(10)
        assert set(desk.open) == {"second", "third", "later"}


async def test_a_time_that_was_moved_is_not_kept_as_well(
    clock: VirtualClock, queue: KeyedQueue[str]
) -> None:
    async with at_work(clock, queue, 1) as desk:
        queue.add_after("a", 10)
        queue.add_after("a", 5)
        await clock.advance(6)
        queue.add_after("a", 100)
        await clock.advance(200)
        assert desk.at == [5, 106]


async def test_failures_in_a_row_wait_longer_and_longer_until_forgotten(
    clock: VirtualClock, queue: KeyedQueue[str]
) -> None:
    async with at_work(clock, queue, 1) as desk:
        for _ in range(3):
            queue.retry("a")
            await clock.advance(4)
        queue.forget("a")
        queue.retry("a")
        queue.retry("b")
        await clock.advance(100)
        assert desk.started == ["a", "a", "a", "a", "b"]
        assert desk.at == [1, 6, 12, 13, 13]


async def test_a_key_that_fails_again_and_again_is_given_a_respite_before_an_add_counts(
    clock: VirtualClock, queue: KeyedQueue[str]
) -> None:
    async with at_work(clock, queue, 1) as desk:
        for _ in range(PATIENCE):
            queue.retry("a")
        queue.add("a")
        await settle()
        assert desk.at == [0], "up to here an add counts at once"
        queue.retry("a")
        for _ in range(3):
            queue.add("a")
            queue.add_after("a", 0)
        queue.add("b")
        await settle()
        assert desk.started == ["a", "b"]
        await clock.advance(RESPITE_SECONDS)
        assert desk.started == ["a", "b", "a"]


async def test_a_key_that_chases_whoever_makes_it_fail_is_not_hot(
    clock: VirtualClock, queue: KeyedQueue[str]
) -> None:
    """Each try provokes the very change that wakes the key again."""
    tries = 0

    async def work() -> None:
        nonlocal tries
        while True:
            async with queue.lease() as key:
                tries += 1
                queue.retry(key)
                queue.add(key)

    async with asyncio.TaskGroup() as tasks:
        working = tasks.create_task(work())
        queue.add("a")
        await clock.advance(60)
        working.cancel()
    assert tries <= PATIENCE + 1 + 60 / RESPITE_SECONDS


async def test_once_it_succeeds_a_key_that_failed_is_like_any_other(
    clock: VirtualClock, queue: KeyedQueue[str]
) -> None:
    async with at_work(clock, queue, 1) as desk:
        for _ in range(PATIENCE + 1):
            queue.retry("a")
        await clock.advance(1)
        queue.forget("a")
        queue.add("a")
        await settle()
        assert desk.at == [1, 1]


async def test_a_lease_left_by_an_exception_gives_the_key_back(
    clock: VirtualClock, queue: KeyedQueue[str]
) -> None:
    queue.add("a")
    with pytest.raises(ZeroDivisionError):
        async with queue.lease():
            raise ZeroDivisionError
    assert len(queue) == 1
    async with at_work(clock, queue, 1) as desk:
        assert desk.started == ["a"]


async def test_a_worker_cancelled_as_it_is_woken_leaves_the_key_to_another(
    clock: VirtualClock, queue: KeyedQueue[str]
) -> None:
    desk = Desk(clock, queue)
    first, second = asyncio.create_task(desk.work()), asyncio.create_task(desk.work())
    await settle()
    queue.add("a")
    first.cancel()
    await settle()
    assert desk.started == ["a"]
    second.cancel()
    await asyncio.wait({first, second})


async def test_workers_let_others_run_between_quick_keys(
    clock: VirtualClock, queue: KeyedQueue[str]
) -> None:
    for number in range(100):
        queue.add(str(number))
    desk = Desk(clock, queue)
    worker = asyncio.create_task(desk.work())
    await settle(10)
    assert 0 < len(desk.started) < 20
    worker.cancel()
    await asyncio.wait({worker})


async def test_what_is_counted(clock: VirtualClock, queue: KeyedQueue[str]) -> None:
    async with at_work(clock, queue, 1, keep=True) as desk:
        queue.add("a")
        await settle()
        queue.add("b")
        queue.add("b")
        queue.add("a")
        queue.add_after("c", 5)
        assert len(queue) == 2  # b waits, a will return
        await clock.advance(3)
        assert queue.running_seconds() == [3]
        await desk.finish("a")
        assert queue.running_seconds() == [0]
        assert (queue.counts.adds, queue.counts.retries) == (3, 1)


Step = tuple[str, str, float]
KEYS = st.sampled_from("abcd")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), KEYS, st.just(0.0)),
        st.tuples(st.just("after"), KEYS, st.sampled_from([0.5, 1.0, 3.0])),
        st.tuples(st.just("retry"), KEYS, st.just(0.0)),
        st.tuples(st.just("finish"), KEYS, st.just(0.0)),
        st.tuples(st.just("crash"), KEYS, st.just(0.0)),
        st.tuples(st.just("pass"), st.just(""), st.sampled_from([0.25, 1.0])),
        st.tuples(st.just("replace worker"), st.just(""), st.just(0.0)),
    ),
    max_size=25,
)


class Ledger:
    """Checks that every wish is followed by a start, and that no key is started twice at once."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.queue: KeyedQueue[str] = KeyedQueue(clock, Backoff(1, 4))
        self.wishes: dict[str, int] = {}  # wishes that no start has followed yet
        self.running: dict[str, asyncio.Future[None]] = {}

    async def work(self) -> None:
        while True:
            with suppress(ZeroDivisionError):
                async with self.queue.lease() as key:
                    await self.hold(key)

    async def hold(self, key: str) -> None:
        assert key not in self.running
        self.wishes.pop(key, None)
        self.running[key] = asyncio.get_running_loop().create_future()
        try:
            await self.running[key]
        except (ZeroDivisionError, asyncio.CancelledError):
            self.wishes[key] = 1  # not finished: it must come again
            raise
        finally:
            del self.running[key]

    async def take(self, step: Step) -> None:
        what, key, seconds = step
        if what in ("add", "after", "retry"):
            self.wishes[key] = self.wishes.get(key, 0) + 1
        match what:
            case "add":
                self.queue.add(key)
            case "after":
                self.queue.add_after(key, seconds)
            case "retry":
                self.queue.retry(key)
            case "finish" if key in self.running and not self.running[key].done():
                self.running[key].set_result(None)
            case "crash" if key in self.running and not self.running[key].done():
                self.running[key].set_exception(ZeroDivisionError())
            case "pass":
                await self.clock.advance(seconds)
            case _:
                pass

    async def play(self, steps: Sequence[Step], workers: int) -> None:
        async with asyncio.TaskGroup() as tasks:
            staff = [tasks.create_task(self.work()) for _ in range(workers)]
            for step in steps:
                await self.take(step)
                if step[0] == "replace worker":
                    staff.pop(0).cancel()
                    staff.append(tasks.create_task(self.work()))
                if step[0] != "add":  # some adds come in one turn, others apart
                    await settle(5)
            for _ in range(50):
                await self.clock.advance(5)
                if not (self.wishes or self.running or len(self.queue)):
                    break
                for key in list(self.running):
                    await self.take(("finish", key, 0.0))
            for task in staff:
                task.cancel()


@given(steps=STEPS, workers=st.integers(1, 3))
@settings(deadline=None)
def test_no_key_has_two_workers_and_no_wish_is_lost(steps: list[Step], workers: int) -> None:
    ledger = Ledger(VirtualClock())
    asyncio.run(ledger.play(steps, workers))
    assert ledger.wishes == {}
    assert len(ledger.queue) == 0


async def test_a_ranked_queue_serves_the_lowest_rank_then_the_first_that_came(
    clock: VirtualClock,
) -> None:
    ranks = {"a": 5, "b": 0, "c": 5, "d": 0}
    queue = KeyedQueue(clock, ready=Ranked(ranks.__getitem__))
    for key in "abcd":
        queue.add(key)
    async with at_work(clock, queue, 1) as desk:
        assert desk.started == ["b", "d", "a", "c"]
        queue.add_after("a", 1)
        queue.add_after("b", 1)
        await clock.advance(2)
        await settle()
        assert desk.started[4:] == ["b", "a"]
