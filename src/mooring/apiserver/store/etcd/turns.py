"""One write at a time of each object by this server: its own writers never conflict in etcd."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

Key = tuple[str, str]


class KeyTurns:
    def __init__(self) -> None:
        self._locks: dict[Key, tuple[asyncio.Lock, int]] = {}  # and how many want it
        self._idle = asyncio.Event()
        self._idle.set()

    @asynccontextmanager
    async def turn(self, key: Key) -> AsyncIterator[None]:
        lock, wanted = self._locks.get(key) or (asyncio.Lock(), 0)
        self._locks[key] = lock, wanted + 1
        self._idle.clear()
        try:
            async with lock:
                yield
        finally:
            wanted = self._locks[key][1] - 1
            if wanted:
                self._locks[key] = lock, wanted
            else:
                del self._locks[key]
            if not self._locks:
                self._idle.set()

    async def all_done(self) -> None:
        await self._idle.wait()
