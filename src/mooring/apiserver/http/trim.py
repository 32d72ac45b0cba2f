"""Giving memory back to the system when many connections have left.

Each leaves holes between what stays; unasked, the C library gives back only what is at the end of
its heap, so that crowds which come and go make the process grow.
"""

import asyncio
import ctypes
from collections.abc import Callable

AFTER = 200  # connections that left since the last time
SOON = 0.25  # seconds; connections that close together are handled together

try:
    _malloc_trim: Callable[[int], int] | None = ctypes.CDLL(None).malloc_trim
except AttributeError:  # not the GNU C library
    _malloc_trim = None


def trim() -> None:
    """Takes some milliseconds."""
    if _malloc_trim is not None:
        _malloc_trim(0)


class Departures:
    """Counts closed connections; trims the heap after many."""

    def __init__(self, loop: asyncio.AbstractEventLoop, trim: Callable[[], None] = trim) -> None:
        self._loop = loop
        self._trim = trim
        self._left = 0

    def one_left(self) -> None:
        self._left += 1
        if self._left == AFTER:
            self._loop.call_later(SOON, self._give_back)

    def _give_back(self) -> None:
        self._left = 0
        self._trim()
