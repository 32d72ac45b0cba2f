"""Keeps what is in the caches of roles out of garbage collection."""

import asyncio
import gc
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from mooring.clock import Clock
from mooring.reconcile.role import Role

_SLICE_SECONDS = 0.05  # while caches fill
_LATER_SECONDS = 0.2  # while what they hold is worked on for the first time
_QUIET_SECONDS = 30.0  # then that is over; a busy machine leaves it little time
_MOST_SECONDS = 900.0
_WORTH_FREEZING = 10_000  # objects; a server that is not there for days must not fill the memory
_YOUNG, _OLD = 1, 2  # generations


@asynccontextmanager
async def gc_frozen(roles: Sequence[Role], clock: Clock) -> AsyncIterator[None]:
    """Run the roles inside: their caches are exempt from garbage collection (`gc.freeze`).

    Caches hold hundreds of thousands of objects without cycles; scanning them again and again made
    the slowest bindings slow. They are exempted while they fill, so that no look at the garbage is
    at all of them: that one would hold up the event loop for seconds. So is what roles derive from
    them in the first minutes: it is as much again.
    """
    if gc.get_freeze_count():  # what earlier roles have left is garbage now
        gc.unfreeze()
        gc.collect()
    gc.freeze()
    async with asyncio.TaskGroup() as tasks:
        sparing = tasks.create_task(_spare(roles, clock))
        yield
        sparing.cancel()


async def _spare(roles: Sequence[Role], clock: Clock) -> None:
    """Freeze in slices what outlives a look at the young garbage, until the start is over."""
    async with asyncio.TaskGroup() as tasks:
        slices = tasks.create_task(_freeze_slices(clock))
        for role in roles:
            await role.synced()
        slices.cancel()
    gc.collect(_YOUNG)
    gc.freeze()
    last = synced = clock.monotonic()
    while clock.monotonic() < min(last + _QUIET_SECONDS, synced + _MOST_SECONDS):
        await clock.sleep(_LATER_SECONDS)
        if _freeze_slice():
            last = clock.monotonic()


async def _freeze_slices(clock: Clock) -> None:
    while True:
        await clock.sleep(_SLICE_SECONDS)
        _freeze_slice()


def _freeze_slice() -> bool:
    """Whether there was enough that has come to stay."""
    gc.collect(_YOUNG)
    if _is_worth_freezing():
        gc.collect()  # what is frozen stays, garbage too
        if _is_worth_freezing():
            gc.freeze()
            return True
    return False


def _is_worth_freezing() -> bool:
    return len(gc.get_objects(_OLD)) > _WORTH_FREEZING
