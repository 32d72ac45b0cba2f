"""A `mooring up` of one command's own: a child process that ends with it."""

import asyncio
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from mooring.errors import UsageError

READY = "mooring is ready at "
READY_SECONDS = 120.0
GRACE_SECONDS = 30.0

Say = Callable[[str], None]


@asynccontextmanager
async def own_up(data_dir: Path, say: Say) -> AsyncIterator[None]:
    """It is ready when the context is entered, and has ended after. Raises: UsageError."""
    words = (sys.executable, "-m", "mooring", "up", "--data-dir", str(data_dir), "--port", "0")
    process = await asyncio.create_subprocess_exec(*words, stdout=PIPE, start_new_session=True)
    async with asyncio.TaskGroup() as tasks:
        ready = asyncio.Event()
        reading = tasks.create_task(_read(process, ready, say))
        try:
            await _ready(process, ready)
            yield
        finally:
            await asyncio.shield(_end(process))
            reading.cancel()


async def _ready(process: Process, ready: asyncio.Event) -> None:
    ended = asyncio.ensure_future(process.wait())
    told = asyncio.ensure_future(ready.wait())
    try:
        await asyncio.wait(
            (ended, told), timeout=READY_SECONDS, return_when=asyncio.FIRST_COMPLETED
        )
    finally:
        ended.cancel()
        told.cancel()
    if not ready.is_set():
        how = f"within {READY_SECONDS:g} s" if process.returncode is None else "and has ended"
        raise UsageError(f"`mooring up` did not get ready {how}: see what it said above")


async def _read(process: Process, ready: asyncio.Event, say: Say) -> None:
    if process.stdout is None:
        return
    async for line in process.stdout:
        text = line.decode(errors="replace").rstrip("\n")
        say(text)
        if text.startswith(READY):
            ready.set()


async def _end(process: Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(GRACE_SECONDS):
                await process.wait()
        except TimeoutError:
            process.kill()
    await process.wait()
