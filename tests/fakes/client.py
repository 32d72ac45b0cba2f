"""Clients of a `FakeServer` that things can happen to.

A `FakeClient` implements `mooring.client.contract.Client`. Each has its own bad luck: it can be
offline or stalled, slow in both directions, refused, cut off after the deed was done, and its
watches can be held, cut, ended.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import msgspec

from mooring.client.contract import EVERYTHING, Action, Change, Listing, Part, Scope, posted
from mooring.client.guards import listed_version, seen_uid, seen_version
from mooring.clock import Clock
from mooring.errors import ConnectionLost, MooringError
from mooring.model.keys import Key
from mooring.model.meta import ApiObject, Resource
from tests.fakes.actions import act
from tests.fakes.fake_server import Cursor, FakeServer

__all__ = ["FakeClient", "FakeServer"]

Doc = dict[str, Any]
T = TypeVar("T", bound=ApiObject)
R = TypeVar("R")


class Fault(msgspec.Struct, frozen=True):
    error: MooringError
    applied: bool  # the deed is done, only the answer is lost


class FakeClient:
    """`calls` names every request in order, as in `patch PersistentVolume data`."""

    def __init__(self, server: FakeServer, clock: Clock) -> None:
        self.server = server
        self.calls: list[str] = []
        self.is_offline = False  # everything fails at once
        self.latency: Callable[[], tuple[float, float]] = lambda: (0.0, 0.0)  # there, and back
        self.streams: list[_Stream] = []
        self.is_held = False  # watches bring nothing
        self._clock = clock
        self._connected = asyncio.Event()
        self._connected.set()
        self._faults: defaultdict[str, deque[Fault]] = defaultdict(deque)

    # what can happen to it

    def fail(
        self, verb: str, error: MooringError, *, times: int = 1, applied: bool = False
    ) -> None:
        """The next calls of this verb (`get`, `list`, `watch`, ...) end so."""
        self._faults[verb].extend([Fault(error, applied)] * times)

    def stall(self) -> None:
        """Requests and answers wait for better times; streams fall silent."""
        self._connected.clear()

    def go_on(self) -> None:
        """No longer offline, stalled or held."""
        self.is_offline = self.is_held = False
        self._connected.set()
        for stream in self.streams:
            stream.cursor.stirred.set()

    def cut(self) -> None:
        """Every open watch breaks."""
        for stream in self.streams:
            stream.stop(ConnectionLost("the stream broke"))

    def end_streams(self) -> None:
        """The server closes every open watch in good order."""
        for stream in self.streams:
            stream.stop(None)

    @property
    def is_silent(self) -> bool:
        return self.is_held or not self._connected.is_set()

    # the contract

    async def get(self, kind: type[T], key: Key) -> T:
        return await self._call("get", kind.resource, key, lambda: self.server.get(kind, key))

    async def list(self, kind: type[T], scope: Scope = EVERYTHING) -> Listing[T]:
        return await self._call("list", kind.resource, None, lambda: self.server.list(kind, scope))

    async def create(self, kind: type[T], doc: Doc) -> T:
        key = Key(doc["metadata"].get("namespace", ""), doc["metadata"].get("name", ""))
        return await self._call("create", kind.resource, key, lambda: self.server.create(kind, doc))

    async def patch(self, seen: T, change: Doc, part: Part = Part.MAIN) -> T:
        seen_version(seen)
        if part is Part.STATUS:
            main = {"metadata": change["metadata"]} if _may_carry_metadata(seen, change) else {}
            return await self.patch_both(seen, main, change.get("status", {}))
        return await self.patch_both(seen, change, {})

    async def patch_both(self, seen: T, main: Doc, status: Doc) -> T:
        return await self._call(
            "patch", seen.resource, seen.key, lambda: self.server.patch(seen, main, status)
        )

    async def post(self, kind: type[T], key: Key, action: Action, doc: Doc) -> Doc:
        whole = posted(key, action, doc)
        return await self._call(
            "post", kind.resource, key, lambda: act(self.server, kind, key, action, whole)
        )

    async def delete(self, seen: ApiObject, *, grace_seconds: int | None = None) -> None:
        seen_uid(seen)
        await self._call(
            "delete", seen.resource, seen.key, lambda: self.server.delete(seen, grace_seconds)
        )

    @asynccontextmanager
    async def watch(
        self, kind: type[T], version: str, scope: Scope = EVERYTHING
    ) -> AsyncIterator[AsyncIterator[Change[T]]]:
        stream = _Stream(self, int(listed_version(version)))
        await self._call("watch", kind.resource, None, lambda: None)
        self.server.streams.append(stream.cursor)
        self.streams.append(stream)
        try:
            yield stream.changes(kind, scope)
        finally:
            self.server.streams.remove(stream.cursor)
            self.streams.remove(stream)

    async def _call(
        self, verb: str, resource: Resource, key: Key | None, act: Callable[[], R]
    ) -> R:
        self.calls.append(f"{verb} {resource.kind} {key or ''}".rstrip())
        there, back = self.latency()
        await _turn()
        if self.is_offline:
            raise ConnectionLost("offline")
        await self._travel(there, act)
        fault = self._faults[verb].popleft() if self._faults[verb] else None
        self.server.receive_late()
        try:
            if fault is not None and not fault.applied:
                raise fault.error
            result = act()
        finally:
            await self._travel(back, None)
        if fault is not None:
            raise fault.error
        return result

    async def _travel(self, seconds: float, act: Callable[[], object] | None) -> None:
        """On the way; a request that is given up on the way still arrives."""
        await self._connected.wait()
        arrival = self._clock.monotonic() + seconds
        if seconds:
            try:
                await self._clock.sleep(seconds)
            except asyncio.CancelledError:
                if act is not None:
                    self.server.act_later(arrival, act)
                raise


class _Stream:
    """One open watch."""

    def __init__(self, client: FakeClient, position: int) -> None:
        self.cursor = Cursor(client.server, position)
        self._client = client
        self._end: tuple[MooringError | None] | None = None

    def stop(self, error: MooringError | None) -> None:
        """Without an error it ends in good order: what has happened is told first."""
        self._end = (error,)
        self.cursor.stirred.set()

    async def changes(self, kind: type[T], scope: Scope) -> AsyncIterator[Change[T]]:
        while True:
            if self._end is not None and self._end[0] is not None:
                raise self._end[0]
            change = None if self._client.is_silent else self.cursor.next(kind, scope)
            if change is not None:
                yield change
            elif self._end is not None:
                return
            else:
                self.cursor.stirred.clear()
                await self.cursor.stirred.wait()


def _may_carry_metadata(seen: ApiObject, change: Doc) -> bool:
    """Whether a patch of the status changes metadata too: of most kinds it may, of these never."""
    resource = seen.resource
    is_strict = resource.kind == "VolumeAttachment" or "snapshot.storage" in resource.group
    return "metadata" in change and not is_strict


async def _turn() -> None:
    """Requests take time, if no more than this."""
    loop = asyncio.get_running_loop()
    turned = loop.create_future()
    loop.call_soon(turned.set_result, None)
    await turned


class EyesByKind(FakeClient):
    """Looks at some kinds through clients of their own; what it writes is its own."""

    def __init__(self, client: FakeClient, others: Mapping[type[ApiObject], FakeClient]) -> None:
        super().__init__(client.server, client._clock)
        self._client = client
        self._others = others

    async def list(self, kind: type[T], scope: Scope = EVERYTHING) -> Listing[T]:
        return await self._others.get(kind, self._client).list(kind, scope)

    @asynccontextmanager
    async def watch(
        self, kind: type[T], version: str, scope: Scope = EVERYTHING
    ) -> AsyncIterator[AsyncIterator[Change[T]]]:
        async with self._others.get(kind, self._client).watch(kind, version, scope) as changes:
            yield changes
