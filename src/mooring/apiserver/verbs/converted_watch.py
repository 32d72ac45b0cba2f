"""A watch of objects that a conversion webhook brings to the version that is watched.

While it is asked, there is nothing to poll; then the watcher is called, as after a change. So a
webhook that hangs holds up its own watchers alone, and events stay in order.
"""

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.store.contract import Entry, Event, Watch
from mooring.apiserver.verbs.backend import Backend
from mooring.apiserver.webhooks.conversions import Conversions
from mooring.errors import ApiError


def open_watch(
    backend: Backend,
    kind: Kind,
    prefix: str,
    after: int,
    on_change: Callable[[], None],
    *,
    with_previous: bool,
) -> Watch:
    """Changes behind revision `after`, with their objects as `kind` shows them.

    `with_previous`: the states before the changes, too. Raises: Compacted.
    """
    watch = backend.store.watch(kind.store_table, after, on_change)
    if kind.stored_as is None or kind.stored_as.webhook is None:
        return watch
    changes = _Changes(kind, prefix, with_previous=with_previous)
    return ConvertedWatch(watch, changes, backend.conversions, on_change)


class _Changes:
    """The changes of one kind that one watcher is to see."""

    def __init__(self, kind: Kind, prefix: str, *, with_previous: bool) -> None:
        self.kind = kind
        self._prefix = prefix
        self._with_previous = with_previous

    def mine(self, events: Sequence[Event]) -> list[Event]:
        prefix = self._prefix
        return [event for event in events if event.entry.name.startswith(prefix)]

    def entries(self, events: Sequence[Event]) -> list[Entry]:
        """All that is to be converted for them."""
        out = [event.entry for event in events]
        if self._with_previous:
            out += [event.previous for event in events if event.previous is not None]
        return out

    def shown(self, events: Sequence[Event], entries: Sequence[Entry]) -> list[Event]:
        """The events with those entries instead."""
        befores = iter(entries[len(events) :])
        out = []
        for event, entry in zip(events, entries, strict=False):
            previous = event.previous
            if self._with_previous and previous is not None:
                previous = next(befores)
            out.append(msgspec.structs.replace(event, entry=entry, previous=previous))
        return out


class ConvertedWatch:
    """Implements `store.contract.Watch`."""

    def __init__(
        self,
        watch: Watch,
        changes: _Changes,
        conversions: Conversions,
        on_change: Callable[[], None],
    ) -> None:
        self._watch = watch
        self._changes = changes
        self._conversions = conversions
        self._on_change = on_change
        self._revision = watch.revision  # before the events that are being converted
        self._ready: list[Event] | ApiError | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def revision(self) -> int:
        is_waiting = self._task is not None or self._ready is not None
        return self._revision if is_waiting else self._watch.revision

    def poll(self, most: int = 1000, size: int = 0) -> Sequence[Event]:
        """Raises: Compacted; ServerError when an object cannot be converted."""
        if self._task is not None:
            return ()
        if isinstance(self._ready, ApiError):
            raise self._ready
        if self._ready is not None:
            ready, self._ready = self._ready, None
            return ready
        while True:
            self._revision = self._watch.revision
            found = self._watch.poll(most, size)
            if not found:
                return ()
            events = self._changes.mine(found)
            if not events:
                continue
            entries = self._changes.entries(events)
            shown = self._conversions.known(self._changes.kind, entries)
            if shown is not None:
                return self._changes.shown(events, shown)
            self._task = asyncio.get_running_loop().create_task(self._convert(events, entries))
            return ()

    def close(self) -> None:
        self._watch.close()
        if self._task is not None:
            self._task.cancel()

    async def _convert(self, events: list[Event], entries: list[Entry]) -> None:
        try:
            shown = await self._conversions.readable(self._changes.kind, entries)
            self._ready = self._changes.shown(events, shown)
        except ApiError as error:
            self._ready = error
        self._task = None
        self._on_change()
