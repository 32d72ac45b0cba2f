"""Bugs are told and counted, and end nothing."""

import asyncio
import logging

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from mooring.errors import Invalid, StoreError, UsageError
from mooring.model.backoff import Backoff
from mooring.reconcile.metrics import LoopMetrics
from mooring.reconcile.poison import LONGEST_KEY, POISONED, Poisoned, shielded
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.worker import PASSING_SECONDS, RESTARTS, Settled, Verdict, lasting, serve
from tests.fakes.clock import VirtualClock, settle

pytestmark = pytest.mark.poisons

BUGS = [OverflowError("date"), KeyError("uid"), ValueError("x"), RecursionError(), MemoryError()]


class Loop:
    """Raises what it is told to, by key."""

    def __init__(self) -> None:
        self.raises: dict[str, Exception] = {}
        self.served: list[str] = []

    async def reconcile(self, key: str) -> Verdict:
        if key in self.raises:
            raise self.raises[key]
        self.served.append(key)
        return Settled()


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: type(bug).__name__)
async def test_whatever_a_key_meets_the_others_are_served_and_it_is_tried_again(
    bug: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    clock, loop = VirtualClock(), Loop()
    queue: KeyedQueue[str] = KeyedQueue(clock, Backoff(1, 100))
    before = POISONED.count("Loop")
    loop.raises["bad"] = bug
    task = asyncio.create_task(serve(queue, loop.reconcile))
    for key in ("bad", "good"):
        queue.add(key)
    with caplog.at_level(logging.ERROR):
        await settle()
    assert loop.served == ["good"]
    assert (queue.set_aside, POISONED.count("Loop")) == (1, before + 1)
    assert "key=bad" in caplog.text
    loop.raises.clear()
    await clock.advance(1)
    assert loop.served == ["good", "bad"]
    assert queue.set_aside == 0
    task.cancel()


async def test_a_key_that_is_refused_after_a_bug_is_not_set_aside_any_more() -> None:
    clock, loop = VirtualClock(), Loop()
    queue: KeyedQueue[str] = KeyedQueue(clock, Backoff(1, 100))
    task = asyncio.create_task(serve(queue, loop.reconcile))
    loop.raises["bad"] = KeyError("uid")
    queue.add("bad")
    await settle()
    loop.raises["bad"] = Invalid("no")
    await clock.advance(1)
    assert queue.set_aside == 0
    task.cancel()


async def test_a_database_without_room_is_asked_again_soon() -> None:
    clock, loop = VirtualClock(), Loop()
    queue: KeyedQueue[str] = KeyedQueue(clock, Backoff(60, 1000))
    task = asyncio.create_task(serve(queue, loop.reconcile))
    loop.raises["key"] = StoreError("full")
    queue.add("key")
    await settle()
    loop.raises.clear()
    await clock.advance(PASSING_SECONDS)
    assert loop.served == ["key"]
    task.cancel()


async def test_a_loop_that_fails_is_run_anew_after_a_pause() -> None:
    clock, runs = VirtualClock(), 0

    async def run() -> None:
        nonlocal runs
        runs += 1
        if runs < 3:
            raise KeyError("x")

    task = asyncio.create_task(lasting("turns", clock, run))
    await settle()
    assert runs == 1
    await clock.advance(RESTARTS.delay(1) + RESTARTS.delay(2))
    await task
    assert runs == 3


async def test_a_loop_that_only_a_person_can_help_is_believed() -> None:
    async def run() -> None:
        raise UsageError("the port is taken: choose another --port")

    with pytest.raises(UsageError):
        await lasting("turns", VirtualClock(), run)


async def test_a_cancelled_loop_ends() -> None:
    async def run() -> None:
        await asyncio.Event().wait()

    task = asyncio.create_task(lasting("turns", VirtualClock(), run))
    await settle()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_shielded_call_tells_whether_it_came_through(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise KeyError("x")

    assert shielded("key", lambda: None)
    assert not shielded("k" * 10_000, fail)
    assert "k" * LONGEST_KEY in caplog.text
    assert "k" * (LONGEST_KEY + 1) not in caplog.text


def test_what_was_set_aside_is_shown_by_loop() -> None:
    registry, poisoned, loops = CollectorRegistry(), Poisoned(), LoopMetrics()
    poisoned.add("Binder")
    queue: KeyedQueue[str] = KeyedQueue(VirtualClock())
    queue.poison("bad")
    loops.add_queue("claims", queue)
    registry.register(poisoned)
    registry.register(loops)
    page = generate_latest(registry).decode()
    assert 'mooring_poisoned_keys_total{loop="Binder"} 1.0' in page
    assert 'mooring_keys_set_aside{name="claims"} 1.0' in page
