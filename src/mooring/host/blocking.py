"""Calling the operating system from async code, without ever leaving a call behind."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


async def in_thread(call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """What `call` returns or raises, without blocking the loop.

    A system call cannot be taken back: when the caller is cancelled, it is cancelled only after
    the call has ended. So nobody ever finds a mount appearing under a tear-down.
    """
    running = asyncio.ensure_future(asyncio.to_thread(call, *args, **kwargs))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        if not running.cancelled():
            running.exception()  # seen: the one who cancelled has no use for it
        raise
