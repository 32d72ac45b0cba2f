"""Reading the log of CSI calls: which of them, as JSON, once or as a stream of changes.

The JSON is what `/mooring/v1/csi-calls` answers with; docs/csi-tools.md describes it.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

import msgspec

from mooring.clock import Clock
from mooring.csi.call_log import CallLog, TracedCall
from mooring.csi.call_record import CsiCall, CsiCallEvent, CsiCalls
from mooring.errors import UsageError

PATH = "/mooring/v1/csi-calls"
WATCHED_AT_ONCE = 256  # lines that a watcher gets before it is looked whether it reads

_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+)ms)?")
_PARAMETERS = frozenset({"since", "slow", "driver", "method", "volume", "limit", "watch"})
_YES = frozenset({"", "1", "true"})
_NO = frozenset({"0", "false"})


class Question(msgspec.Struct, frozen=True):
    """Which calls."""

    since: datetime | None = None
    slow_seconds: float = 0.0
    driver: str = ""
    method: str = ""
    volume: str = ""
    limit: int = 0  # 0: all that are kept
    watch: bool = False

    def picks(self, call: TracedCall, seconds: float) -> bool:
        service, _, name = call.method.rpartition("/")
        return (
            (not self.driver or call.driver == self.driver)
            and (not self.method or self.method in (name, f"{service[1:]}.{name}", call.method))
            and (not self.volume or call.volume == self.volume)
            and seconds >= self.slow_seconds
            and (self.since is None or call.started >= self.since or not call.number)
        )


def read_question(query: Mapping[str, str], now: datetime) -> Question:
    """Raises: UsageError, which says what is wrong with a parameter."""
    if unknown := sorted(query.keys() - _PARAMETERS):
        raise UsageError(f"unknown parameter {unknown[0]!r}: known are {sorted(_PARAMETERS)}")
    watch = query.get("watch", "0")
    if watch not in _YES | _NO:
        raise UsageError(f"watch={watch}: give 1 or 0")
    limit = query.get("limit", "") or "0"
    if not limit.isascii() or not limit.isdigit() or len(limit) > 6:
        raise UsageError(f"limit={limit}: give a number of calls")
    since, slow = query.get("since", ""), query.get("slow", "")
    return Question(
        since=read_moment("since", since, now) if since else None,
        slow_seconds=read_duration("slow", slow) if slow else 0.0,
        driver=query.get("driver", ""),
        method=query.get("method", ""),
        volume=query.get("volume", ""),
        limit=int(limit),
        watch=watch in _YES,
    )


def read_duration(name: str, text: str) -> float:
    """Seconds of `250ms`, `1.5s`, `10m`, `2h30m`. Raises: UsageError."""
    found = _DURATION.fullmatch(text) if text and len(text) <= 32 else None
    if found is None:
        raise UsageError(f"{name}={text}: give a duration such as 250ms, 1.5s, 10m or 2h")
    hours, minutes, seconds, milliseconds = (float(part or 0) for part in found.groups())
    return hours * 3600 + minutes * 60 + seconds + milliseconds / 1000


def read_moment(name: str, text: str, now: datetime) -> datetime:
    """So long ago, or a time in RFC 3339. Raises: UsageError."""
    if _DURATION.fullmatch(text):
        try:
            return now - timedelta(seconds=read_duration(name, text))
        except OverflowError:
            return datetime.min.replace(tzinfo=UTC)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        why = "give a duration such as 10m, or a time such as 2026-01-31T12:00:00Z"
        raise UsageError(f"{name}={text}: {why}") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def calls_page(log: CallLog, question: Question, clock: Clock) -> bytes:
    """What is known now, as JSON."""
    now = clock.monotonic()
    found = list(_picked(log.in_flight(), question, now))
    found += _picked(reversed(log.done()), question, now)
    kept = tuple(found[: question.limit or None])
    return msgspec.json.encode(CsiCalls(log.process, kept, log.dropped))


class CallWatch:
    """A cursor in the log: `poll` gives what a watcher has not seen. Nothing is queued for it."""

    def __init__(self, log: CallLog, question: Question, clock: Clock) -> None:
        self._log = log
        self._question = question
        self._clock = clock
        self._finished = 0  # up to this number they were sent
        self._started: set[int] = set()  # ids in flight that were sent

    def poll(self) -> list[bytes]:
        """Some lines of JSON; none: there is no news. Ask until there are none."""
        log, now, lines = self._log, self._clock.monotonic(), list[bytes]()
        if (lost := log.dropped - self._finished) > 0:
            if self._finished:
                lines.append(_line(CsiCallEvent("LOST", log.process, lost=lost)))
            self._finished = log.dropped
        for call in log.done(self._finished)[:WATCHED_AT_ONCE]:
            self._finished = call.number
            self._started.discard(call.id)
            if self._question.picks(call, call.seconds):
                lines.append(_line(CsiCallEvent("FINISHED", log.process, shown(call, now))))
        if self._finished < log.finished:
            return lines or self.poll()
        in_flight = log.in_flight()
        for call in in_flight:
            if call.id not in self._started and self._question.picks(call, now - call.began):
                self._started.add(call.id)
                lines.append(_line(CsiCallEvent("STARTED", log.process, shown(call, now))))
        self._started &= {call.id for call in in_flight}
        return lines


def _picked(
    calls: Iterator[TracedCall] | list[TracedCall], question: Question, now: float
) -> Iterator[CsiCall]:
    for call in calls:
        if question.picks(call, call.seconds if call.number else now - call.began):
            yield shown(call, now)


def shown(call: TracedCall, now: float) -> CsiCall:
    """`now`, on the monotonic clock, for a call in flight."""
    service, _, name = call.method.rpartition("/")
    seconds = call.seconds if call.number else now - call.began
    return CsiCall(
        id=call.id,
        service=service[1:],
        method=name,
        started=call.started,
        seconds=round(seconds, 6),
        driver=call.driver,
        volume=call.volume,
        code=call.code,
        in_flight=not call.number,
        asked_by=call.cause.asked_by,
        because=call.cause.because,
    )


def _line(event: CsiCallEvent) -> bytes:
    return msgspec.json.encode(event) + b"\n"
