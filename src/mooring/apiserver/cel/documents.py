"""Strings of documents that are bytes, times or lengths to rules.

What cannot be read stays a string: the schema's own check says what is wrong with it.
"""

import base64
import binascii
import re
from decimal import Decimal
from typing import Any

from mooring.apiserver.cel.errors import CelError
from mooring.apiserver.cel.times import SECOND, parse_duration, parse_timestamp
from mooring.apiserver.cel.values import INT_MAX, Duration

_DAY = 24 * 3600 * SECOND
_WORDS = {
    **dict.fromkeys(("ns", "nano", "nanos", "nanosecond", "nanoseconds"), 1),
    **dict.fromkeys(("us", "µs", "μs", "micro", "micros", "microsecond", "microseconds"), 10**3),
    **dict.fromkeys(("ms", "milli", "millis", "millisecond", "milliseconds"), 10**6),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), SECOND),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60 * SECOND),
    **dict.fromkeys(("h", "hr", "hour", "hours"), 3600 * SECOND),
    **dict.fromkeys(("d", "day", "days"), _DAY),
    **dict.fromkeys(("w", "week", "weeks", "wk"), 7 * _DAY),
}
_worded = re.compile(r"(-?[0-9]{1,18}(?:\.[0-9]{1,18})?)\s*([A-Za-zµμ]+)")


def read_bytes(text: Any) -> Any:
    try:
        return base64.b64decode(text, validate=True) if isinstance(text, str) else text
    except binascii.Error:
        return text


def read_date(text: Any) -> Any:
    return read_date_time(f"{text}T00:00:00Z", text)


def read_date_time(text: Any, otherwise: Any = None) -> Any:
    otherwise = text if otherwise is None else otherwise
    if not isinstance(text, str):
        return otherwise
    try:
        return parse_timestamp(text.upper())
    except CelError:
        return otherwise


def read_duration(text: Any) -> Any:
    if not isinstance(text, str):
        return text
    try:
        return parse_duration(text)
    except CelError:
        words = _worded.fullmatch(text.strip())
        if words is None or words.group(2).lower() not in _WORDS:
            return text
        nanos = int(Decimal(words.group(1)) * _WORDS[words.group(2).lower()])
        return Duration(nanos) if abs(nanos) <= INT_MAX else text
