"""Fields that hold a number or a percentage, as budgets and rollouts have them."""

import re
from collections.abc import Iterable
from typing import Any

from mooring.model.field_error import FieldError, invalid

_is_percent = re.compile(r"[0-9]+%").fullmatch
_MOST_PERCENT = 100

PERCENT_TEXT = (
    "a valid percent string must be a numeric string followed by an ending '%' "
    "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)


def validate_int_or_percent(field: str, value: Any) -> Iterable[FieldError]:
    """Neither negative, nor more than all of them."""
    if isinstance(value, str):
        if not _is_percent(value):
            yield invalid(field, value, PERCENT_TEXT)
        elif int(value[:-1]) > _MOST_PERCENT:
            yield invalid(field, value, "must not be greater than 100%")
    elif value < 0:
        yield invalid(field, value, "must be greater than or equal to 0")
