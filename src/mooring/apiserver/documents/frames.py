"""The newest watch frames, kept for the other watchers that want the very same bytes.

After a commit every watcher of a kind polls in turn; those at the same position share one frame,
also while it waits for clients that do not read.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.store.contract import Event

MOST_KEPT = 8  # frames: of some namespaces, and of all


class Framed(NamedTuple):
    chunk: bytes  # empty when none of the events is the watcher's
    events: int


Key = tuple[Kind, str, int, int]


class Frames:
    """`framed` is how the transport wraps a piece of a stream."""

    def __init__(self, framed: Callable[[bytes], bytes]) -> None:
        self._framed = framed
        self._kept: dict[Key, Framed] = {}  # the oldest first

    def of(
        self, kind: Kind, prefix: str, events: Sequence[Event], line: Callable[[Event], bytes]
    ) -> Framed:
        """The frame for `events` (not empty) whose names begin with `prefix`, made with `line`
        unless it is known."""
        key = (kind, prefix, events[0].revision, events[-1].revision)
        known = self._kept.get(key)
        if known is None:
            if prefix:
                events = [event for event in events if event.entry.name.startswith(prefix)]
            made = self._framed(b"".join(map(line, events))) if events else b""
            known = Framed(made, len(events))
            if len(self._kept) >= MOST_KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = known
        return known
