"""One stream of everything that the page shows: lists first, then every change.

Browsers open at most six connections to one server, so the watches of all kinds share one. Each
line is a JSON object; `k` is the kind:

    {"k": "claims", "list": [row, ...]}     the first of them; replaces what was known
    {"k": "claims", "more": [row, ...]}     further ones
    {"k": "claims", "listed": true, ...}    that was all of them
    {"k": "claims", "put": row}             added or changed
    {"k": "claims", "gone": "team/data"}
    {"k": "claims", "trouble": "..."}       cannot be read, and why; empty: it can again
    {"k": "beat"}                           nothing happened for a while
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from typing import Any, Protocol

import msgspec

from mooring.client.contract import Change, ChangeType, Listing, T
from mooring.clock import Clock
from mooring.dashboard.kinds import SHOWN
from mooring.dashboard.rows import row_of
from mooring.errors import Expired, Forbidden, MooringError, NotFound
from mooring.model.backoff import Backoff
from mooring.model.meta import ApiObject
from mooring.reconcile.turn import Turn

BEAT = 15.0  # seconds
MOST_QUEUED = 1024  # lines; a browser that does not read holds up its own watches only
AGAIN = Backoff(first=0.5, cap=30.0)
WITHOUT_RIGHT = 60.0  # seconds until a kind that may not be read is tried again
SLICE = 500  # rows that are made at a time
FIRST = "claims"  # listed before the rest, which the first view can do without

_encode = msgspec.json.Encoder().encode


class Source(Protocol):
    """The part of `client.http.HttpClient` that is read from."""

    def pages(self, kind: type[T]) -> AsyncGenerator[Listing[T], None]: ...

    def watch(
        self, kind: type[T], version: str
    ) -> AbstractAsyncContextManager[AsyncIterator[Change[T]]]: ...


class Feed:
    """The stream of one page."""

    def __init__(self, client: Source, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._lines: asyncio.Queue[bytes] = asyncio.Queue(MOST_QUEUED)
        self._has_first = asyncio.Event()

    async def lines(self) -> AsyncGenerator[bytes, None]:
        """Until it is closed; several lines come together when the reader is slow."""
        async with self._running():
            while True:
                lines = [await self._lines.get()]
                while not self._lines.empty():
                    lines.append(self._lines.get_nowait())
                yield b"".join(lines)

    @asynccontextmanager
    async def _running(self) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(self._follow(name, kind)) for name, kind in SHOWN.items()]
        tasks.append(asyncio.create_task(self._beat()))
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _beat(self) -> None:
        while True:
            await self._clock.sleep(BEAT)
            await self._send({"k": "beat"})

    async def _follow(self, name: str, kind: type[ApiObject]) -> None:
        """List and watch one kind, for as long as the page is open."""
        if name != FIRST:
            await self._has_first.wait()
        failures = 0
        while True:
            try:
                version = await self._list(name, kind)
                failures = 0
                while True:
                    version = await self._watch(name, kind, version)
            except Expired:
                continue
            except (Forbidden, NotFound) as error:
                await self._send({"k": name, "trouble": str(error)})
                self._has_first.set()
                await self._clock.sleep(WITHOUT_RIGHT)
            except MooringError as error:
                failures += 1
                await self._send({"k": name, "trouble": str(error)})
                self._has_first.set()
                await self._clock.sleep(AGAIN.delay(failures))

    async def _list(self, name: str, kind: type[ApiObject]) -> str:
        version, unread = "", 0
        async with aclosing(self._client.pages(kind)) as pages:
            async for page in pages:
                word = b"more" if version else b"list"
                for start in range(0, max(len(page.readable), 1), SLICE):
                    some = page.readable[start : start + SLICE]
                    rows = [_encode(row) for it in some if (row := row_of(it)) is not None]
                    line = b'{"k":"%b","%b":[%b]}\n' % (name.encode(), word, b",".join(rows))
                    await self._lines.put(line)
                    word = b"more"
                    await Turn()  # in `up`, the same event loop serves everybody
                unread += len(page.unread)
                version = version or page.version
        trouble = f"{unread} cannot be read" if unread else ""
        await self._send({"k": name, "listed": True, "trouble": trouble})
        if name == FIRST:
            self._has_first.set()
        return version

    async def _watch(self, name: str, kind: type[ApiObject], version: str) -> str:
        """Until the server ends it; the version to go on from."""
        async with self._client.watch(kind, version) as changes:
            async for change in changes:
                version = change.object.metadata.resource_version
                if (line := line_of(name, change)) is not None:
                    await self._send(line)
        return version

    async def _send(self, line: dict[str, Any]) -> None:
        await self._lines.put(_encode(line) + b"\n")


def line_of(name: str, change: Change[ApiObject]) -> dict[str, Any] | None:
    """What the page is told of a change; None: nothing."""
    match change.type:
        case ChangeType.ADDED | ChangeType.MODIFIED:
            row = row_of(change.object)
            return None if row is None else {"k": name, "put": row}
        case ChangeType.DELETED:
            return {"k": name, "gone": str(change.object.key)}
        case ChangeType.UNREADABLE:
            return {"k": name, "trouble": f"{change.object.key} cannot be read: {change.why}"}
        case ChangeType.BOOKMARK:
            return None
