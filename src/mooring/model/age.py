"""Durations as kubectl prints them in its Age columns."""

from datetime import datetime, timedelta

_MINUTE = 60
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
_YEAR = 365 * _DAY

UNKNOWN = "<unknown>"
INVALID = "<invalid>"


def age(since: str, now: str) -> str:
    """The time from `since` to `now`, both RFC 3339; an empty `since` is unknown."""
    if not since:
        return UNKNOWN
    elapsed = datetime.fromisoformat(now) - datetime.fromisoformat(since)
    return duration(elapsed / timedelta(seconds=1))


def duration(seconds: float) -> str:
    """Two or three significant figures: the longer the duration, the coarser its unit.

    Clocks differ, so up to two seconds in the future still count as now.
    """
    whole = int(seconds)
    if whole < -1:
        return INVALID
    if whole < 2 * _MINUTE:
        return f"{max(whole, 0)}s"
    if whole < 10 * _MINUTE:
        return _two_units(whole, _MINUTE, "m", 1, "s")
    if whole < 3 * _HOUR:
        return f"{whole // _MINUTE}m"
    if whole < 8 * _HOUR:
        return _two_units(whole, _HOUR, "h", _MINUTE, "m")
    if whole < 2 * _DAY:
        return f"{whole // _HOUR}h"
    if whole < 8 * _DAY:
        return _two_units(whole, _DAY, "d", _HOUR, "h")
    if whole < 2 * _YEAR:
        return f"{whole // _DAY}d"
    if whole < 8 * _YEAR:
        return _two_units(whole, _YEAR, "y", _DAY, "d")
    return f"{whole // _YEAR}y"


def _two_units(whole: int, large: int, large_sign: str, small: int, small_sign: str) -> str:
    rest = whole % large // small
    return f"{whole // large}{large_sign}" + (f"{rest}{small_sign}" if rest else "")
