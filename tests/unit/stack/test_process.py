"""Roles in one process: they run together, stop together, and none dies unheard."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager

import pytest
from prometheus_client.registry import Collector

from mooring.errors import ConnectionLost, UsageError
from mooring.stack.process import RoleDied, run_until
from tests.fakes.clock import settle


class Sleeper:
    """A role that does nothing, and takes a moment to come to rest."""

    name = "sleeper"

    def __init__(self) -> None:
        self.is_running = False
        self.ready = asyncio.Event()

    async def run(self) -> None:
        self.is_running = True
        try:
            await asyncio.Event().wait()
        finally:
            await settle(3)
            self.is_running = False

    async def synced(self) -> None:
        await self.ready.wait()

    def collectors(self) -> Iterable[Collector]:
        return ()


@asynccontextmanager
async def started(
    stop: asyncio.Event, roles: dict[str, Callable[[], Awaitable[None]]]
) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(run_until(stop, roles))
    await settle()
    yield task
    task.cancel()
    await asyncio.wait({task})


async def test_all_have_come_to_rest_when_the_stop_is_over() -> None:
    stop, first, second = asyncio.Event(), Sleeper(), Sleeper()
    async with started(stop, {"first": first.run, "second": second.run}) as running:
        assert first.is_running
        assert second.is_running
        stop.set()
        await running
        assert not first.is_running
        assert not second.is_running


async def test_a_stop_that_was_asked_for_before_the_start_is_one() -> None:
    stop, role = asyncio.Event(), Sleeper()
    stop.set()
    await run_until(stop, {"sleeper": role.run})
    assert not role.is_running


async def ends() -> None:
    """A role that thinks it is done."""


async def loses_its_server() -> None:
    raise ConnectionLost("the API server cannot be reached")


async def has_a_bug() -> None:
    raise ZeroDivisionError("no\nshares")


async def is_misused() -> None:
    raise UsageError("another machine is this node: stop that one")


async def has_two_reasons() -> None:
    async with asyncio.TaskGroup() as tasks:
        for reason in (loses_its_server, has_a_bug, loses_its_server):
            tasks.create_task(reason())


DEATHS = {
    "one that ends by itself": (ends, "the binder ended without being asked to"),
    "what was raised on purpose, in its own words": (
        loses_its_server,
        "the binder died: the API server cannot be reached",
    ),
    "what the user can fix, and nothing else": (
        is_misused,
        "another machine is this node: stop that one",
    ),
    "a bug, with its kind, on one line": (
        has_a_bug,
        "the binder died: ZeroDivisionError: no shares",
    ),
    "several reasons, each told once": (
        has_two_reasons,
        "the binder died: the API server cannot be reached; ZeroDivisionError: no shares",
    ),
}


@pytest.mark.parametrize(("run", "told"), DEATHS.values(), ids=DEATHS)
async def test_one_that_dies_stops_the_others_and_is_told(
    run: Callable[[], Awaitable[None]], told: str
) -> None:
    other = Sleeper()
    async with started(asyncio.Event(), {"other": other.run, "binder": run}) as running:
        await asyncio.wait({running})
        assert not other.is_running
        group = running.exception()
        assert isinstance(group, ExceptionGroup)
        (died,) = group.exceptions
        assert isinstance(died, RoleDied)
        assert str(died) == told


async def test_what_a_bug_did_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async with started(asyncio.Event(), {"binder": has_a_bug}) as running:
        await asyncio.wait({running})
    assert "has_a_bug" in caplog.text
    caplog.clear()
    async with started(asyncio.Event(), {"binder": loses_its_server}) as running:
        await asyncio.wait({running})
    assert caplog.text == ""
