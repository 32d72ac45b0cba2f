import asyncio
import threading
from collections.abc import Callable

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


async def test_calls_get_their_turn_beside_a_loop_that_never_rests() -> None:
    """Measured: some 400 turns of the loop; when it does not stand aside, 15,000 to 90,000."""
    committer = Committer()
    never = threading.Lock()
    turns, busy = 0, True

    def wait_like_a_disk() -> None:
        never.acquire(timeout=0.0005)

    def spin() -> None:
        nonlocal turns
        turns += 1
        sum(range(10_000))
        if busy:
            asyncio.get_running_loop().call_soon(spin)

    with never:
        spin()
        for _ in range(50):
            assert await run(committer, wait_like_a_disk) is None
        busy = False
    assert turns < 5000
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
