"""The options of a request for a container's log, read from its query."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import msgspec

from mooring.model.pod_log_options import ALL_STREAMS, PodLogOptions, validate_pod_log_options
from mooring.node.server.refusal import Refusal

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)")
_FALSE = {"", "0", "false"}


def log_options(query: Mapping[str, str], now: datetime) -> PodLogOptions:
    """With `sinceSeconds` as the time that it means now. Raises: Refusal."""
    tail = query.get("tail") or query.get("tailLines")
    since = query.get("sinceTime")
    options = PodLogOptions(
        follow=_flag(query, "follow"),
        previous=_flag(query, "previous"),
        timestamps=_flag(query, "timestamps"),
        tail_lines=None if tail == "all" else _integer(tail),
        since_seconds=_integer(query.get("sinceSeconds")),
        since_time=nanoseconds(since) if since else None,
        limit_bytes=_integer(query.get("limitBytes")),
        stream=query.get("stream") or ALL_STREAMS,
    )
    if any(validate_pod_log_options(options)):
        raise Refusal(422, '{"message": "Invalid request."}')
    if options.since_seconds is None:
        return options
    return msgspec.structs.replace(
        options, since_seconds=None, since_time=_before(now, options.since_seconds)
    )


def _before(now: datetime, seconds: int) -> int:
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


def _unreadable() -> Refusal:
    return Refusal(400, '{"message": "Unable to decode query."}')
