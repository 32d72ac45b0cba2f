"""The alarm of the event loop: what it blames, and what not."""

import asyncio
import threading
import time
from pathlib import Path

import pytest

from mooring.host.blocking import in_thread
from mooring.host.loop_watch import ALARM_SECONDS, LoopWatch, is_waiting_in_a_call
from tests.fakes.hanging_disk import hanging_disk
from tests.fakes.waiting import until


@pytest.fixture
def needs_told_calls() -> None:
    if not Path("/proc/self/syscall").exists():
        pytest.skip("this kernel does not tell in which system call a thread is")


async def test_a_disk_that_keeps_the_loop_waiting_is_an_alarm_that_says_where(
    place: Path, needs_told_calls: None
) -> None:
    with hanging_disk(place / "disk") as disk, LoopWatch(ask_seconds=0.01) as watch:
        threading.Timer(5 * ALARM_SECONDS, disk.heal).start()
        disk.at.stat()  # what must never be done here
        await until(lambda: watch.longest_blocked >= ALARM_SECONDS)
        assert "test_loop_watch.py" in watch.where
        await until(lambda: blocked_seconds(watch) >= ALARM_SECONDS)


def blocked_seconds(watch: LoopWatch) -> float:
    """As the metrics page has it."""
    samples = (sample for family in watch.collect() for sample in family.samples)
    name = "mooring_loop_blocked_seconds_total"
    return next(sample.value for sample in samples if sample.name == name)


async def test_a_loop_that_computes_is_late_and_not_blocked() -> None:
    with LoopWatch(ask_seconds=0.01) as watch:
        until_then = time.monotonic() + 3 * ALARM_SECONDS
        while time.monotonic() < until_then:
            pass
        await asyncio.wait([asyncio.ensure_future(in_thread(int, "1"))])
    assert watch.longest_blocked < ALARM_SECONDS


async def test_a_loop_with_nothing_to_do_is_not_blocked(needs_told_calls: None) -> None:
    thread = threading.get_native_id()
    with LoopWatch(ask_seconds=0.01) as watch:
        assert not await in_thread(_is_seen_waiting, thread)
    assert watch.longest_blocked == 0


def _is_seen_waiting(thread: int) -> bool:
    return any(is_waiting_in_a_call(thread) for _ in range(100))
