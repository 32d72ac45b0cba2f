"""Waiting for what another process does: asked again and again, never for longer than allowed."""

import asyncio
from collections.abc import Callable

EVERY = 0.02  # seconds


async def until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    """Raises: TimeoutError."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(seconds):
        while not condition():
            moment = loop.create_future()
            timer = loop.call_later(EVERY, moment.set_result, None)
            try:
                await moment
            finally:
                timer.cancel()
