"""Points in time out of records of different exactness. Pure.

Objects tell whole seconds, cut off. Events of Kubernetes' recorders have the nanosecond of their
birth in their names. CSI calls are exact.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import msgspec

from mooring.timeline.picture import Event, FieldsOwner

SECOND = timedelta(seconds=1)
_HEX_DIGITS = 16  # of nanoseconds since 1970, until the year 2554
_TOLERANCE = timedelta(seconds=2)


class Moment(msgspec.Struct, frozen=True):
    at: datetime
    source: str  # what says so
    is_exact: bool = True  # else it is within the second that begins there


def whole(at: datetime | None, source: str) -> Moment | None:
    """Of an object's timestamp."""
    return None if at is None else Moment(at, source, is_exact=False)


def of_event(event: Event) -> Moment | None:
    source = f"event {event.reason}"
    if event.event_time is not None:
        return Moment(event.event_time, source)
    first = event.first_timestamp
    born = _born(event.metadata.name)
    if born is not None and (first is None or abs(born - first) <= _TOLERANCE):
        return Moment(born, source)
    return whole(first, source)


def first_event(events: Iterable[Event], uid: str, reason: str, words: str = "") -> Moment | None:
    """The earliest event of this object and reason, whose message has these words."""
    found = [
        moment
        for event in events
        if event.involved_object.uid == uid and event.reason == reason and words in event.message
        if (moment := of_event(event)) is not None
    ]
    return min(found, key=lambda one: one.at, default=None)


def written(owners: Iterable[FieldsOwner], source: str, *path: str) -> Moment | None:
    """When the field at `path` was last written by its owner, at the latest."""
    times = [owner.time for owner in owners if owner.time is not None and owner.has(*path)]
    return whole(min(times, default=None), f"{source} managedFields {'.'.join(path)}")


def best(*candidates: Moment | None) -> Moment | None:
    """The first that is exact, else the first of all."""
    known = [one for one in candidates if one is not None]
    return next((one for one in known if one.is_exact), known[0] if known else None)


def not_before(moment: Moment | None, floor: Moment | None) -> Moment | None:
    """One within its second, moved behind what must have come first, if that is in this second."""
    if moment is None or floor is None or moment.is_exact or floor.at <= moment.at:
        return moment
    if floor.at - moment.at < SECOND:
        return msgspec.structs.replace(moment, at=floor.at)
    return moment


def _born(name: str) -> datetime | None:
    digits = name.rpartition(".")[2]
    if len(digits) != _HEX_DIGITS or any(digit not in "0123456789abcdef" for digit in digits):
        return None
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=int(digits, 16) // 1000)
