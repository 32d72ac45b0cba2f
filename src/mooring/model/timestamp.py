"""Timestamps in their wire formats."""

from datetime import UTC, datetime, timedelta


def to_seconds(moment: datetime) -> str:
    """RFC 3339 in UTC, whole seconds: `metav1.Time` on the wire."""
    return moment.isoformat(timespec="seconds")[:19] + "Z"


def to_micros(moment: datetime) -> str:
    """RFC 3339 in UTC with six fraction digits: `metav1.MicroTime` on the wire."""
    return moment.isoformat(timespec="microseconds")[:26] + "Z"


_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


def shifted(moment: datetime, seconds: float) -> datetime:
    """So many seconds later, or earlier; no further than there are dates."""
    try:
        return moment + timedelta(seconds=seconds)
    except OverflowError:
        return _LAST if seconds > 0 else _FIRST
