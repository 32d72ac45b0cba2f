"""Programs beside the event loop."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from mooring.errors import CommandFailed, HostError
from mooring.oci import process
from tests.fakes.clock import settle
from tests.fakes.waiting import until

MUCH = 3_000_000


async def test_a_program_that_succeeds_tells_what_it_printed() -> None:
    assert await process.check(["/bin/sh", "-c", "echo out; echo err >&2"]) == b"out\n"


async def test_much_output_comes_whole() -> None:
    assert len(await process.check(["/bin/sh", "-c", f"head -c {MUCH} /dev/zero"])) == MUCH


async def test_a_program_that_fails_tells_why() -> None:
    with pytest.raises(CommandFailed) as failed:
        await process.check(["/bin/sh", "-c", "echo why >&2; exit 3"])
    assert (failed.value.code, failed.value.output) == (3, "why\n")


async def test_a_program_that_is_killed_is_told_by_the_signal() -> None:
    with pytest.raises(CommandFailed) as failed:
        await process.check(["/bin/sh", "-c", "kill -9 $$"])
    assert failed.value.code == 137


async def test_no_such_program() -> None:
    with pytest.raises(HostError, match="run /nowhere: no such file or directory"):
        await process.check(["/nowhere"])


async def test_it_is_not_waited_for_what_a_program_leaves_behind(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    printed = await process.check(["/bin/sh", "-c", f"sleep 1000 & echo $! > {pid}; echo done"])
    os.kill(int(pid.read_text()), signal.SIGKILL)
    assert printed == b"done\n"


async def test_cancelled_the_program_is_killed_first(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    task = asyncio.create_task(
        process.check(["/bin/sh", "-c", f"echo $$ > {pid}; exec sleep 1000"])
    )
    await until(lambda: pid.exists() and pid.read_text() != "")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert process.parent_of(int(pid.read_text())) == 0


async def test_a_program_is_killed_with_all_that_it_started(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = f"sleep 1000 & echo $! > {pids}; wait"
    child = process.start(["/bin/sh", "-c", script])
    await until(lambda: pids.exists() and pids.read_text() != "")
    await process.kill_with_children(child)
    assert (await child.wait(), child.has_ended) == (137, True)
    assert process.parent_of(int(pids.read_text())) == 0
    child.signal(signal.SIGTERM)


async def test_who_waits_for_a_descriptor_is_woken_before_it_is_closed() -> None:
    ours, theirs = os.pipe()
    readiness = process.Readiness()
    waiting = asyncio.create_task(readiness.readable(ours))
    await settle()
    assert not waiting.done()
    readiness.stop()
    os.close(ours)
    os.close(theirs)
    assert await waiting == ()
    assert await readiness.readable(ours) == ()


async def test_who_waits_for_room_can_be_made_to_look_again() -> None:
    ours, theirs = os.pipe2(os.O_NONBLOCK)
    while True:
        try:
            os.write(theirs, bytes(65536))
        except BlockingIOError:
            break
    readiness = process.Readiness()
    waiting = asyncio.create_task(readiness.writable(theirs))
    await settle()
    assert not waiting.done()
    readiness.wake()
    await waiting
    os.close(ours)
    os.close(theirs)


async def test_work_that_must_be_finished_is_finished_before_who_is_cancelled() -> None:
    begun, gate = asyncio.Event(), asyncio.Event()
    finished = []

    async def work() -> None:
        begun.set()
        await gate.wait()
        finished.append("yes")

    task = asyncio.create_task(process.finished(work()))
    await begun.wait()
    task.cancel()
    await settle()
    assert not task.done()
    gate.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert finished == ["yes"]
