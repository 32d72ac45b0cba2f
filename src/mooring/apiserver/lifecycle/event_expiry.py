"""Events are deleted an hour after they were last written."""

import msgspec

from mooring.apiserver.documents.document import decode
from mooring.apiserver.documents.following import Follower
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.store.contract import Change, Entry, Event, Remove
from mooring.apiserver.verbs.backend import Backend
from mooring.apiserver.verbs.changing import stored_form
from mooring.errors import StoreError
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.worker import Again, Settled, Verdict, serve

TIME_TO_LIVE = 3600.0
STORE_AGAIN = 10.0  # seconds: a database that refuses one removal refuses all of them


class _Written(msgspec.Struct, frozen=True):
    """How an event was last seen."""

    kind: Kind
    revision: int
    due: float  # by the monotonic clock


EventKey = tuple[str, str]  # table and name


class EventExpiry:
    def __init__(self, backend: Backend) -> None:
        self.queue: KeyedQueue[EventKey] = KeyedQueue(backend.clock)
        self._backend = backend
        self._written: dict[EventKey, _Written] = {}
        self._store_again = 0.0  # not before this is the database asked again

    async def run(self) -> None:
        """Remove old events until cancelled; sleeps while there is none."""
        with Follower(self._backend.store, self._backend.kinds, self._see, self._change, _is_event):
            await serve(self.queue, self._reconcile)

    def _see(self, kind: Kind, entry: Entry) -> None:
        key = (entry.table, entry.name)
        due = self._backend.clock.monotonic() + TIME_TO_LIVE
        is_new = key not in self._written
        self._written[key] = _Written(kind, entry.revision, due)
        if is_new:  # else it is looked at when its first hour is over, and put off then
            self.queue.add_after(key, TIME_TO_LIVE)

    def _change(self, kind: Kind, event: Event) -> None:
        if not event.deleted:
            self._see(kind, event.entry)

    async def _reconcile(self, key: EventKey) -> Verdict:
        written = self._written.get(key)
        if written is None:
            return Settled()
        left = max(written.due, self._store_again) - self._backend.clock.monotonic()
        if left > 0:
            return Again(left)
        try:
            await self._remove(key, written)
        except StoreError:
            self._store_again = self._backend.clock.monotonic() + STORE_AGAIN
            raise
        if self._written.get(key) is written:
            del self._written[key]
            return Settled()
        return Again(TIME_TO_LIVE)

    async def _remove(self, key: EventKey, written: _Written) -> None:
        def decide(entry: Entry | None) -> Change:
            if entry is None or entry.revision != written.revision:
                return None  # gone, or written again since: that write has its own hour
            return Remove(stored_form(written.kind, decode(written.kind, entry)))

        await self._backend.store.write(*key, decide)


def _is_event(kind: Kind) -> bool:
    return kind.resource == "events"
