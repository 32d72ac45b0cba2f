"""Calls that do not return: what they cost others, and what becomes of them."""

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.errors import HostError, StillRunning
from mooring.host import blocking
from mooring.host.blocking import in_thread, taking, within_own, within_volume
from mooring.host.bulkhead import Bulkheads, Limits, Slots
from mooring.host.daemon_threads import DaemonThreads
from tests.fakes.waiting import until

QUICK = Limits(slow_seconds=0.01, at_once=2, at_once_per_key=2, most_stuck=3)
BRIEFLY = 0.05


class Gate:
    """A disk that answers when it is let."""

    def __init__(self) -> None:
        self.entered = 0
        self._open = threading.Event()

    def look(self) -> str:
        self.entered += 1
        self._open.wait()
        return "seen"

    def open(self) -> None:
        self._open.set()


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open()


@pytest.fixture
async def chosen() -> Bulkheads:
    chosen = Bulkheads(DaemonThreads().start, QUICK)
    blocking.install(chosen)
    return chosen


async def changes(chosen: Bulkheads) -> asyncio.Event:
    changed = asyncio.Event()
    chosen.on_change(changed.set)
    return changed


async def get_stuck(gate: Gate, volume: str) -> None:
    with within_volume(volume), taking(BRIEFLY), pytest.raises(StillRunning):
        await in_thread(gate.look)


async def test_what_a_call_returns_or_raises_is_its_callers(chosen: Bulkheads) -> None:
    assert await in_thread(int, "7") == 7
    with pytest.raises(ValueError, match="invalid literal"):
        await in_thread(int, "x")
    assert not list(chosen.stuck())


async def test_a_call_that_does_not_return_is_given_up_and_told_the_same_way_each_time(
    chosen: Bulkheads, gate: Gate
) -> None:
    told = []
    for _ in range(2):
        with within_volume("v"), taking(BRIEFLY), pytest.raises(StillRunning) as caught:
            await in_thread(gate.look)
        told.append(str(caught.value))
    assert told[0] == told[1]
    assert told[0].startswith("look has not returned since ")
    assert gate.entered == 1  # the second was refused without a thread
    assert [call.place.key for call in chosen.stuck()] == ["v"]


async def test_while_one_volume_is_stuck_others_and_the_own_disk_are_served(
    chosen: Bulkheads, gate: Gate
) -> None:
    await get_stuck(gate, "v")
    with within_volume("w"):
        assert await in_thread(int, "1") == 1
    assert await in_thread(int, "2") == 2


async def test_a_volume_is_usable_again_when_its_call_returns(
    chosen: Bulkheads, gate: Gate
) -> None:
    await get_stuck(gate, "v")
    changed = await changes(chosen)
    gate.open()
    await changed.wait()
    assert not list(chosen.stuck())
    with within_volume("v"):
        assert await in_thread(gate.look) == "seen"


async def test_slow_calls_give_their_turn_to_others(chosen: Bulkheads, gate: Gate) -> None:
    async with asyncio.TaskGroup() as tasks:
        for name in "vw":  # both turns of the pool
            tasks.create_task(slow(gate, name))
        with within_volume("x"):
            assert await in_thread(int, "1") == 1
        gate.open()


async def slow(gate: Gate, volume: str) -> None:
    with within_volume(volume):
        assert await in_thread(gate.look) == "seen"


async def test_beyond_the_most_stuck_threads_calls_of_that_pool_are_refused(
    chosen: Bulkheads, gate: Gate
) -> None:
    for name in "abc":
        await get_stuck(gate, name)
    with within_volume("d"), pytest.raises(HostError, match="3 calls to the operating system hang"):
        await in_thread(int, "1")
    with within_own("pod/1"):
        assert await in_thread(int, "1") == 1


async def test_a_call_that_gets_on_is_not_given_up_however_long_it_takes(
    chosen: Bulkheads,
) -> None:
    def walk() -> str:
        until = time.monotonic() + 6 * BRIEFLY
        while time.monotonic() < until:
            threading.Event().wait(0.001)  # as one entry of a directory after the other
        return "done"

    with within_volume("v"), taking(BRIEFLY):
        assert await in_thread(walk) == "done"


async def test_a_cancelled_caller_waits_for_its_call(chosen: Bulkheads, gate: Gate) -> None:
    task = asyncio.create_task(slow(gate, "v"))
    await until(lambda: gate.entered == 1)
    task.cancel()
    done, _ = await asyncio.wait([task], timeout=BRIEFLY)
    assert not done
    gate.open()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not list(chosen.stuck())


async def test_a_cancelled_caller_is_let_go_when_its_call_is_given_up(
    chosen: Bulkheads, gate: Gate
) -> None:
    with within_volume("v"), taking(BRIEFLY):
        task = asyncio.create_task(in_thread(gate.look))
    await until(lambda: gate.entered == 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with within_volume("v"), pytest.raises(StillRunning):  # no tear-down under it
        await in_thread(int, "1")


async def test_whoever_cannot_wait_leaves_a_call_that_counts_as_stuck(
    chosen: Bulkheads, gate: Gate
) -> None:
    task = asyncio.create_task(slow(gate, "v"))
    await until(lambda: gate.entered == 1)
    task.cancel()
    await asyncio.wait([task], timeout=0)  # it has heard, and waits for its call
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with within_volume("v"), pytest.raises(StillRunning):
        await in_thread(int, "1")


async def test_a_process_that_ends_waits_no_longer_than_it_was_told(
    chosen: Bulkheads, gate: Gate
) -> None:
    with within_volume("v"):
        task = asyncio.create_task(in_thread(gate.look))
    await until(lambda: gate.entered == 1)
    chosen.leave_within(BRIEFLY)
    with pytest.raises(StillRunning):
        await task
    with within_volume("w"), pytest.raises(StillRunning):  # also what begins only now
        await in_thread(gate.look)


async def test_calls_of_one_volume_that_wait_are_refused_when_it_is_stuck(
    chosen: Bulkheads, gate: Gate
) -> None:
    with within_volume("v"), taking(BRIEFLY):
        tasks = [asyncio.create_task(in_thread(gate.look)) for _ in range(4)]
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(outcome, StillRunning) for outcome in outcomes)
    assert gate.entered == 2  # as many as one volume may have


async def test_a_caller_cancelled_in_the_queue_has_begun_nothing(
    chosen: Bulkheads, gate: Gate
) -> None:
    with within_volume("v"):
        tasks = [asyncio.create_task(in_thread(gate.look)) for _ in range(3)]
    await until(lambda: gate.entered == 2)
    tasks[2].cancel()
    with pytest.raises(asyncio.CancelledError):
        await tasks[2]
    gate.open()
    assert await asyncio.gather(*tasks[:2]) == ["seen", "seen"]
    assert gate.entered == 2


async def test_who_is_cancelled_in_the_queue_while_another_leaves_is_passed_over() -> None:
    slots = Slots(1)
    await slots.enter()
    crowd = [asyncio.create_task(slots.enter()) for _ in range(3)]
    await asyncio.wait(crowd, timeout=0)
    for task in crowd[:2]:
        task.cancel()
    slots.leave()
    outcomes = await asyncio.gather(*crowd, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [asyncio.CancelledError] * 2 + [type(None)]
    slots.leave()
    assert slots.is_empty


async def test_threads_are_used_again(chosen: Bulkheads) -> None:
    first = await in_thread(threading.get_ident)
    for _ in range(20):
        await in_thread(int, "1")
    assert await in_thread(threading.get_ident) == first


async def test_stuck_calls_are_told_with_the_innermost_path(chosen: Bulkheads, gate: Gate) -> None:
    def mount(target: Path) -> None:
        _stat(target / "below")

    def _stat(path: Path) -> None:
        gate.look()

    told = r"^stat /mnt/x/below has not"
    with within_volume("v"), taking(BRIEFLY), pytest.raises(StillRunning, match=told):
        await in_thread(mount, Path("/mnt/x"))


async def test_a_call_about_the_machines_own_files_is_given_up_only_when_the_process_ends(
    chosen: Bulkheads, gate: Gate
) -> None:
    with taking(BRIEFLY):
        tasks = [asyncio.create_task(in_thread(gate.look)) for _ in range(6)]
    await until(lambda: gate.entered == 5)  # three are slow, two have their turn, one waits
    done, _ = await asyncio.wait(tasks, timeout=3 * BRIEFLY)
    assert not done
    assert not list(chosen.stuck())
    chosen.leave_within(0)
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(outcome, StillRunning) for outcome in outcomes)
