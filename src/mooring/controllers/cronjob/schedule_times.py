"""Which time of a schedule is due, and when the next one comes."""

from datetime import datetime, timedelta

import msgspec

from mooring.model.cron import Schedule

MANY_MISSED = 100
DELTA = 0.1  # seconds by which one looks later than the schedule says: clocks differ


class Due(msgspec.Struct, frozen=True):
    at: datetime | None = None  # None: nothing is due
    missed_many: bool = False


def find_due(schedule: Schedule, since: datetime, now: datetime) -> Due:
    """The latest time after `since` that is not in the future. Raises: ValueError."""
    first = schedule.next_after(since)
    if first is None or now < first:
        return Due()
    second = schedule.next_after(first)
    if second is None or now < second:
        return Due(first)
    gap = (second - first).total_seconds()
    if gap < 1:
        raise ValueError("time difference between two schedules is less than 1 second")
    missed = int((now - first).total_seconds() // gap) + 1
    return Due(_latest(schedule, first, now, gap), missed > MANY_MISSED)


def _latest(schedule: Schedule, first: datetime, now: datetime, gap: float) -> datetime:
    """The last time up to now, of which `first` is one.

    Gaps are not all alike (`30 6-16/4 * * 1-5`): one goes back by ever more of them, until there is
    a time.
    """
    gaps = 2
    elapsed = (now - first).total_seconds()
    while elapsed - elapsed % gap - gaps * gap > 0:
        start = first + timedelta(seconds=elapsed - elapsed % gap - gaps * gap)
        found = schedule.next_after(start)
        if found is not None and found <= now:
            return _walked(schedule, found, now)
        gaps *= 2
    return _walked(schedule, first, now)


def _walked(schedule: Schedule, at: datetime, now: datetime) -> datetime:
    found = schedule.next_after(at)
    while found is not None and found <= now:
        at = found
        found = schedule.next_after(found)
    return at


def seconds_until_next(schedule: Schedule, since: datetime, now: datetime) -> float | None:
    """Until the first time after now; None: there is none."""
    start = since
    try:
        due = find_due(schedule, since, now)
    except ValueError:
        start = now
    else:
        if due.at is not None:
            start = due.at
        elif due.missed_many:
            start = now
    found = schedule.next_after(start)
    if found is not None and found <= now:
        found = schedule.next_after(now)
    return None if found is None else (found - now).total_seconds() + DELTA
