import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from random import Random

import pytest

from mooring.errors import (
    ApiError,
    Conflict,
    ConnectionLost,
    Invalid,
    MooringError,
    TooManyRequests,
    UsageError,
)
from mooring.model.backoff import Backoff
from mooring.reconcile.loops import Loops
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.worker import Again, Reconcile, Settled, Verdict, foreseen, serve, work
from tests.fakes.client import FakeClient
from tests.fakes.clock import VirtualClock, settle
from tests.fakes.fake_server import FakeServer

Outcome = Verdict | Exception


class Script:
    """A reconcile that plays the outcomes it was given, then settles."""

    def __init__(self, clock: VirtualClock, *outcomes: Outcome) -> None:
        self.clock = clock
        self.outcomes = list(outcomes)
        self.calls: list[tuple[str, float]] = []

    async def __call__(self, key: str) -> Verdict:
        self.calls.append((key, self.clock.monotonic()))
        outcome = self.outcomes.pop(0) if self.outcomes else Settled()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


class Source:
    """An informer that is synced when it is told to be."""

    def __init__(self) -> None:
        self.synced = asyncio.Event()
        self.is_running = False
        self.broken: asyncio.Future[None] | None = None

    async def run(self) -> None:
        self.is_running = True
        self.broken = asyncio.get_running_loop().create_future()
        try:
            await self.broken
        finally:
            self.is_running = False


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def queue(clock: VirtualClock) -> KeyedQueue[str]:
    return KeyedQueue(clock, Backoff(1, 100))


def in_loops(
    clock: VirtualClock, sources: list[Source], queue: KeyedQueue[str], script: Reconcile[str]
) -> Loops:
    """A role with these informers, and two workers on the queue."""
    client, rng = FakeClient(FakeServer(clock), clock), Random(1)  # noqa: S311  no secret
    loops = Loops("tester", client, clock, rng)
    for source in sources:
        loops.add(source.run)
    loops.add(partial(work, sources, queue, script, workers=2))
    return loops


@asynccontextmanager
async def served(queue: KeyedQueue[str], reconcile: Reconcile[str]) -> AsyncIterator[None]:
    task = asyncio.create_task(serve(queue, reconcile))
    await settle()
    yield
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled()


OUTCOMES = {
    "settled: not again": ([Settled()], [0]),
    "again: after the time it asked for": ([Again(7)], [0, 7]),
    "failures wait longer and longer": ([ValueError(), ValueError(), ValueError()], [0, 1, 3, 7]),
    "refusals do too": ([Conflict("outrun"), Conflict("outrun")], [0, 1, 3]),
    "a trouble that passes is looked after every ten seconds at least": (
        [ConnectionLost("gone")] * 6,
        [0, 1, 3, 7, 15, 25, 35],
    ),
    "one that does not waits for longer": (
        [Invalid("nonsense")] * 6,
        [0, 1, 3, 7, 15, 31, 63],
    ),
    "the server says when": ([TooManyRequests("busy", retry_after=30)], [0, 30]),
    "settling ends a series of failures": ([ValueError(), Again(5), ValueError()], [0, 1, 6, 7]),
}


@pytest.mark.poisons
@pytest.mark.parametrize(("outcomes", "called_at"), OUTCOMES.values(), ids=OUTCOMES)
async def test_what_follows_a_verdict(
    clock: VirtualClock, queue: KeyedQueue[str], outcomes: list[Outcome], called_at: list[float]
) -> None:
    script = Script(clock, *outcomes)
    async with served(queue, script):
        queue.add("a")
        await clock.advance(1000)
    assert [at for _, at in script.calls] == called_at


@pytest.mark.poisons
async def test_a_poisoned_key_does_not_starve_the_others(
    clock: VirtualClock, queue: KeyedQueue[str], caplog: pytest.LogCaptureFixture
) -> None:
    script = Script(clock, ZeroDivisionError("bug"))
    with caplog.at_level(logging.INFO, "mooring"):
        async with served(queue, script):
            queue.add("bad")
            queue.add("good")
            await settle()
    assert [key for key, _ in script.calls] == ["bad", "good"]
    (record,) = caplog.records
    assert record.exc_info, "a bug is shown with its traceback"


async def test_a_refusal_is_logged_without_a_traceback(
    clock: VirtualClock, queue: KeyedQueue[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "mooring"):
        async with served(queue, Script(clock, Conflict("outrun"))):
            queue.add("a")
            await settle()
    (record,) = caplog.records
    assert not record.exc_info
    assert "because=outrun" in record.getMessage()


async def test_nothing_is_decided_before_every_informer_is_synced(
    clock: VirtualClock, queue: KeyedQueue[str]
) -> None:
    sources = [Source(), Source()]
    script = Script(clock)
    queue.add("a")
    task = asyncio.create_task(in_loops(clock, sources, queue, script).run())
    await settle()
    assert all(source.is_running for source in sources)
    sources[1].synced.set()
    await settle()
    assert script.calls == []
    sources[0].synced.set()
    await settle()
    assert script.calls == [("a", 0)]
    task.cancel()
    await asyncio.wait({task})
    assert not any(source.is_running for source in sources)


async def test_if_one_informer_dies_all_of_it_stops(
    clock: VirtualClock, queue: KeyedQueue[str]
) -> None:
    sources = [Source(), Source()]
    for source in sources:
        source.synced.set()
    task = asyncio.create_task(in_loops(clock, sources, queue, Script(clock)).run())
    await settle()
    assert sources[0].broken is not None
    sources[0].broken.set_exception(RuntimeError("broken"))
    with pytest.raises(ExceptionGroup):
        await task
    assert not sources[1].is_running


async def test_as_many_keys_at_once_as_there_are_workers(
    clock: VirtualClock, queue: KeyedQueue[str]
) -> None:
    busy: set[str] = set()

    async def hang(key: str) -> Verdict:
        busy.add(key)
        await asyncio.Event().wait()
        return Settled()

    for key in "abc":
        queue.add(key)
    task = asyncio.create_task(work([], queue, hang, workers=2))
    await settle()
    assert busy == {"a", "b"}
    task.cancel()
    await asyncio.wait({task})


USAGE, REFUSED, BUG = UsageError("a flag"), ApiError("no"), KeyError("x")
FORESEEN = {
    "what was raised on purpose": (REFUSED, REFUSED),
    "a bug": (BUG, None),
    "a part of a role that was refused": (ExceptionGroup("", [REFUSED]), REFUSED),
    "only the user can mend one of them": (ExceptionGroup("", [REFUSED, USAGE]), USAGE),
    "a bug beside a refusal": (ExceptionGroup("", [ExceptionGroup("", [BUG]), REFUSED]), None),
}


@pytest.mark.parametrize(("error", "told"), FORESEEN.values(), ids=FORESEEN)
def test_only_what_nobody_foresaw_is_poison(error: Exception, told: MooringError | None) -> None:
    assert foreseen(error) is told
