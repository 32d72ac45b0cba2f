"""Workers that serve a queue, and the life of a controller round them."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from math import inf
from typing import Protocol

import msgspec

from mooring import log
from mooring.clock import Clock
from mooring.errors import (
    ApiError,
    Conflict,
    ConnectionLost,
    MooringError,
    ServerError,
    ServerTimeout,
    StoreError,
    TooManyRequests,
    UsageError,
)
from mooring.model.backoff import Backoff
from mooring.reconcile.poison import name_of, set_aside
from mooring.reconcile.queue import K, KeyedQueue

_log = log.get("mooring.reconcile")

PASSING = (Conflict, ConnectionLost, ServerError, ServerTimeout, StoreError, TooManyRequests)
"""Troubles that are not the key's own, and over for all keys at once."""

PASSING_SECONDS = 10.0  # after so long at the latest it is looked whether they are over

RESTARTS = Backoff(first=0.1, cap=60.0)  # the pauses of a loop that keeps failing
STEADY_SECONDS = 120.0  # one that ran for so long begins with the first of them again


class Settled(msgspec.Struct, frozen=True):
    """Nothing is left to do until something changes."""


class Again(msgspec.Struct, frozen=True):
    """Look again later, even if nothing changes."""

    after: float  # seconds


Verdict = Settled | Again
Reconcile = Callable[[K], Awaitable[Verdict]]


class Synced(Protocol):
    """What feeds a queue: an informer."""

    @property
    def synced(self) -> asyncio.Event: ...


async def work(
    informers: Sequence[Synced], queue: KeyedQueue[K], reconcile: Reconcile[K], workers: int
) -> None:
    """Serve the queue with so many workers; the role runs the informers."""
    for informer in informers:
        await informer.synced.wait()  # no decision on half a picture
    async with asyncio.TaskGroup() as tasks:
        for _ in range(workers):
            tasks.create_task(serve(queue, reconcile))


async def serve(queue: KeyedQueue[K], reconcile: Reconcile[K]) -> None:
    """Serve keys until cancelled. A key has one worker at a time; touched meanwhile, it returns.

    Nothing that `reconcile` raises ends this: the key is tried again, later each time.
    """
    loop = name_of(reconcile)
    while True:
        async with queue.lease() as key:
            try:
                verdict = await reconcile(key)
            except MooringError as error:  # refused, outrun or cut off: the world, not the code
                _log.info("reconcile put off", key=key, because=error)
                asked = error.retry_after if isinstance(error, ApiError) else 0
                most = PASSING_SECONDS if isinstance(error, PASSING) else inf
                queue.retry(key, least=asked, most=most)
                continue
            except Exception:  # noqa: BLE001 - the one: a poisoned key must not starve the others
                set_aside(loop, key)
                queue.poison(key)
                continue
            queue.forget(key)
            match verdict:
                case Settled():
                    pass
                case Again(after):
                    queue.add_after(key, after)


async def lasting(
    loop: str, clock: Clock, run: Callable[[], Awaitable[None]], key: object = ""
) -> None:
    """`run`, a loop without a queue, until it returns or this is cancelled.

    What it raises is logged, and it is run again after a pause: so its state must be kept outside
    of `run`. A UsageError is passed on: only the user who started the process can fix it.
    """
    failures = 0
    while True:
        began = clock.monotonic()
        try:
            await run()
        except Exception as error:
            match foreseen(error):
                case UsageError() as usage:
                    raise usage from error
                case MooringError() as trouble:
                    _log.warning("begun anew", loop=loop, key=key, because=trouble)
                case None:
                    set_aside(loop, key)
        else:
            return
        failures = 1 if clock.monotonic() - began >= STEADY_SECONDS else failures + 1
        await clock.sleep(RESTARTS.delay(failures))


def foreseen(error: Exception) -> MooringError | None:
    """The error itself, or the one of a group, if Mooring has raised all of it on purpose."""
    if isinstance(error, MooringError):
        return error
    if not isinstance(error, ExceptionGroup):
        return None
    inner = [foreseen(each) for each in error.exceptions]
    if not all(inner):
        return None
    return next((each for each in inner if isinstance(each, UsageError)), inner[0])
