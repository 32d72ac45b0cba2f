"""The recent past: one table's changes in order, and how far back all tables remember."""

from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from operator import attrgetter

import msgspec

from mooring.apiserver.store.contract import Event

_REVISION = attrgetter("revision")

_BLOCKS = 32  # history is forgotten in about this many steps, so that each forgetting is cheap


class Changes:
    """The changes of one table, oldest first, forgotten from the front.

    A position counts changes since the table began, so it stays true when old ones are forgotten.
    """

    __slots__ = ("_events", "first")

    def __init__(self) -> None:
        self._events: list[Event] = []
        self.first = 0  # the position of the oldest change that is still known

    @property
    def end(self) -> int:
        """The position of the next change to come."""
        return self.first + len(self._events)

    def append(self, event: Event) -> None:
        self._events.append(event)

    def position_after(self, revision: int) -> int:
        return self.first + bisect_right(self._events, revision, key=_REVISION)

    def slice(self, position: int, most: int) -> Sequence[Event]:
        """At most `most` changes from `position`, which must still be known."""
        start = position - self.first
        return self._events[start : start + most]

    def after(self, revision: int) -> Sequence[Event]:
        """Every known change behind `revision`."""
        return self._events[bisect_right(self._events, revision, key=_REVISION) :]

    def interrupt(self) -> None:
        """Drop all of them, and let no position of before count as up to date."""
        self.first += len(self._events) + 1
        self._events.clear()

    def forget(self, revision: int) -> None:
        """Drop the changes up to and with `revision`."""
        count = bisect_right(self._events, revision, key=_REVISION)
        del self._events[:count]
        self.first += count


class Limits(msgspec.Struct, frozen=True):
    """How much history is kept: `seconds` of it, unless it outgrows `events` or `size` first."""

    seconds: float = 300
    events: int = 200_000
    size: int = 32 << 20  # bytes of values that no current object holds


DEFAULT_LIMITS = Limits()


class _Block(msgspec.Struct):
    """A run of changes that is forgotten as one."""

    began: float
    ended: float
    last: int = 0  # revision
    events: int = 0
    size: int = 0


class Retention:
    """Says how far back history may reach: decides, forgets nothing itself."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._blocks: deque[_Block] = deque()
        self._events = 0
        self._size = 0

    def add(self, last: int, events: int, size: int, now: float) -> None:
        """Count the changes of one commit, up to revision `last`."""
        block = self._blocks[-1] if self._blocks else None
        if block is None or self._is_full(block, now):
            block = _Block(began=now, ended=now)
            self._blocks.append(block)
        block.last, block.ended = last, now
        block.events += events
        block.size += size
        self._events += events
        self._size += size

    def horizon(self, now: float) -> int:
        """Forget up to this revision (0: nothing)."""
        horizon = 0
        while self._blocks and self._is_due(self._blocks[0], now):
            horizon = self._blocks[0].last
            self._drop_oldest()
        return horizon

    def forget(self, revision: int) -> None:
        """Count no longer what ends at or before `revision`.

        A block that `revision` cuts in two counts whole until its own end comes.
        """
        while self._blocks and self._blocks[0].last <= revision:
            self._drop_oldest()

    def _is_full(self, block: _Block, now: float) -> bool:
        limits = self._limits
        return (
            block.events * _BLOCKS >= limits.events
            or block.size * _BLOCKS >= limits.size
            or (now - block.began) * _BLOCKS >= limits.seconds
        )

    def _is_due(self, block: _Block, now: float) -> bool:
        limits = self._limits
        return (
            self._events > limits.events
            or self._size > limits.size
            or now - block.ended >= limits.seconds
        )

    def _drop_oldest(self) -> None:
        block = self._blocks.popleft()
        self._events -= block.events
        self._size -= block.size
