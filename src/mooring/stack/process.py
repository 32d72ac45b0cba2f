"""Running the roles of a process: until a signal stops it, or until one of them dies."""

import asyncio
import signal
import traceback
from collections.abc import (
    Awaitable,
    Callable,
    Iterator,
    Mapping,
)

from mooring import log
from mooring.errors import MooringError, UsageError
from mooring.host.blocking import bulkheads

_log = log.get("mooring.stack")

REST_SECONDS = 5.0  # for calls to the operating system; then they are given up


class RoleDied(MooringError):
    """A role ended by itself; the text says which one, and why."""


def stop_event() -> asyncio.Event:
    """An event that SIGTERM and SIGINT set from now on; stuck system calls do not delay the end."""
    stop = asyncio.Event()

    def ask() -> None:
        stop.set()
        bulkheads().leave_within(REST_SECONDS)

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ask)
    return stop


async def run_until(
    stop: asyncio.Event, roles: Mapping[str, Callable[[], Awaitable[None]]]
) -> None:
    """Run roles, by name, until `stop` is set.

    After: all of them have ended, except for calls to the operating system that do not return.
    If one dies, the others are stopped too. Raises: RoleDied.
    """
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(_run(name, run), name=name) for name, run in roles.items()]
        try:
            await stop.wait()
        finally:  # also when one of them has died
            bulkheads().leave_within(REST_SECONDS)
        for task in running:
            task.cancel()


async def _run(name: str, run: Callable[[], Awaitable[None]]) -> None:
    try:
        await run()
    except Exception as error:  # any error ends the process with its reason
        reasons = list(_reasons(error))
        if any(not isinstance(reason, MooringError) for reason in reasons):
            _log.exception("a role died", role=name)
        why = "; ".join(dict.fromkeys(map(_told, reasons)))
        is_refused = all(isinstance(reason, UsageError) for reason in reasons)
        raise RoleDied(why if is_refused else f"the {name} died: {why}") from error
    raise RoleDied(f"the {name} ended without being asked to")


def _reasons(error: BaseException) -> Iterator[BaseException]:
    """The single errors in a group."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _reasons(inner)
    else:
        yield error


def _told(reason: BaseException) -> str:
    """On one line: a MooringError by its text, a bug with its class."""
    text = str(reason) if isinstance(reason, MooringError) else ""
    return " ".join((text or traceback.format_exception_only(reason)[-1]).split())
