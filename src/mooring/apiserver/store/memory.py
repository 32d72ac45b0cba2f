"""The engine that forgets: everything in memory, committed at once. For tests."""

from mooring.apiserver.store.contract import Decide, Entry, Event, Put, Remove
from mooring.apiserver.store.history import DEFAULT_LIMITS, Limits
from mooring.apiserver.store.timeline import Timeline
from mooring.clock import Clock


class MemoryStore(Timeline):
    def __init__(self, clock: Clock, limits: Limits = DEFAULT_LIMITS) -> None:
        super().__init__(clock, limits)

    async def write(self, table: str, name: str, decide: Decide) -> Entry | None:
        self.check_open()
        current = self.get(table, name)
        change = decide(current)
        revision = self.revision + 1
        match change:
            case Put():
                entry = Entry(table, name, change.stamp(revision), revision)
                self.apply((Event(revision, entry, current),))
                return entry
            case Remove(last) if current is not None:
                entry = Entry(table, name, last.stamp(revision), revision)
                self.apply((Event(revision, entry, current, deleted=True),))
                return entry
            case _:  # keep, or nothing there to remove
                return current
