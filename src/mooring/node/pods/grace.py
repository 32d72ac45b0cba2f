"""Time that something under way still has, and what wakes it."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from mooring.clock import Clock
from mooring.reconcile.deadline import within


class Grace:
    """A grace period that may be shortened while it runs."""

    def __init__(self, clock: Clock, seconds: float = 0.0) -> None:
        self._clock = clock
        self._stirred = asyncio.Event()
        self.renew(seconds)

    @property
    def left(self) -> float:
        return self._until - self._clock.monotonic()

    def renew(self, seconds: float) -> None:
        self._until = self._clock.monotonic() + seconds

    def shorten(self, seconds: float) -> None:
        """From now on; a longer time than is left changes nothing."""
        self._until = min(self._until, self._clock.monotonic() + seconds)
        self.stir()

    def at_least(self, seconds: float) -> None:
        self._until = max(self._until, self._clock.monotonic() + seconds)

    def stir(self) -> None:
        """Wake the waiting tasks after a change."""
        self._stirred.set()

    async def until(self, is_so: Callable[[], bool]) -> bool:
        """Returns once it is so, or the time is up; says whether it is so."""
        while not is_so():
            left = self.left
            if left <= 0:
                return False
            self._stirred.clear()
            with suppress(TimeoutError):
                async with within(self._clock, left):
                    await self._stirred.wait()
        return True
