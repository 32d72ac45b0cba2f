"""The state in memory that all engines serve reads and watches from.

Per table: the newest version of every object in name order, and its recent changes. A read at an
older revision takes the newest state and undoes the changes since. A watch is a position in the
changes: a slow watcher costs nothing, and learns with Compacted when it was overtaken.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import merge
from itertools import islice

from mooring.apiserver.store.contract import FIRST_REVISION, Entry, Event, Page
from mooring.apiserver.store.history import Changes, Limits, Retention
from mooring.apiserver.store.named import NamedEntries
from mooring.clock import Clock
from mooring.errors import Compacted, FutureRevision, StoreError
from mooring.reconcile.poison import shielded


class _Table:
    __slots__ = ("changes", "entries", "name", "watches")

    def __init__(self, name: str, entries: Mapping[str, Entry]) -> None:
        self.name = name
        self.entries = NamedEntries(entries)
        self.changes = Changes()
        self.watches: dict[TableWatch, None] = {}  # in order of arrival

    def notify(self) -> None:
        for watch in tuple(self.watches):
            if watch not in self.watches:  # closed by a callback before this one
                continue
            shielded(self.name, watch.on_change)  # of the others, none shall starve


class TableWatch:
    """A position in a table's changes."""

    def __init__(
        self, timeline: "Timeline", table: _Table, after: int, on_change: Callable[[], None]
    ) -> None:
        self._timeline = timeline
        self._table = table
        self._seen = after
        self._position = table.changes.position_after(after)
        self.on_change = on_change
        table.watches[self] = None

    @property
    def revision(self) -> int:
        changes = self._table.changes
        if self._position >= changes.end:
            return max(self._seen, self._timeline.revision)
        if self._position < changes.first:
            return self._seen
        return max(self._seen, changes.slice(self._position, 1)[0].revision - 1)

    def poll(self, most: int = 1000, size: int = 0) -> Sequence[Event]:
        changes = self._table.changes
        if self._position < changes.first:
            raise Compacted(self._seen, self._timeline.oldest)
        events = changes.slice(self._position, most)
        if events and events[0].revision <= self._seen:  # the watch began in the future
            self._position = changes.position_after(self._seen)
            events = changes.slice(self._position, most)
        if size and len(events) > 1:
            events = _first_bytes(events, size)
        self._position += len(events)
        self._seen = self.revision
        return events

    def close(self) -> None:
        self._table.watches.pop(self, None)


class Timeline:
    """All tables, and the one revision they share. An engine derives from it and adds `write`."""

    def __init__(self, clock: Clock, limits: Limits) -> None:
        self._clock = clock
        self._tables: dict[str, _Table] = {}
        self._revision = FIRST_REVISION
        self._oldest = FIRST_REVISION
        self._retention = Retention(limits)
        self._waiting: dict[asyncio.Future[None], int] = {}
        self._open = True

    def load(self, tables: Mapping[str, Mapping[str, Entry]], revision: int) -> None:
        """Begin with this state and no history."""
        self._tables = {table: _Table(table, entries) for table, entries in tables.items()}
        self._revision = self._oldest = revision

    def apply(self, events: Sequence[Event]) -> None:
        """Make the changes of one commit readable, and wake the watchers."""
        touched: dict[str, _Table] = {}
        size = 0
        for event in events:
            entry = event.entry
            table = touched.get(entry.table)
            if table is None:
                table = touched[entry.table] = self._table(entry.table)
            table.changes.append(event)
            if event.previous is not None:
                size += len(event.previous.value)
            if event.deleted:
                size += len(entry.value)
                table.entries.remove(entry.name)
            else:
                table.entries.put(entry)
        self._revision = events[-1].revision
        now = self._clock.monotonic()
        self._retention.add(self._revision, len(events), size, now)
        if horizon := self._retention.horizon(now):
            self._forget(horizon)
        self._wake()
        for table in touched.values():
            table.notify()

    def advance(self, revision: int) -> None:
        """Nothing has changed up to `revision`: somebody else's keys took the revisions between."""
        if revision > self._revision:
            self._revision = revision
            self._wake()

    def restart(self, tables: Mapping[str, Mapping[str, Entry]], revision: int) -> None:
        """Go on with this state; how it came about is unknown, so all history is forgotten.

        Watches that poll when they are called back see the differences, without the states in
        between; all others are told that they fell behind.
        """
        for name in {*self._tables, *tables}:
            table = self._table(name)
            for event in _differences(table.entries, tables.get(name, {}), revision):
                table.changes.append(event)
                if event.deleted:
                    table.entries.remove(event.entry.name)
                else:
                    table.entries.put(event.entry)
        self._revision = revision
        for table in self._tables.values():
            table.notify()
        self._retention.forget(revision)
        self._oldest = revision
        for table in self._tables.values():
            table.changes.interrupt()
        self._wake()
        for table in self._tables.values():
            table.notify()

    @property
    def revision(self) -> int:
        return self._revision

    @property
    def oldest(self) -> int:
        return self._oldest

    @property
    def trouble(self) -> str | None:
        return None if self._open else "the store is closed"

    @property
    def is_shared(self) -> bool:
        return False

    def get(self, table: str, name: str) -> Entry | None:
        known = self._tables.get(table)
        return None if known is None else known.entries.get(name)

    def range(
        self, table: str, prefix: str = "", *, after: str = "", limit: int = 0, revision: int = 0
    ) -> Page:
        if revision:
            self._check(revision)
        known = self._tables.get(table)
        as_of = revision or self._revision
        if known is None:
            return Page([], as_of, more=False, remaining=0)
        low, high = known.entries.bounds(prefix, after)
        if as_of == self._revision:
            stop = min(high, low + limit) if limit else high
            entries = list(map(known.entries.__getitem__, known.entries.names(low, stop)))
            return Page(entries, as_of, more=stop < high, remaining=high - stop)
        past = _Past(known, as_of, lambda name: name.startswith(prefix) and name > after)
        total = past.total(high - low)
        entries = list(islice(past.entries(known.entries.names(low, high)), limit or None))
        remaining = total - len(entries)
        return Page(entries, as_of, more=remaining > 0, remaining=remaining)

    def count(self, table: str) -> int:
        known = self._tables.get(table)
        return 0 if known is None else len(known.entries)

    def tables(self) -> Sequence[str]:
        return sorted(name for name, table in self._tables.items() if table.entries)

    def watch(self, table: str, after: int, on_change: Callable[[], None]) -> TableWatch:
        if after < self._oldest:
            raise Compacted(after, self._oldest)
        return TableWatch(self, self._table(table), after, on_change)

    async def catch_up(self) -> None:
        """Nothing is acknowledged before it is readable here."""

    async def wait_for(self, revision: int) -> None:
        if self._revision >= revision:
            return
        self.check_open()
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[future] = revision
        try:
            await future
        finally:
            self._waiting.pop(future, None)

    async def compact(self, revision: int) -> None:
        if revision > self._revision:
            raise FutureRevision(revision, self._revision)
        if revision > self._oldest:
            self._retention.forget(revision)
            self._forget(revision)

    async def close(self) -> None:
        self._open = False
        for future in self._waiting:
            if not future.done():
                future.set_exception(_closed())

    def check_open(self) -> None:
        if not self._open:
            raise _closed()

    def _table(self, name: str) -> _Table:
        table = self._tables.get(name)
        if table is None:
            table = self._tables[name] = _Table(name, {})
        return table

    def _check(self, revision: int) -> None:
        if revision < self._oldest:
            raise Compacted(revision, self._oldest)
        if revision > self._revision:
            raise FutureRevision(revision, self._revision)

    def _forget(self, revision: int) -> None:
        self._oldest = revision
        for table in self._tables.values():
            table.changes.forget(revision)

    def _wake(self) -> None:
        for future, revision in self._waiting.items():
            if revision <= self._revision and not future.done():
                future.set_result(None)


def _differences(
    before: Mapping[str, Entry], after: Mapping[str, Entry], revision: int
) -> list[Event]:
    """What leads from one state of a table to another: deletions first, then by revision."""
    gone = [
        Event(revision, entry, entry, deleted=True)
        for name, entry in before.items()
        if name not in after
    ]
    changed = [
        Event(entry.revision, entry, before.get(name))
        for name, entry in after.items()
        if name not in before or before[name].revision != entry.revision
    ]
    return gone + sorted(changed, key=lambda event: event.revision)


class _Past:
    """A table as it was: the newest state with the changes since `revision` undone."""

    def __init__(self, table: _Table, revision: int, in_range: Callable[[str], bool]) -> None:
        self._newest = table.entries
        self._undone: dict[str, Entry | None] = {}
        for event in table.changes.after(revision):
            if in_range(event.entry.name):
                self._undone.setdefault(event.entry.name, event.previous)

    def total(self, newest: int) -> int:
        """How many there were, when there are `newest` now."""
        for name, entry in self._undone.items():
            newest += (entry is not None) - (name in self._newest)
        return newest

    def entries(self, names: Iterable[str]) -> Iterator[Entry]:
        """What `names`, the newest in range, and those deleted since were then; in name order."""
        gone = sorted(name for name in self._undone if name not in self._newest)
        for name in merge(names, gone):
            entry = self._undone[name] if name in self._undone else self._newest[name]
            if entry is not None:
                yield entry


def _first_bytes(events: Sequence[Event], size: int) -> Sequence[Event]:
    """The first of them, until they come to `size`; one at least."""
    for count, event in enumerate(events, 1):
        size -= len(event.entry.value)
        if size <= 0:
            return events[:count]
    return events


def _closed() -> StoreError:
    return StoreError("the store is closed")
