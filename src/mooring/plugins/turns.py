"""A few at once for each back end: the others wait, so that one that hangs takes little of what all
share, threads and sockets."""

import asyncio
from collections.abc import Hashable
from weakref import WeakValueDictionary

AT_ONCE = 8


class Turns:
    def __init__(self) -> None:
        self._slots: WeakValueDictionary[Hashable, asyncio.Semaphore] = WeakValueDictionary()

    def of(self, back_end: Hashable) -> asyncio.Semaphore:
        """To be entered; known for as long as anybody has it."""
        return self._slots.setdefault(back_end, asyncio.Semaphore(AT_ONCE))
