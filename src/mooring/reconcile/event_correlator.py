"""What becomes of an event that happens again and again: counted, combined, or left out.

The limits are those of Kubernetes' own recorder. The same event again raises the count of the
Event that was written. Ten that differ only in their message, none more than ten minutes after the
one before, are combined into one. About one object, 25 of a type may be written, and one more every
five minutes.

Decisions only: time is passed in, and what is remembered is bounded.
"""

from collections import OrderedDict
from collections.abc import Hashable
from datetime import datetime
from typing import Generic, TypeVar

import msgspec

from mooring.model.event import Event
from mooring.model.reference import ObjectReference

MOST_REMEMBERED = 4096
SIMILAR_COMBINED = 10
SIMILAR_SECONDS = 600.0
BURST = 25
SECONDS_PER_TOKEN = 300.0
COMBINED = "(combined from similar events): "

V = TypeVar("V")


class Occurrence(msgspec.Struct, frozen=True):
    """Something happened once."""

    about: ObjectReference
    type: str  # Normal or Warning
    reason: str
    message: str
    at: datetime


class CorrelatedEvent(msgspec.Struct):
    """An Event as it shall be in the API, after the latest occurrence."""

    latest: Occurrence
    message: str
    first: datetime
    count: int = 1
    name: str = ""
    written: Event | None = None  # as it is in the API; None when it was never written


class EventCorrelator:
    """Remembers what happened, and judges what happens next."""

    def __init__(self) -> None:
        self._similar: _Recent[_Similar] = _Recent()
        self._budgets: _Recent[_Budget] = _Recent()
        self._correlated: _Recent[CorrelatedEvent] = _Recent()

    def judge(self, event: Occurrence, now: float) -> CorrelatedEvent | None:
        """The Event to write; None: none. `now` is in seconds and never goes back.

        An occurrence that is left out is counted all the same, and shows in the next event.
        """
        about = event.about
        identity = (about.kind, about.namespace, about.name, about.uid, about.api_version)
        subject = (*identity, event.type)
        topic = (*subject, event.reason)
        similar = self._similar.find(topic) or self._similar.keep(topic, _Similar())
        if similar.is_crowd(event.message, now):
            correlated = self._count(topic, event, COMBINED + event.message)
        else:
            correlated = self._count(
                (*topic, about.field_path, event.message), event, event.message
            )
        budget = self._budgets.find(subject) or self._budgets.keep(subject, _Budget())
        return correlated if budget.spend(now) else None

    def _count(self, key: Hashable, event: Occurrence, message: str) -> CorrelatedEvent:
        correlated = self._correlated.find(key)
        if correlated is None:
            return self._correlated.keep(key, CorrelatedEvent(event, message, event.at))
        correlated.latest, correlated.message = event, message
        correlated.count += 1
        return correlated


class _Similar:
    """The different messages of one topic."""

    __slots__ = ("last", "messages")

    def __init__(self) -> None:
        self.messages: set[str] = set()
        self.last = 0.0

    def is_crowd(self, message: str, now: float) -> bool:
        if now - self.last > SIMILAR_SECONDS:
            self.messages.clear()
        self.last = now
        if message in self.messages:
            return False
        if len(self.messages) + 1 < SIMILAR_COMBINED:
            self.messages.add(message)
            return False
        return True


class _Budget:
    """A bucket of tokens that starts full and fills slowly."""

    __slots__ = ("at", "tokens")

    def __init__(self) -> None:
        self.tokens = float(BURST)
        self.at: float | None = None

    def spend(self, now: float) -> bool:
        if self.at is not None:
            self.tokens = min(BURST, self.tokens + (now - self.at) / SECONDS_PER_TOKEN)
        self.at = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True


class _Recent(Generic[V]):
    """A bounded memory: what was not asked for longest is forgotten first."""

    def __init__(self) -> None:
        self._values: OrderedDict[Hashable, V] = OrderedDict()

    def find(self, key: Hashable) -> V | None:
        value = self._values.get(key)
        if value is not None:
            self._values.move_to_end(key)
        return value

    def keep(self, key: Hashable, value: V) -> V:
        self._values[key] = value
        if len(self._values) > MOST_REMEMBERED:
            self._values.popitem(last=False)
        return value
