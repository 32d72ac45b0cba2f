"""The clock of a test cluster: real time, and what it was moved on by."""

import asyncio
import heapq
from datetime import datetime, timedelta
from itertools import count

from mooring.clock import Clock
from mooring.testing.errors import ClusterError

MOST_AHEAD = 600 * 86400.0  # seconds; the server's certificate lasts longer
MOST_TURNS = 60  # of the event loop, in which whatever has woken does its work;
QUIET_TURNS = 15  # fewer once it sleeps again, and nothing else goes to sleep


class AdvancingClock:
    """`Clock`. Goes as `real` does; `advance` wakes those who sleep, in order, without waiting."""

    def __init__(self, real: Clock) -> None:
        self._real = real
        self._ahead = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._sequence = count()
        self._sleeps = 0  # so far
        self._advancing = asyncio.Lock()

    def now(self) -> datetime:
        return self._real.now() + timedelta(seconds=self._ahead)

    def monotonic(self) -> float:
        return self._real.monotonic() + self._ahead

    async def sleep(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        woken = loop.create_future()
        due = self.monotonic() + seconds
        self._sleeps += 1
        heapq.heappush(self._sleepers, (due, next(self._sequence), woken))
        timer = loop.call_later(max(seconds, 0), _wake, woken)
        try:
            await woken
        finally:
            timer.cancel()
            self._forget_woken()

    async def advance(self, seconds: float) -> None:
        """Let `seconds` pass; what wakes on the way works before time goes on.

        Raises: ClusterError for a step back, or further than the certificate lasts.
        """
        if seconds < 0:
            raise ClusterError("a clock is moved on, never back")
        async with self._advancing:
            if self._ahead + seconds > MOST_AHEAD:
                raise ClusterError(
                    f"the clock can be {MOST_AHEAD / 86400:.0f} days ahead at most: beyond that "
                    "clients distrust the server's certificate; take a new cluster"
                )
            end = self._ahead + seconds
            await self._settle()
            while (due := self._next_due()) is not None:
                ahead = due - self._real.monotonic()
                if ahead > end:
                    break
                self._ahead = max(self._ahead, ahead)
                _wake(heapq.heappop(self._sleepers)[2])
                await self._settle()
            self._ahead = end
            await self._settle()

    async def _settle(self) -> None:
        """Let every task that can run do so."""
        loop = asyncio.get_running_loop()
        left, sleeps = MOST_TURNS, self._sleeps
        while left > 0:
            turn = loop.create_future()
            loop.call_soon(_wake, turn)
            await turn
            left -= 1
            if self._sleeps != sleeps:
                left, sleeps = QUIET_TURNS, self._sleeps

    def _next_due(self) -> float | None:
        self._forget_woken()
        return self._sleepers[0][0] if self._sleepers else None

    def _forget_woken(self) -> None:
        while self._sleepers and self._sleepers[0][2].done():
            heapq.heappop(self._sleepers)


def _wake(sleeper: asyncio.Future[None]) -> None:
    if not sleeper.done():
        sleeper.set_result(None)
