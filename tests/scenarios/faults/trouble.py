"""A client of the API that bad things happen to.

It dies when its time has come (`Mortal`), loses the server, loses answers, loses every race, and
its watches are cut or expire. What it asks for is counted.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from mooring.client.contract import EVERYTHING, Change, Client, Part, Scope
from mooring.errors import ConnectionLost, Expired, MooringError
from mooring.model.document import Doc
from mooring.model.event import Event
from mooring.model.keys import Key
from mooring.model.meta import ApiObject
from tests.scenarios.neighbours import Mortal

_READING = ("get", "list", "watch")
Race = Callable[[ApiObject], Awaitable[None]]


class Troubled(Mortal):
    def __init__(self, client: Client, writes: int, *, two_writes: bool = False) -> None:
        super().__init__(client, writes)
        self.counts: Counter[str] = Counter()
        self.is_down = False
        self.loses_answers = 0  # so many writes are done, and nobody learns of it
        self.rival: Race | None = None  # writes first, whatever is to be written
        self.after_write: Callable[[], None] | None = None
        self._two_writes = two_writes  # as over HTTP, where an object and its status are two
        self._streams: set[_Stream] = set()

    async def live(self) -> None:
        """Return only if the process is alive still; what a plugin does takes from its time too."""
        await self._live()

    def writes(self) -> int:
        """Of objects; events are counted apart."""
        return self.counts["writes"]

    def events(self) -> int:
        return self.counts["events"]

    # what can happen

    def go_down(self) -> None:
        """The server is gone, and with it every stream."""
        self.is_down = True
        self.cut(ConnectionLost("the server is gone"))

    def come_back(self) -> None:
        self.is_down = False

    def cut(self, error: MooringError) -> None:
        """End every stream, as soon as it has brought what it has begun to bring."""
        for stream in self._streams:
            stream.end(error)

    def expire(self) -> None:
        """What the streams are about to read is history no longer."""
        self.cut(Expired("too old resource version"))

    # the contract

    async def get(self, kind: Any, key: Key) -> Any:
        self._ask("get", kind)
        return await super().get(kind, key)

    async def list(self, kind: Any, scope: Scope = EVERYTHING) -> Any:
        self._ask("list", kind)
        return await super().list(kind, scope)

    @asynccontextmanager
    async def watch(
        self, kind: Any, version: str, scope: Scope = EVERYTHING
    ) -> AsyncIterator[AsyncIterator[Change[Any]]]:
        self._ask("watch", kind)
        async with super().watch(kind, version, scope) as changes:
            stream = _Stream(changes)
            self._streams.add(stream)
            try:
                yield stream
            finally:
                self._streams.remove(stream)

    async def create(self, kind: Any, doc: Doc) -> Any:
        self._ask("create", kind)
        return self._answered(await super().create(kind, doc))

    async def patch(self, seen: Any, change: Doc, part: Part = Part.MAIN) -> Any:
        await self._race(seen)
        return self._answered(await super().patch(seen, change, part))

    async def patch_both(self, seen: Any, main: Doc, status: Doc) -> Any:
        if self._two_writes:
            if main:
                seen = await self.patch(seen, main)
            return await self.patch(seen, {"status": status}, Part.STATUS) if status else seen
        await self._race(seen)
        return self._answered(await super().patch_both(seen, main, status))

    async def delete(self, seen: ApiObject, *, grace_seconds: int | None = None) -> None:
        self._ask("delete", type(seen))
        await super().delete(seen, grace_seconds=grace_seconds)
        self._answered(None)

    async def _race(self, seen: ApiObject) -> None:
        self._ask("patch", type(seen))
        if self.rival is not None:
            await self.rival(seen)

    def _ask(self, verb: str, kind: type[ApiObject]) -> None:
        if self.is_down:
            raise ConnectionLost("the server is gone")
        if verb not in _READING:
            self.counts["events" if kind is Event else "writes"] += 1

    def _answered(self, answer: Any) -> Any:
        if self.after_write is not None:
            self.after_write()
        if self.loses_answers:
            self.loses_answers -= 1
            raise ConnectionLost("the answer got lost")
        return answer


class _Stream:
    """A watch that can be ended from outside."""

    def __init__(self, changes: AsyncIterator[Change[Any]]) -> None:
        self._changes = changes
        self._error: MooringError | None = None
        self._ended = asyncio.Event()

    def end(self, error: MooringError) -> None:
        self._error = error
        self._ended.set()

    def __aiter__(self) -> "_Stream":
        return self

    async def __anext__(self) -> Change[Any]:
        if self._error is not None:
            raise self._error
        change = asyncio.ensure_future(anext(self._changes))
        ended = asyncio.ensure_future(self._ended.wait())
        try:
            await asyncio.wait((change, ended), return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.cancel()
            if not change.done():
                change.cancel()
                await asyncio.wait({change})
        if change.cancelled():
            assert self._error is not None
            raise self._error
        return change.result()
