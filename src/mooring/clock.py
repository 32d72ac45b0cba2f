"""Time, injected: the only module that reads the real clock.

Everything else takes a `Clock`, so that tests and whole simulated clusters run in virtual time.
"""

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """The wall clock, in UTC; for timestamps."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back; for durations and deadlines."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return `seconds` later."""
        ...


class RealClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
