"""Numbers of pods that may be percentages: `maxSurge`, `maxUnavailable`, `minAvailable`."""

import re
from collections.abc import Iterable

from mooring.model.field_error import FieldError, invalid

_PERCENT = "[0-9]+%"
_is_percent = re.compile(_PERCENT).fullmatch
_NO_PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' "
    f"(e.g. '1%',  or '93%', regex used for validation is '{_PERCENT}')"
)


def validate_int_or_percent(value: int | str, path: str) -> Iterable[FieldError]:
    if isinstance(value, str):
        if not _is_percent(value):
            yield invalid(path, value, _NO_PERCENT)
    elif value < 0:
        yield invalid(path, value, "must be greater than or equal to 0")


def validate_at_most_all(value: int | str, path: str) -> Iterable[FieldError]:
    if isinstance(value, str) and _is_percent(value) and amount(value) > 100:
        yield invalid(path, value, "must not be greater than 100%")


def amount(value: int | str) -> int:
    """The number in it, of pods or of percent; what is neither counts as zero."""
    if isinstance(value, int):
        return value
    digits = value.removesuffix("%")
    return int(digits) if digits.isascii() and digits.isdigit() else 0
