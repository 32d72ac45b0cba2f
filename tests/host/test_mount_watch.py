"""The kernel tells of changes, to either event loop."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
import uvloop

from mooring.host.blocking import in_thread
from mooring.host.mount import Mounts
from mooring.host.mount_watch import MountWatch

Run = Callable[[Coroutine[Any, Any, None]], None]
LOOPS: dict[str, Run] = {"asyncio": asyncio.run, "uvloop": uvloop.run}
SECONDS = 10


@pytest.fixture(params=LOOPS)
def run(request: pytest.FixtureRequest) -> Run:
    return LOOPS[request.param]


def test_each_change_is_told(run: Run, mounts: Mounts, target: Path) -> None:
    async def watch() -> None:
        with MountWatch() as watching:
            await watching.changed()  # it has begun
            for _ in range(50):
                mounts.mount("tmpfs", target, "tmpfs")
                async with asyncio.timeout(SECONDS):
                    await watching.changed()
                mounts.unmount(target)
                async with asyncio.timeout(SECONDS):
                    await watching.changed()

    run(watch())


def test_the_last_state_is_never_missed(run: Run, mounts: Mounts, target: Path) -> None:
    """Others may mount too on this machine; so what counts is what the table says at the end."""

    def churn() -> None:
        for _ in range(100):
            mounts.mount("tmpfs", target, "tmpfs")
            mounts.unmount(target)
        mounts.mount("the last", target, "tmpfs")

    async def watch() -> None:
        with MountWatch() as watching:
            churning = asyncio.ensure_future(in_thread(churn))
            async with asyncio.timeout(SECONDS):
                seen = ""
                while seen != "the last":
                    await watching.changed()
                    entry = mounts.table().find(target)
                    seen = entry.source if entry else ""
            await churning

    run(watch())


def test_a_change_at_any_moment_of_the_beginning(run: Run, mounts: Mounts, target: Path) -> None:
    async def watch() -> None:
        for turns in range(8):
            with MountWatch() as watching:
                for _ in range(turns):
                    await in_thread(turns.bit_length)  # any call: the loop goes round
                mounts.mount(f"at {turns}", target, "tmpfs")
                async with asyncio.timeout(SECONDS):
                    await until_seen(watching, f"at {turns}")
                mounts.unmount(target)

    async def until_seen(watching: MountWatch, source: str) -> None:
        seen = ""
        while seen != source:
            await watching.changed()
            entry = mounts.table().find(target)
            seen = entry.source if entry else ""

    run(watch())
