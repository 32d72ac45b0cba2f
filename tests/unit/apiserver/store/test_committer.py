import asyncio
import selectors
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from mooring.apiserver.store.committer import Committer
from tests.fakes.clock import settle


def nothing() -> None:
    """A commit that is over at once."""


async def run(committer: Committer, commit: Callable[[], None] = nothing) -> Exception | None:
    report: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()
    committer.start(commit, report.set_result)
    return await asyncio.wait_for(report, 10)


async def test_a_call_runs_in_another_thread_and_reports_on_the_loop() -> None:
    committer = Committer()
    threads: list[str] = []
    done = asyncio.Event()

    def report(failure: Exception | None) -> None:
        threads.append(threading.current_thread().name)
        assert failure is None
        done.set()

    committer.start(lambda: threads.append(threading.current_thread().name), report)
    await asyncio.wait_for(done.wait(), 10)
    assert threads == ["mooring-commit", threading.current_thread().name]
    committer.stop()


async def test_what_a_call_raises_is_reported_and_the_next_call_runs() -> None:
    committer = Committer()

    def fail() -> None:
        raise OSError("full")

    assert str(await run(committer, fail)) == "full"
    assert await run(committer) is None
    committer.stop()


class Restless(selectors.SelectSelector):
    """Never waits for anything, so that the loop never lets go of the interpreter."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        return []


@pytest.fixture
def no_forced_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    yield
    sys.setswitchinterval(before)


async def commit_beside_a_busy_loop(committer: Committer, calls: int) -> int:
    """How many of the calls were reported within a million turns of the loop each: seconds."""
    loop = asyncio.get_running_loop()
    report: asyncio.Future[Exception | None]
    turns, busy = 0, True

    def spin() -> None:
        nonlocal turns
        turns += 1
        if turns > 1_000_000:
            report.cancel()
        elif busy:
            loop.call_soon(spin)

    loop.call_soon(spin)
    for count in range(calls):
        report, turns = loop.create_future(), 0
        committer.start(nothing, report.set_result)
        await asyncio.wait([report])
        if report.cancelled():
            return count
    busy = False
    return calls


@pytest.mark.usefixtures("no_forced_switches")
def test_calls_get_their_turn_beside_a_loop_that_never_rests() -> None:
    committer = Committer()
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(Restless())) as runner:
        assert runner.run(commit_beside_a_busy_loop(committer, 50)) == 50
    committer.stop()


async def test_a_stopped_committer_leaves_no_thread() -> None:
    before = threading.active_count()
    committer = Committer()
    await run(committer)
    committer.stop()
    assert threading.active_count() == before


async def test_the_loop_goes_on_while_a_call_waits() -> None:
    committer = Committer()
    gate = threading.Event()
    opened: list[bool] = []
    waiting = asyncio.ensure_future(run(committer, lambda: opened.append(gate.wait(10))))
    await settle()
    assert not waiting.done()
    gate.set()
    assert await waiting is None
    assert opened == [True]
    committer.stop()
