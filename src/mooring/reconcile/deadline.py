"""Waiting no longer than a clock allows: `asyncio.timeout`, in injected time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mooring.clock import Clock


@asynccontextmanager
async def within(clock: Clock, seconds: float) -> AsyncIterator[None]:
    """Cut the body short once `seconds` have passed. Raises: TimeoutError."""
    async with asyncio.timeout(None) as limit:
        timer = asyncio.create_task(_cut(clock, seconds, limit))
        try:
            yield
        finally:
            if not limit.expired():
                limit.reschedule(None)  # a body that made it is not cut while the timer ends
            timer.cancel()
            await asyncio.wait({timer})


async def _cut(clock: Clock, seconds: float, limit: asyncio.Timeout) -> None:
    await clock.sleep(seconds)
    limit.reschedule(asyncio.get_running_loop().time())
