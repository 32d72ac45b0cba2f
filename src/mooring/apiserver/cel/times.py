"""Timestamps and durations: read and written as Go does, exact to the nanosecond."""

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from zoneinfo import ZoneInfo

from mooring.apiserver.cel.errors import CelError
from mooring.apiserver.cel.values import INT_MAX, INT_MIN, Duration, Timestamp

SECOND = 10**9
_FIRST, _LAST = -62135596800 * SECOND, 253402300800 * SECOND - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3600 * SECOND,
}
_part = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_moment = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?"
    r"(Z|[+-][0-9]{2}:[0-9]{2})",
    re.ASCII,
)
_MOST_DIGITS = 64


def timestamp(nanos: int) -> Timestamp:
    if not _FIRST <= nanos <= _LAST:
        raise CelError("timestamp overflow")
    return Timestamp(nanos)


def duration(nanos: int) -> Duration:
    if not INT_MIN <= nanos <= INT_MAX:
        raise CelError("duration overflow")
    return Duration(nanos)


def parse_duration(text: str) -> Duration:
    wrong = CelError("type conversion error from 'string' to 'google.protobuf.Duration'")
    sign, rest = (-1, text[1:]) if text[:1] == "-" else (1, text.removeprefix("+"))
    if rest == "0":
        return Duration(0)
    total, at = Decimal(0), 0
    while at < len(rest):
        match = _part.match(rest, at)
        if match is None or len(match.group(1)) > _MOST_DIGITS:
            raise wrong
        total += int(Decimal(match.group(1)) * _UNITS[match.group(2)])
        at = match.end()
        if total > INT_MAX + 1:
            raise wrong
    nanos = sign * int(total)
    if not rest or not INT_MIN <= nanos <= INT_MAX:
        raise wrong
    return Duration(nanos)


def parse_timestamp(text: str) -> Timestamp:
    wrong = CelError("type conversion error from 'string' to 'google.protobuf.Timestamp'")
    match = _moment.fullmatch(text)
    if match is None:
        raise wrong
    *parts, fraction, zone = match.groups()
    offset = 0
    if zone != "Z":
        hours, minutes = int(zone[1:3]), int(zone[4:6])
        if hours > 23 or minutes > 59:
            raise wrong
        offset = (hours * 60 + minutes) * (-60 if zone[0] == "-" else 60)
    try:
        moment = datetime(*map(int, parts), tzinfo=UTC)  # type: ignore[misc, arg-type]
    except ValueError:
        if int(parts[0]) == 0:
            raise CelError("timestamp overflow") from None
        raise wrong from None
    seconds = (moment - _EPOCH) // timedelta(seconds=1) - offset
    nanos = seconds * SECOND + int((fraction or "0")[:9].ljust(9, "0"))
    return Timestamp(timestamp(nanos).nanos, offset)


def timestamp_text(moment: Timestamp) -> str:
    seconds, nanos = divmod(moment.nanos, SECOND)
    try:
        whole = (_EPOCH + timedelta(seconds=seconds + moment.east)).isoformat()[:19]
    except OverflowError:
        raise CelError("timestamp overflow") from None
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    minutes = abs(moment.east) // 60
    zone = f"{'-' if moment.east < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"
    return f"{whole}{fraction}{zone if moment.east else 'Z'}"


def duration_text(length: Duration) -> str:
    seconds, nanos = divmod(abs(length.nanos), SECOND)
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    return f"{'-' if length.nanos < 0 else ''}{seconds}{fraction}s"


def local(moment: Timestamp, zone: str = "UTC") -> datetime:
    """The moment in a zone: by its name, or as `+01:00`."""
    try:
        return (_EPOCH + timedelta(microseconds=moment.nanos // 1000)).astimezone(_zone(zone))
    except (OverflowError, ValueError):
        raise CelError("timestamp overflow") from None


def _zone(zone: str) -> tzinfo:
    if zone in ("", "UTC"):
        return UTC
    hours, colon, minutes = zone.partition(":")
    if not colon:
        try:
            return ZoneInfo(zone)
        except (OSError, ValueError, KeyError):
            raise CelError(f"unknown time zone {zone}") from None
    if not re.fullmatch(r"[+-]?[0-9]{1,2}", hours) or not re.fullmatch(r"[0-9]{1,2}", minutes):
        wrong = hours if not re.fullmatch(r"[+-]?[0-9]{1,2}", hours) else minutes
        raise CelError(f'strconv.Atoi: parsing "{wrong}": invalid syntax')
    total = abs(int(hours)) * 60 + int(minutes)
    if total >= 24 * 60:
        raise CelError(f"unknown time zone {zone}")
    return timezone(timedelta(minutes=-total if hours.startswith("-") else total))
