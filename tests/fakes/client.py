"""An API server in memory, and clients of it that things can happen to.

`FakeServer` has revisions, conditional writes, finalizers, a history that watches start from and
that can be forgotten; it fills in nothing, validates nothing and protects nothing. Its methods act
at once: tests use them as "somebody else". A `FakeClient`
implements `mooring.client.contract.Client` on top; each has its own bad luck: it can be offline or
stalled, slow in both directions, refused, cut off after the deed was done, and its watches can be
held, cut, ended.
"""

import asyncio
import heapq
from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from itertools import count
from typing import Any, TypeVar

import msgspec

from mooring.client.contract import EVERYTHING, Change, ChangeType, Listing, Part, Scope
from mooring.client.guards import listed_version, seen_uid, seen_version
from mooring.clock import Clock, to_seconds
from mooring.errors import (
    AlreadyExists,
    Conflict,
    ConnectionLost,
    Expired,
    MooringError,
    NotFound,
)
from mooring.model.keys import Key
from mooring.model.meta import ApiObject, Resource
from mooring.model.selector import parse_fields, parse_labels
from mooring.model.wire import read_document

Doc = dict[str, Any]
T = TypeVar("T", bound=ApiObject)
R = TypeVar("R")


class Happening(msgspec.Struct, frozen=True):
    """One change; `before` is None for a creation, `after` for a deletion."""

    revision: int
    resource: Resource
    before: Doc | None
    after: Doc | None


class FakeServer:
    def __init__(self, clock: Clock) -> None:
        self.revision = 1
        self.oldest = 1  # watches can start here or later
        self.history: list[Happening] = []
        self.streams: list[_Stream] = []
        self._clock = clock
        self._tables: defaultdict[Resource, dict[Key, Doc]] = defaultdict(dict)
        self._late: list[tuple[float, int, Callable[[], object]]] = []
        self._numbers = count(1)

    # reading

    def get(self, kind: type[T], key: Key) -> T:
        return read_document(self._stored(kind.resource, key), kind)

    def find(self, kind: type[T], key: Key) -> T | None:
        doc = self._tables[kind.resource].get(key)
        return None if doc is None else read_document(doc, kind)

    def list(self, kind: type[T], scope: Scope = EVERYTHING) -> Listing[T]:
        table = self._tables[kind.resource]
        found = [
            read_document(table[key], kind) for key in sorted(table) if _fits(table[key], scope)
        ]
        return Listing(found, str(self.revision))

    # writing

    def create(self, kind: type[T], doc: Doc) -> T:
        resource, metadata = kind.resource, dict(doc["metadata"])
        if not metadata.get("name"):
            metadata["name"] = f"{metadata['generateName']}{next(self._numbers)}"
        assert bool(metadata.get("namespace")) is resource.namespaced, "wrong about its namespace"
        key = Key(metadata.get("namespace", ""), metadata["name"])
        if key in self._tables[resource]:
            raise AlreadyExists(f'{resource.plural} "{key.name}" already exists')
        metadata |= {
            "uid": f"uid-{next(self._numbers)}",
            "creationTimestamp": to_seconds(self._clock.now()),
        }
        whole = doc | {"kind": resource.kind, "apiVersion": resource.api_version}
        return self._commit(kind, key, whole | {"metadata": metadata})

    def patch(self, seen: T, main: Doc, status: Doc) -> T:
        """`status` is what goes below the field of that name."""
        resource, key = seen.resource, seen.key
        stored = self._stored(resource, key)
        if stored["metadata"]["resourceVersion"] != seen.metadata.resource_version:
            raise Conflict(f'Operation cannot be fulfilled on {resource.plural} "{key.name}"')
        changed = _merged(stored, {k: v for k, v in main.items() if k != "status"})
        if status:
            changed = _merged(changed, {"status": status})
        changed["metadata"]["resourceVersion"] = seen.metadata.resource_version
        if changed == stored:
            return read_document(stored, type(seen))
        if changed["metadata"].get("deletionTimestamp") and not _finalizers(changed):
            return self._remove(type(seen), key, changed)
        return self._commit(type(seen), key, changed)

    def delete(self, seen: ApiObject, grace_seconds: int | None = None) -> None:
        """No grace unless it is asked for; what has finalizers stays, marked."""
        stored = self._stored(seen.resource, seen.key)
        if stored["metadata"]["uid"] != seen.uid:
            raise Conflict(f'the UID in the precondition ({seen.uid}) does not match "{seen.name}"')
        if not _finalizers(stored) and not grace_seconds:
            self._remove(type(seen), seen.key, stored)
        elif "deletionTimestamp" not in stored["metadata"]:
            marks = {
                "deletionTimestamp": to_seconds(self._clock.now()),
                "deletionGracePeriodSeconds": grace_seconds or 0,
            }
            self._commit(type(seen), seen.key, _merged(stored, {"metadata": marks}))

    # its own troubles

    def forget_history(self) -> None:
        """From now on, watches that are behind have expired."""
        self.history.clear()
        self.oldest = self.revision
        self._stir()

    def lose_last_change(self) -> None:
        """No watch will ever show the newest change: a fault that no server should have."""
        self.history.pop()

    def bookmark(self) -> None:
        """Tell every watch how far it is."""
        for stream in self.streams:
            stream.owes_bookmark = True
        self._stir()

    def act_later(self, at: float, act: Callable[[], object]) -> None:
        """A request that nobody waits for any more arrives at that time."""
        heapq.heappush(self._late, (at, next(self._numbers), act))

    def receive_late(self) -> None:
        """Let requests in that were under way for long; called before any other is served."""
        while self._late and self._late[0][0] <= self._clock.monotonic():
            _, _, act = heapq.heappop(self._late)
            with suppress(MooringError):  # refused, and nobody is there to hear it
                act()

    def _stored(self, resource: Resource, key: Key) -> Doc:
        try:
            return self._tables[resource][key]
        except KeyError:
            raise NotFound(f'{resource.plural} "{key.name}" not found') from None

    def _commit(self, kind: type[T], key: Key, doc: Doc) -> T:
        return self._happen(kind, key, doc, gone=False)

    def _remove(self, kind: type[T], key: Key, doc: Doc) -> T:
        return self._happen(kind, key, doc, gone=True)

    def _happen(self, kind: type[T], key: Key, doc: Doc, *, gone: bool) -> T:
        table = self._tables[kind.resource]
        self.revision += 1
        stamped = _merged(doc, {"metadata": {"resourceVersion": str(self.revision)}})
        before = table.pop(key, None)
        if not gone:
            table[key] = stamped
        after = None if gone else stamped
        self.history.append(Happening(self.revision, kind.resource, before, after))
        self._stir()
        return read_document(stamped, kind)

    def _stir(self) -> None:
        for stream in self.streams:
            stream.stirred.set()


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
            stream.stirred.set()

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
            return await self.patch_both(seen, {}, change.get("status", {}))
        return await self.patch_both(seen, change, {})

    async def patch_both(self, seen: T, main: Doc, status: Doc) -> T:
        return await self._call(
            "patch", seen.resource, seen.key, lambda: self.server.patch(seen, main, status)
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
        self.server.streams.append(stream)
        self.streams.append(stream)
        try:
            yield stream.changes(kind, scope)
        finally:
            self.server.streams.remove(stream)
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
        self.stirred = asyncio.Event()
        self.owes_bookmark = False
        self._client = client
        self._position = position
        self._end: tuple[MooringError | None] | None = None

    def stop(self, error: MooringError | None) -> None:
        self._end = (error,)
        self.stirred.set()

    async def changes(self, kind: type[T], scope: Scope) -> AsyncIterator[Change[T]]:
        while True:
            change = None if self._client.is_silent else self._next(kind, scope)
            if change is not None:
                yield change
            elif self._end is not None:
                if self._end[0] is not None:
                    raise self._end[0]
                return
            else:
                self.stirred.clear()
                await self.stirred.wait()
            if self._end is not None and self._end[0] is not None:
                raise self._end[0]

    def _next(self, kind: type[T], scope: Scope) -> Change[T] | None:
        server = self._client.server
        if self._position < server.oldest:
            raise Expired(f"too old resource version: {self._position} ({server.oldest})")
        behind = bisect_right(server.history, self._position, key=lambda h: h.revision)
        for happening in server.history[behind:]:
            self._position = happening.revision
            change = _shown(happening, kind, scope)
            if change is not None:
                return change
        if self.owes_bookmark:
            self.owes_bookmark = False
            metadata = {"resourceVersion": str(server.revision)}
            return Change(ChangeType.BOOKMARK, read_document({"metadata": metadata}, kind))
        return None


def _shown(happening: Happening, kind: type[T], scope: Scope) -> Change[T] | None:
    """How a change looks to a watch: what leaves its scope is deleted, as far as it can see."""
    if happening.resource != kind.resource:
        return None
    before, after = happening.before, happening.after
    was_in = before is not None and _fits(before, scope)
    if after is not None and _fits(after, scope):
        type_ = ChangeType.MODIFIED if was_in else ChangeType.ADDED
        return Change(type_, read_document(after, kind))
    if before is None or not was_in:
        return None
    last = _merged(before, {"metadata": {"resourceVersion": str(happening.revision)}})
    return Change(ChangeType.DELETED, read_document(last, kind))


def _fits(doc: Doc, scope: Scope) -> bool:
    metadata = doc["metadata"]

    def field(path: str) -> str:
        value: Any = doc
        for step in path.split("."):
            value = value.get(step, "") if isinstance(value, dict) else ""
        return str(value)

    return (
        scope.namespace in ("", metadata.get("namespace", ""))
        and parse_labels(scope.labels).matches(metadata.get("labels", {}))
        and parse_fields(scope.fields).matches(field)
    )


def _merged(target: Doc, change: Doc) -> Doc:
    """RFC 7386; neither argument is changed."""
    merged = dict(target)
    for name, value in change.items():
        if value is None:
            merged.pop(name, None)
        elif isinstance(value, dict):
            known = merged.get(name)
            merged[name] = _merged(known if isinstance(known, dict) else {}, value)
        else:
            merged[name] = value
    return merged


def _finalizers(doc: Doc) -> list[str]:
    return list(doc["metadata"].get("finalizers", ()))


async def _turn() -> None:
    """Requests take time, if no more than this."""
    loop = asyncio.get_running_loop()
    turned = loop.create_future()
    loop.call_soon(turned.set_result, None)
    await turned
