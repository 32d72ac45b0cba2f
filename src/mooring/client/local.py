"""The transport for a server in this process: a call goes straight to the store.

There is no HTTP and no second JSON: reads decode the stored bytes, a watch is a cursor in the
store's changes. `InProcess` is the protocol that `apiserver/api/in_process.py` implements.
"""

import asyncio
import types
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator, Sequence
from contextlib import asynccontextmanager
from typing import Generic, Protocol

import msgspec

from mooring.client.contract import (
    EVERYTHING,
    Action,
    Change,
    ChangeType,
    Listing,
    Part,
    Scope,
    T,
    Unread,
    posted,
)
from mooring.client.decoding import Reader, reader_of
from mooring.client.guards import listed_version, seen_uid, seen_version
from mooring.model.document import Doc
from mooring.model.keys import Key
from mooring.model.meta import ApiObject, Resource

MOST_AT_ONCE = 500  # objects decoded before other tasks run
_decode = msgspec.json.Decoder(Doc).decode
_TYPES = {kind.value: kind for kind in ChangeType}


class Cursor(Protocol):
    """A watch of the store."""

    def poll(self, most: int) -> Sequence[tuple[str, bytes]]:
        """The types and objects of the next changes, empty if there are none. Raises: Expired."""
        ...

    def close(self) -> None: ...


class InProcess(Protocol):
    """An API server in this process. Objects are their stored JSON; refusals are raised."""

    async def get(self, resource: Resource, key: Key) -> bytes: ...

    async def list(self, resource: Resource, scope: Scope) -> tuple[Sequence[bytes], str]: ...

    async def watch(
        self, resource: Resource, version: str, scope: Scope, on_change: Callable[[], None]
    ) -> Cursor: ...

    async def create(self, resource: Resource, doc: Doc) -> bytes: ...

    async def patch(
        self, resource: Resource, key: Key, version: str, changes: Sequence[tuple[str, Doc]]
    ) -> bytes:
        """Apply all changes, each to a `Part`, in one write."""
        ...

    async def post(self, resource: Resource, key: Key, part: str, doc: Doc) -> bytes:
        """POST to a subresource (`Action`); returns the resulting document."""
        ...

    async def delete(self, resource: Resource, key: Key, uid: str, grace: int | None) -> None: ...


class LocalClient:
    """`Client`, over a server in this process."""

    def __init__(self, api: InProcess) -> None:
        self._api = api

    async def get(self, kind: type[T], key: Key) -> T:
        return reader_of(kind).read(await self._api.get(kind.resource, key))

    async def list(self, kind: type[T], scope: Scope = EVERYTHING) -> Listing[T]:
        read_all = reader_of(kind).read_all
        found, version = await self._api.list(kind.resource, scope)
        items: list[T] = []
        unread: list[Unread] = []
        for start in range(0, len(found), MOST_AT_ONCE):
            if start:
                await _turn()
            some, others = read_all(found[start : start + MOST_AT_ONCE])
            items += some
            unread += others
        return Listing(items, version, unread)

    @asynccontextmanager
    async def watch(
        self, kind: type[T], version: str, scope: Scope = EVERYTHING
    ) -> AsyncIterator[AsyncIterator[Change[T]]]:
        changed = asyncio.Event()
        version = listed_version(version)
        cursor = await self._api.watch(kind.resource, version, scope, changed.set)
        try:
            yield _Changes(cursor, reader_of(kind), changed)
        finally:
            cursor.close()

    async def create(self, kind: type[T], doc: Doc) -> T:
        return reader_of(kind).read(await self._api.create(kind.resource, doc))

    async def patch(self, seen: T, change: Doc, part: Part = Part.MAIN) -> T:
        return await self._patch(seen, [(part.value, change)])

    async def patch_both(self, seen: T, main: Doc, status: Doc) -> T:
        changes = [(Part.MAIN.value, main)]
        if status:
            changes.append((Part.STATUS.value, {"status": status}))
        return await self._patch(seen, changes if main else changes[-1:])

    async def _patch(self, seen: T, changes: Sequence[tuple[str, Doc]]) -> T:
        kind = type(seen)
        stored = await self._api.patch(kind.resource, seen.key, seen_version(seen), changes)
        return reader_of(kind).read(stored)

    async def post(self, kind: type[T], key: Key, action: Action, doc: Doc) -> Doc:
        whole = posted(key, action, doc)
        return _decode(await self._api.post(kind.resource, key, action.value, whole))

    async def delete(self, seen: ApiObject, *, grace_seconds: int | None = None) -> None:
        await self._api.delete(seen.resource, seen.key, seen_uid(seen), grace_seconds)


class _Changes(Generic[T]):
    """The changes of a cursor; waits for more at its end."""

    def __init__(self, cursor: Cursor, reader: Reader[T], changed: asyncio.Event) -> None:
        self._cursor = cursor
        self._reader = reader
        self._changed = changed
        self._found: deque[tuple[str, bytes]] = deque()

    def __aiter__(self) -> "_Changes[T]":
        return self

    async def __anext__(self) -> Change[T]:
        while not self._found:
            self._changed.clear()  # before polling: a later change sets it again
            self._found.extend(self._cursor.poll(MOST_AT_ONCE))
            if not self._found:
                await self._changed.wait()
        kind, data = self._found.popleft()
        return self._reader.read_change(_TYPES[kind], data)


@types.coroutine
def _turn() -> Generator[None, None, None]:
    """Let all other ready tasks run first."""
    yield
