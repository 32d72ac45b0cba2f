"""Timestamps in their wire formats."""

from datetime import datetime


def to_seconds(moment: datetime) -> str:
    """RFC 3339 in UTC, whole seconds: `metav1.Time` on the wire."""
    return moment.isoformat(timespec="seconds")[:19] + "Z"


def to_micros(moment: datetime) -> str:
    """RFC 3339 in UTC with six fraction digits: `metav1.MicroTime` on the wire."""
    return moment.isoformat(timespec="microseconds")[:26] + "Z"
