"""An answer that holds for as long as the driver behind a connection is the same."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from mooring.csi.channel import TOO_LATE, Connection
from mooring.csi.outcome import Done, Outcome

T = TypeVar("T")


class AskedOnce(Generic[T]):
    """Many may ask at once; the driver hears one of them. Only what is Done is remembered."""

    def __init__(
        self, connection: Connection, ask: Callable[[float], Awaitable[Outcome[T]]]
    ) -> None:
        self._connection = connection
        self._ask = ask
        self._asking = asyncio.Lock()
        self._answer: tuple[int, Done[T]] | None = None

    async def get(self, within: float) -> Outcome[T]:
        """In `within` seconds, the wait for another asker included."""
        known = self._find()
        if known is not None:
            return known
        try:
            async with asyncio.timeout(within), self._asking:
                known = self._find()
                return known if known is not None else await self._ask_now(within)
        except TimeoutError:
            return TOO_LATE

    def _find(self) -> Done[T] | None:
        if self._answer is None or self._answer[0] != self._connection.incarnation:
            return None
        return self._answer[1]

    async def _ask_now(self, within: float) -> Outcome[T]:
        incarnation = self._connection.incarnation  # before: the driver may change meanwhile
        outcome = await self._ask(within)
        if isinstance(outcome, Done):
            self._answer = (incarnation, outcome)
        return outcome
