"""Parts of timestamps and durations."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from mooring.apiserver.cel.functions import Functions, Overload
from mooring.apiserver.cel.times import SECOND, local
from mooring.apiserver.cel.types import DURATION, INT, STRING, TIMESTAMP
from mooring.apiserver.cel.values import Duration, Timestamp

_PARTS: dict[str, Callable[[datetime], int]] = {
    "getFullYear": lambda x: x.year,
    "getMonth": lambda x: x.month - 1,
    "getDayOfYear": lambda x: x.timetuple().tm_yday - 1,
    "getDayOfMonth": lambda x: x.day - 1,
    "getDate": lambda x: x.day,
    "getDayOfWeek": lambda x: x.isoweekday() % 7,
    "getHours": lambda x: x.hour,
    "getMinutes": lambda x: x.minute,
    "getSeconds": lambda x: x.second,
    "getMilliseconds": lambda x: x.microsecond // 1000,
}
_UNITS = {
    "getHours": 3600 * SECOND,
    "getMinutes": 60 * SECOND,
    "getSeconds": SECOND,
    "getMilliseconds": 10**6,
}


def _of_moment(part: Callable[[datetime], int]) -> Callable[..., int]:
    def run(moment: Timestamp, zone: str = "UTC") -> int:
        return part(local(moment, zone))

    return run


def _of_length(unit: int) -> Callable[[Duration], int]:
    def run(length: Duration) -> int:
        return abs(length.nanos) // unit * (-1 if length.nanos < 0 else 1)

    return run


def _overloads(name: str, run: Any) -> tuple[Overload, ...]:
    moment = (
        Overload(f"timestamp_{name}", (TIMESTAMP,), INT, run, member=True),
        Overload(f"timestamp_{name}_with_tz", (TIMESTAMP, STRING), INT, run, member=True),
    )
    if name not in _UNITS:
        return moment
    length = _of_length(_UNITS[name])
    return (*moment, Overload(f"duration_{name}", (DURATION,), INT, length, member=True))


FUNCTIONS: Functions = {name: _overloads(name, _of_moment(part)) for name, part in _PARTS.items()}
