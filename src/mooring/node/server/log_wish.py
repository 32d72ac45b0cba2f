"""What of a container's log is asked for."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import msgspec

from mooring.node.server.refusal import Refusal

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_STREAMS = {"All": None, "Stdout": b"stdout", "Stderr": b"stderr"}
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)")
_FALSE = {"", "0", "false"}


class LogWish(msgspec.Struct, frozen=True):
    follows: bool = False
    previous: bool = False
    has_timestamps: bool = False
    tail: int | None = None  # lines from the end
    since: int | None = None  # nanoseconds since 1970
    most_bytes: int | None = None
    stream: bytes | None = None  # None: both


def log_wish(query: Mapping[str, str], now: datetime) -> LogWish:
    """Raises: Refusal."""
    tail = query.get("tail") or query.get("tailLines")
    wish = LogWish(
        follows=_flag(query, "follow"),
        previous=_flag(query, "previous"),
        has_timestamps=_flag(query, "timestamps"),
        tail=None if tail == "all" else _integer(tail),
        since=_since(query, now),
        most_bytes=_integer(query.get("limitBytes")),
        stream=_stream(query.get("stream") or "All"),
    )
    is_too_small = wish.most_bytes is not None and wish.most_bytes < 1
    if is_too_small or (wish.tail is not None and (wish.tail < 0 or wish.stream is not None)):
        raise _invalid()
    return wish


def _since(query: Mapping[str, str], now: datetime) -> int | None:
    seconds, moment = _integer(query.get("sinceSeconds")), query.get("sinceTime")
    if seconds is not None and moment:
        raise _invalid()
    if moment:
        return nanoseconds(moment)
    if seconds is None:
        return None
    if seconds < 1:
        raise _invalid()
    try:
        return (now - timedelta(seconds=seconds) - _EPOCH) // timedelta(microseconds=1) * 1000
    except OverflowError:  # before the year 1
        return 0


def nanoseconds(moment: str) -> int:
    """Since 1970, of a time in RFC 3339. Raises: Refusal."""
    matched = _TIME.fullmatch(moment)
    if matched is None:
        raise _unreadable()
    seconds, fraction, zone = matched.groups()
    try:
        at = datetime.fromisoformat(seconds + zone.replace("Z", "+00:00"))
    except ValueError as error:
        raise _unreadable() from error
    whole = (at - _EPOCH) // timedelta(seconds=1) * 10**9
    return whole + int(f"{(fraction or '.')[1:]:0<9}"[:9])


def _flag(query: Mapping[str, str], name: str) -> bool:
    return query.get(name, "").lower() not in _FALSE


def _integer(text: str | None) -> int | None:
    if not text:
        return None
    if not _INTEGER.fullmatch(text):
        raise _unreadable()
    return int(text)


def _stream(name: str) -> bytes | None:
    if name not in _STREAMS:
        raise _invalid()
    return _STREAMS[name]


def _unreadable() -> Refusal:
    return Refusal(400, '{"message": "Unable to decode query."}')


def _invalid() -> Refusal:
    return Refusal(422, '{"message": "Invalid request."}')
