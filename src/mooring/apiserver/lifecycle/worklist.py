"""Keys waiting to be looked at: each once, however often it was added; retried when that fails."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from mooring import log
from mooring.clock import Clock
from mooring.errors import MooringError

LOG = log.get("mooring.lifecycle")

FIRST_RETRY, LAST_RETRY = 0.1, 30.0  # seconds

K = TypeVar("K", bound=Hashable)


class Worklist(Generic[K]):
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._keys: dict[K, None] = {}  # in the order they came
        self._failures: dict[K, int] = {}
        self._wake = asyncio.Event()

    def add(self, key: K) -> None:
        self._keys[key] = None
        self._wake.set()

    async def serve(self, reconcile: Callable[[K], Awaitable[None]]) -> None:
        """Look at keys, one after the other, until cancelled."""
        async with asyncio.TaskGroup() as retries:
            while True:
                await self._wake.wait()
                while self._keys:
                    key = next(iter(self._keys))
                    del self._keys[key]
                    try:
                        await reconcile(key)
                    except MooringError as error:
                        failures = self._failures[key] = self._failures.get(key, 0) + 1
                        LOG.warning("will try again", key=key, because=str(error))
                        retries.create_task(self._add_later(key, failures))
                    else:
                        self._failures.pop(key, None)
                self._wake.clear()

    async def _add_later(self, key: K, failures: int) -> None:
        await self._clock.sleep(min(FIRST_RETRY * 2.0 ** (failures - 1), LAST_RETRY))
        self.add(key)
