"""Long work in slices: however many large requests there are, others wait for one slice at most.

A task that merely yields comes back in the next round of the event loop, and so does every other
one like it: a hundred of them make each round a hundred slices long. Here one slice runs in a
round, for all clients together, first come, first served.
"""

import asyncio
import types
from collections import deque
from collections.abc import Callable, Generator

from mooring.clock import Clock

SLICE = 0.003  # seconds of work before the next large request, and all others, may run
FIRST = 0.0005  # seconds of work that need no turn: many may ask in the same round


class Turns:
    """The queue of requests that need more than one slice."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiting: deque[Callable[[], None]] = deque()
        self._is_called = False

    def slice(self, seconds: float = FIRST) -> "Slice":
        """A slice that begins now: a short one, unless the caller has had to wait for its turn."""
        return Slice(self, self._clock, seconds)

    def call(self, work: Callable[[], None]) -> None:
        """Have `work`, at most a slice of it, done in its turn."""
        self._waiting.append(work)
        if not self._is_called:
            self._is_called = True
            asyncio.get_running_loop().call_soon(self._next)

    async def next(self) -> None:
        """Return when it is the caller's turn."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.call(lambda: None if turn.done() else turn.set_result(None))
        await turn

    def _next(self) -> None:
        work = self._waiting.popleft()
        self._is_called = bool(self._waiting)
        if self._is_called:  # before the work: what it raises must not stop the line
            asyncio.get_running_loop().call_soon(self._next)
        work()


class Slice:
    """Says when it is time to let others go first."""

    def __init__(self, turns: Turns, clock: Clock, seconds: float) -> None:
        self._turns = turns
        self._now = clock.monotonic
        self._until = self._now() + seconds

    @property
    def is_over(self) -> bool:
        return self._now() >= self._until

    async def pause(self) -> None:
        """Wait for the next turn, and begin a new slice."""
        await self._turns.next()
        self._until = self._now() + SLICE


@types.coroutine
def round_trip() -> Generator[None, None, None]:
    """Let everything else that is ready run first, once."""
    yield
