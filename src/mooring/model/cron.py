"""Schedules in the words of cron: five fields, or `@daily` and the like; pure.

The errors are upstream's, word for word. A schedule counts in the time zone that it is given; where
clocks are put forward a time that does not exist is passed over, where they are put back a time
comes once.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

import msgspec

_YEARS = 5  # so far ahead a time is looked for
_WEEK = 7


class _Bounds(msgspec.Struct, frozen=True):
    least: int
    most: int
    names: Mapping[str, int] = {}


_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
_FIELDS: Final = (
    _Bounds(0, 59),
    _Bounds(0, 23),
    _Bounds(1, 31),
    _Bounds(1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    _Bounds(0, 6, {name: number for number, name in enumerate(_DAYS)}),
)
_DESCRIBED: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_EVERY = "@every "
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_duration_part = re.compile(r"([0-9]*\.?[0-9]*)(ns|us|µs|ms|s|m|h)").match


class _Field(msgspec.Struct, frozen=True):
    values: frozenset[int]
    is_any: bool  # `*`: it restricts nothing


class Times(msgspec.Struct, frozen=True):
    """The minutes at which all five fields hold."""

    minute: _Field
    hour: _Field
    day: _Field
    month: _Field
    weekday: _Field

    def next_after(self, moment: datetime) -> datetime | None:
        """The first such minute after `moment`, in its time zone; None: there is none for years."""
        zone = moment.tzinfo
        walked = moment.replace(tzinfo=None, second=0, microsecond=0, fold=0)
        end = walked.year + _YEARS
        walked += timedelta(minutes=1)
        while walked.year <= end:
            if walked.month not in self.month.values:
                walked = _next_month(walked)
            elif not self._is_day(walked):
                walked = (walked + timedelta(days=1)).replace(hour=0, minute=0)
            elif walked.hour not in self.hour.values:
                walked = (walked + timedelta(hours=1)).replace(minute=0)
            elif walked.minute not in self.minute.values:
                walked += timedelta(minutes=1)
            elif (found := _in_zone(walked, zone, moment)) is not None:
                return found
            else:
                walked += timedelta(minutes=1)
        return None

    def _is_day(self, moment: datetime) -> bool:
        is_day = moment.day in self.day.values
        is_weekday = moment.isoweekday() % _WEEK in self.weekday.values
        if self.day.is_any or self.weekday.is_any:
            return is_day and is_weekday
        return is_day or is_weekday


class Every(msgspec.Struct, frozen=True):
    """Again and again after so many seconds."""

    seconds: int

    def next_after(self, moment: datetime) -> datetime | None:
        return moment.replace(microsecond=0) + timedelta(seconds=self.seconds)


Schedule = Times | Every


def parse(text: str) -> Schedule:
    """Raises: ValueError in upstream's words. A time zone within it is not understood."""
    if not text:
        raise ValueError("empty spec string")
    if text.startswith("@"):
        return _described(text)
    fields = text.split()
    if len(fields) != len(_FIELDS):
        found = f"found {len(fields)}: [{' '.join(fields)}]"
        raise ValueError(f"expected exactly {len(_FIELDS)} fields, {found}")
    minute, hour, day, month, weekday = map(_field, fields, _FIELDS)
    return Times(minute, hour, day, month, weekday)


def _described(text: str) -> Schedule:
    if text in _DESCRIBED:
        return parse(_DESCRIBED[text])
    if text.startswith(_EVERY):
        return Every(max(int(_duration(text)), 1))
    raise ValueError(f"unrecognized descriptor: {text}")


def _duration(text: str) -> float:
    given = text.removeprefix(_EVERY)
    total, place = 0.0, 0
    while place < len(given) and (part := _duration_part(given, place)):
        if part.group(1) in ("", "."):
            break
        total += float(part.group(1)) * _UNITS[part.group(2)]
        place = part.end()
    if not given or place != len(given):
        raise ValueError(f'failed to parse duration {text}: time: invalid duration "{given}"')
    return total


def _field(text: str, bounds: _Bounds) -> _Field:
    values: set[int] = set()
    is_any = False
    for part in text.split(","):
        if part:
            found, is_star = _range(part, bounds)
            values |= found
            is_any = is_any or is_star
    return _Field(frozenset(values), is_any)


def _range(text: str, bounds: _Bounds) -> tuple[set[int], bool]:
    words = text.split("/")
    ends = words[0].split("-")
    is_any = ends[0] in ("*", "?")
    if is_any:
        start, end = bounds.least, bounds.most
    else:
        start = end = _number(ends[0], bounds)
        if len(ends) == 2:
            end = _number(ends[1], bounds)
        elif len(ends) > 2:
            raise ValueError(f"too many hyphens: {text}")
    step = 1
    if len(words) == 2:
        step = _integer(words[1])
        if len(ends) == 1:
            end = bounds.most
        is_any = is_any and step <= 1
    elif len(words) > 2:
        raise ValueError(f"too many slashes: {text}")
    _check(start, end, step, text, bounds)
    return set(range(start, end + 1, step)), is_any


def _check(start: int, end: int, step: int, text: str, bounds: _Bounds) -> None:
    if start < bounds.least:
        raise ValueError(f"beginning of range ({start}) below minimum ({bounds.least}): {text}")
    if end > bounds.most:
        raise ValueError(f"end of range ({end}) above maximum ({bounds.most}): {text}")
    if start > end:
        raise ValueError(f"beginning of range ({start}) beyond end of range ({end}): {text}")
    if step == 0:
        raise ValueError(f"step of range should be a positive number: {text}")


def _number(word: str, bounds: _Bounds) -> int:
    named = bounds.names.get(word.lower())
    return _integer(word) if named is None else named


def _integer(word: str) -> int:
    digits = word.removeprefix("+") if word.startswith("+") else word.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()):
        why = f'strconv.Atoi: parsing "{word}": invalid syntax'
        raise ValueError(f"failed to parse int from {word}: {why}")
    number = int(word)
    if number < 0:
        raise ValueError(f"negative number ({number}) not allowed: {word}")
    return number


def _next_month(moment: datetime) -> datetime:
    first = moment.replace(day=1, hour=0, minute=0)
    return (first + timedelta(days=32)).replace(day=1)


def _in_zone(walked: datetime, zone: tzinfo | None, after: datetime) -> datetime | None:
    """The moment when clocks of the zone show this; None when they never do, or did before."""
    found = walked.replace(tzinfo=zone)
    if zone is None:
        return found
    if found.astimezone(UTC).astimezone(zone).replace(tzinfo=None) != walked:
        return None  # clocks were put forward over it
    return found if found.astimezone(UTC) > after.astimezone(UTC) else None
