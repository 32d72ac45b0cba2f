"""Reading from the API for many pods at once: what several ask for at a time is read once."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from mooring.errors import MooringError

V = TypeVar("V")


class SharedReads(Generic[V]):
    """At most `at_once` reads under way; nothing is remembered beyond a read's end."""

    def __init__(self, at_once: int) -> None:
        self._slots = asyncio.Semaphore(at_once)
        self._under_way: dict[Hashable, asyncio.Future[V]] = {}

    async def read(self, key: Hashable, ask: Callable[[], Awaitable[V]]) -> V:
        """The result of `ask`, or of a call for the same key that is already in progress.

        Raises: what `ask` raises.
        """
        while (shared := self._under_way.get(key)) is not None:
            await asyncio.wait([shared])
            if not shared.cancelled():  # else the call that we shared was cancelled
                return shared.result()
        answer = self._under_way[key] = asyncio.get_running_loop().create_future()
        try:
            async with self._slots:
                found = await ask()
        except MooringError as error:
            answer.set_exception(error)
            answer.exception()  # retrieved, even when no other call shares it
            raise
        except BaseException:
            answer.cancel()
            raise
        finally:
            del self._under_way[key]
        answer.set_result(found)
        return found
