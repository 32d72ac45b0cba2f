"""Measurements that go on when nobody waits for them any more, for whoever asks next."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

V = TypeVar("V")


class UnderWay(Generic[V]):
    """At most one for each key; nothing is remembered beyond its end."""

    def __init__(self) -> None:
        self._futures: dict[str, asyncio.Future[V]] = {}

    def begin(self, key: str, ask: Callable[[], Awaitable[V]]) -> asyncio.Future[V]:
        """The one that is under way for this key, else a new one."""
        known = self._futures.get(key)
        if known is not None:
            return known
        asked = self._futures[key] = asyncio.ensure_future(ask())

        def ended(_: object) -> None:
            del self._futures[key]
            if not asked.cancelled():
                asked.exception()  # retrieved, also when nobody waits any more

        asked.add_done_callback(ended)
        return asked

    def cancel(self) -> None:
        for future in list(self._futures.values()):
            future.cancel()
