"""Events are news, not records: an hour after they were last written they go."""

import asyncio
from collections import deque

from mooring.apiserver.backend import Backend
from mooring.apiserver.document import decode
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.lifecycle.following import Follower
from mooring.apiserver.store.contract import Change, Entry, Event, Remove
from mooring.apiserver.verbs.changing import stored_form

TIME_TO_LIVE = 3600.0


class EventExpiry:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._due: deque[tuple[float, Kind, str, int]] = deque()  # in order of expiry
        self._arrived = asyncio.Event()

    async def run(self) -> None:
        """Remove old events until cancelled; sleeps while there is none."""
        clock = self._backend.clock
        with Follower(self._backend.store, self._backend.kinds, self._see, self._change, _is_event):
            while True:
                if not self._due:
                    self._arrived.clear()
                    await self._arrived.wait()
                at, kind, name, revision = self._due[0]
                if at > clock.monotonic():
                    await clock.sleep(at - clock.monotonic())
                    continue
                self._due.popleft()
                await self._expire(kind, name, revision)

    def _see(self, kind: Kind, entry: Entry) -> None:
        at = self._backend.clock.monotonic() + TIME_TO_LIVE
        self._due.append((at, kind, entry.name, entry.revision))
        self._arrived.set()

    def _change(self, kind: Kind, event: Event) -> None:
        if not event.deleted:
            self._see(kind, event.entry)

    async def _expire(self, kind: Kind, name: str, revision: int) -> None:
        def decide(entry: Entry | None) -> Change:
            if entry is None or entry.revision != revision:
                return None  # gone, or written again since: that write has its own hour
            return Remove(stored_form(kind, decode(kind, entry)))

        await self._backend.store.write(kind.store_table, name, decide)


def _is_event(kind: Kind) -> bool:
    return kind.plural == "events"
