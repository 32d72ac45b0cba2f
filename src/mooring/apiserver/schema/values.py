"""The one spelling of values that JSON carries as text: times, binary data."""

import binascii
import re
from datetime import UTC, datetime

_rfc3339 = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)", re.ASCII
).fullmatch
_plain = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII).fullmatch

_NEVER = "0001-01-01T00:00:00"
"""The zero time of clients written in Go: they send it where they mean none."""

_TIME_FORMAT = "2006-01-02T15:04:05Z07:00"
_MICRO_TIME_FORMAT = "2006-01-02T15:04:05.000000Z07:00"


def whole_seconds(text: str) -> str | None:
    """A time in UTC, a fraction of its last second dropped; None for the zero time.

    Raises: ValueError in the API's words.
    """
    if _plain(text):
        _utc(text, text[:19], "Z")
        return None if text.startswith(_NEVER) else text
    moment, _ = _read(text, _TIME_FORMAT)
    return None if moment == _NEVER else f"{moment}Z"


def microseconds(text: str) -> str | None:
    """A time in UTC with six digits behind the second, whatever came; None for the zero time.

    Raises: ValueError in the API's words.
    """
    moment, fraction = _read(text, _MICRO_TIME_FORMAT)
    fraction = fraction[:6].ljust(6, "0")
    return None if moment == _NEVER and fraction == "000000" else f"{moment}.{fraction}Z"


def _read(text: str, expected: str) -> tuple[str, str]:
    found = _rfc3339(text)
    if found is None:
        raise ValueError(f'parsing time "{text}" as "{expected}": cannot parse "{text}" as "2006"')
    moment, fraction, zone = found.groups("")
    return _utc(text, moment, zone), fraction


def _utc(text: str, moment: str, zone: str) -> str:
    try:
        if zone == "Z":
            datetime.fromisoformat(moment)
            return moment
        return datetime.fromisoformat(moment + zone).astimezone(UTC).isoformat()[:19]
    except (ValueError, OverflowError) as error:
        raise ValueError(f'parsing time "{text}": {_out_of_range(error)}') from error


def _out_of_range(error: Exception) -> str:
    part = str(error).partition(" ")[0]
    return (
        f"{part if part in ('month', 'day', 'hour', 'minute', 'second') else 'year'} out of range"
    )


def base64_text(text: str) -> str:
    """Binary data in the usual alphabet, padded, without line breaks.

    Raises: ValueError in the API's words.
    """
    if "\n" in text or "\r" in text:
        text = text.replace("\n", "").replace("\r", "")
    try:
        data = binascii.a2b_base64(text, strict_mode=True)
    except ValueError as error:
        raise ValueError(f"illegal base64 data at input byte {_first_bad_byte(text)}") from error
    return binascii.b2a_base64(data, newline=False).decode("ascii")


_alphabet = re.compile(r"[A-Za-z0-9+/]*", re.ASCII).match


def _first_bad_byte(text: str) -> int:
    found = _alphabet(text)
    return found.end() if found else 0
