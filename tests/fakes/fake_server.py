"""An API server in memory: revisions, conditional writes, finalizers, and a history.

It fills in nothing, validates nothing and protects nothing. Its methods act at once: tests use them
as "somebody else". `tests/fakes/client.py` has clients of it.
"""

import asyncio
import heapq
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import Any, TypeVar

import msgspec

from mooring.client.contract import EVERYTHING, Change, ChangeType, Listing, Scope
from mooring.clock import Clock
from mooring.errors import AlreadyExists, Conflict, Expired, MooringError, NotFound
from mooring.model.keys import Key
from mooring.model.meta import ApiObject, Resource
from mooring.model.selector import parse_fields, parse_labels
from mooring.model.timestamp import to_seconds
from mooring.model.wire import read_document

Doc = dict[str, Any]
T = TypeVar("T", bound=ApiObject)


class Cursor:
    """Where a watch is in the history."""

    def __init__(self, server: "FakeServer", position: int) -> None:
        self.stirred = asyncio.Event()  # there may be something new
        self.owes_bookmark = False
        self._server = server
        self._position = position

    def next(self, kind: type[T], scope: Scope) -> Change[T] | None:
        """The next change; None when all are told. Raises: Expired."""
        server = self._server
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
        self.streams: list[Cursor] = []
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
            "managedFields": [{"manager": "mooring", "fieldsV1": {"f:spec": {}}}],
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
