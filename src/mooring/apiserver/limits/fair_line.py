"""One place that many want: those who wait have it by turns of where they come from.

However many come from one origin, another waits for one of them at most, and for the one that has
the place.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec


class LineLimits(msgspec.Struct, frozen=True):
    most_of_one: int  # that wait, of an origin
    most: int  # of all origins
    seconds: float  # that one waits


class LineFull(Exception):
    """Too many wait already, or one has waited too long."""


class FairLine:
    def __init__(self, limits: LineLimits) -> None:
        self._limits = limits
        self._is_taken = False
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}  # by origin; the next one first

    @asynccontextmanager
    async def place(self, origin: str) -> AsyncIterator[None]:
        """Raises: LineFull."""
        await self._enter(origin)
        try:
            yield
        finally:
            self._hand_on()

    async def _enter(self, origin: str) -> None:
        if not self._is_taken:
            self._is_taken = True
            return
        if len(self._waiting.get(origin, ())) >= self._limits.most_of_one:
            raise LineFull(f"{self._limits.most_of_one} of {origin} wait already")
        if sum(map(len, self._waiting.values())) >= self._limits.most:
            raise LineFull(f"{self._limits.most} wait already")
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(origin, deque()).append(turn)
        try:
            async with asyncio.timeout(self._limits.seconds):
                await turn
        except BaseException as error:
            self._give_up(origin, turn)
            if isinstance(error, TimeoutError):
                raise LineFull(f"its turn did not come in {self._limits.seconds:g} s") from error
            raise

    def _give_up(self, origin: str, turn: "asyncio.Future[None]") -> None:
        if turn.done() and not turn.cancelled():
            self._hand_on()  # its turn had just come
            return
        line = self._waiting.get(origin, deque())
        if turn in line:  # else it was passed over
            line.remove(turn)
            if not line:
                del self._waiting[origin]

    def _hand_on(self) -> None:
        while self._waiting:
            origin = next(iter(self._waiting))
            line = self._waiting.pop(origin)
            while line:
                turn = line.popleft()
                if turn.done():  # cancelled, and has had no time to leave
                    continue
                if line:
                    self._waiting[origin] = line  # behind all other origins
                turn.set_result(None)
                return
        self._is_taken = False
