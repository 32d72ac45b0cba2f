"""The formats of strings that Kubernetes checks; a format that it does not know is ignored."""

import re
import unicodedata
from calendar import monthrange
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from mooring.apiserver.limits.short_memo import short_memo
from mooring.apiserver.structural.network_formats import (
    is_cidr,
    is_email,
    is_ipv4,
    is_ipv6,
    is_mac,
    is_uri,
)

_SCALA_UNITS = (
    *(("ns",), ("us", "µs"), ("ms",), ("s",), ("m",), ("h", "hr"), ("d",), ("w", "wk")),
)
_SCALA_BEGINNINGS = ("nano", "micro", "milli", "sec", "min", "hour", "day", "week")
_INT64 = 2**63 - 1
_MOST_DURATION = 512  # characters that are looked at

_date = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})").fullmatch
_clock = re.compile(
    r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})"
).fullmatch
_go_duration = re.compile(
    r"[-+]?(?:0|(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)"
).fullmatch
_scala_durations = re.compile(r"([0-9]+)\s*([A-Za-zµ]+)", re.ASCII).finditer
_not_digits = re.compile(r"[^0-9]+").sub
_spaces_and_dashes = re.compile(r"[\s-]+", re.ASCII).sub
_card = re.compile(
    r"4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11}"
).fullmatch
_ISBN_10 = re.compile(r"[0-9]{9}[0-9X]").fullmatch
_ISBN_13 = re.compile(r"[0-9]{13}").fullmatch


def _like(pattern: str, flags: int = 0) -> Callable[[str], bool]:
    match = re.compile(pattern, re.ASCII | flags).fullmatch
    return lambda text: match(text) is not None


def _is_letter(char: str) -> bool:
    return unicodedata.category(char)[0] == "L"


def _is_host_char(char: str) -> bool:
    return char in "0123456789" or unicodedata.category(char)[0] in "LS"


def is_hostname(text: str) -> bool:
    """A name of one label may have a hyphen as its second character only: so it is upstream."""
    encoded = text.encode("utf-8", "surrogatepass")
    labels = text.split(".")
    if not text or len(encoded) > 255 or any(len(part) > 63 for part in encoded.split(b".")):
        return False
    if len(labels) == 1:
        rest = text[1:].removeprefix("-")
        return _is_host_char(text[0]) and len(rest) <= 62 and all(map(_is_host_char, rest))
    *names, top = labels
    return (2 <= len(top) <= 63 and all(map(_is_letter, top))) and all(map(_is_host_label, names))


def _is_host_label(label: str) -> bool:
    if not label or len(label) > 63:
        return False
    ends_well = _is_host_char(label[0]) and _is_host_char(label[-1])
    return ends_well and all(char == "-" or _is_host_char(char) for char in label)


def is_date(text: str) -> bool:
    found = _date(text)
    if found is None:
        return False
    year, month, day = map(int, found.groups())
    return 1 <= month <= 12 and 1 <= day <= monthrange(year or 2000, month)[1]


@short_memo
def is_date_time(text: str) -> bool:
    date, _, rest = text.lower().partition("t")
    found = _clock(rest.partition("t")[0])
    if found is None or not is_date(date):
        return False
    hour, minute, second = found.groups()
    return bool(hour <= "23" and minute <= "59" and second <= "59")


def is_duration(text: str) -> bool:
    """`1h30m` as Go reads it, or `3 days` as Scala does."""
    if len(text) > _MOST_DURATION:
        return False
    if _go_duration(text):
        return True
    is_known = False
    for found in _scala_durations(text):
        amount, unit = found.group(1), found.group(2).lower()
        if len(amount) > 19 or int(amount) > _INT64:
            return False
        is_known = is_known or unit.startswith(_SCALA_BEGINNINGS)
        is_known = is_known or any(unit in names for names in _SCALA_UNITS)
    return is_known


def is_credit_card(text: str) -> bool:
    digits = _not_digits("", text)
    if not _card(digits):
        return False
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if place % 2 else 1)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def is_isbn10(text: str) -> bool:
    digits = _spaces_and_dashes("", text)
    if not _ISBN_10(digits):
        return False
    total = sum((place + 1) * int(digit) for place, digit in enumerate(digits[:9]))
    return (total + 10 * (10 if digits[9] == "X" else int(digits[9]))) % 11 == 0


def is_isbn13(text: str) -> bool:
    digits = _spaces_and_dashes("", text)
    if not _ISBN_13(digits):
        return False
    total = sum((1, 3)[place % 2] * int(digit) for place, digit in enumerate(digits[:12]))
    return int(digits[12]) == (10 - total % 10) % 10


_HEX = "[0-9a-f]"
_COLOUR = r"\s*(?:0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*"
_NAME = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_is_short_name = _like(_NAME)
_is_long_name = _like(rf"{_NAME}(?:\.{_NAME})*")
_is_ssn = _like(r"\d{3}[- ]?\d{2}[- ]?\d{4}")


def _uuid(third: str, fourth: str) -> Callable[[str], bool]:
    pattern = rf"{_HEX}{{8}}-?{_HEX}{{4}}-?{third}-?{fourth}-?{_HEX}{{12}}"
    return _like(pattern, re.IGNORECASE)


_ANY_FOUR = f"{_HEX}{{4}}"
_VARIANT = f"[89ab]{_HEX}{{3}}"

# By name, hyphens left out.
CHECKS: Mapping[str, Callable[[str], bool]] = {
    "bsonobjectid": _like("[0-9a-fA-F]{24}"),
    "uri": is_uri,
    "email": is_email,
    "hostname": is_hostname,
    "ipv4": is_ipv4,
    "ipv6": is_ipv6,
    "cidr": is_cidr,
    "mac": is_mac,
    "uuid": _uuid(_ANY_FOUR, _ANY_FOUR),
    "uuid3": _uuid(f"3{_HEX}{{3}}", _ANY_FOUR),
    "uuid4": _uuid(f"4{_HEX}{{3}}", _VARIANT),
    "uuid5": _uuid(f"5{_HEX}{{3}}", _VARIANT),
    "isbn": lambda text: is_isbn10(text) or is_isbn13(text),
    "isbn10": is_isbn10,
    "isbn13": is_isbn13,
    "creditcard": is_credit_card,
    "ssn": lambda text: len(text) == 11 and _is_ssn(text),
    "hexcolor": _like("#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "rgbcolor": _like(rf"rgb\({_COLOUR},{_COLOUR},{_COLOUR}\)"),
    "byte": _like("(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"),
    "password": lambda _: True,
    "date": is_date,
    "duration": is_duration,
    "datetime": is_date_time,
    "k8sshortname": lambda text: len(text) <= 63 and _is_short_name(text),
    "k8slongname": lambda text: len(text) <= 253 and _is_long_name(text),
}
_OF_NUMBERS = {"integer": ("int32", "int64"), "number": ("float", "double")}


def format_of(schema: Mapping[str, Any]) -> str:
    """The format of a schema if it is one that is checked; "" otherwise."""
    written = schema.get("format") or ""
    if not written:
        return ""
    type_ = "" if schema.get("x-kubernetes-int-or-string") else schema.get("type") or ""
    if type_ in ("", "string"):
        return written if written.replace("-", "") in CHECKS else ""
    return written if written in _OF_NUMBERS.get(type_, ()) else ""


def check_of(schema: Mapping[str, Any]) -> Callable[[str], bool] | None:
    """The check of a schema's format for strings."""
    return CHECKS.get(format_of(schema).replace("-", ""))


def unrecognized_formats(schemas: Iterable[Mapping[str, Any]]) -> list[str]:
    """The formats that these schemas name and nobody checks: each is worth a warning."""
    return [s["format"] for s in schemas if s.get("format") and not format_of(s)]
