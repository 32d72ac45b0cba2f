"""Rules for the health that is told of a volume (KEP-1432)."""

import re
from collections.abc import Iterable

from mooring.model.document import Doc
from mooring.model.field_error import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)

STATUSES = ("DataLoss", "Degraded", "Inaccessible")
MOST_CONDITIONS = 16
LONGEST_REASON = 256
LONGEST_MESSAGE = 1024

_REASON = r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_is_reason = re.compile(_REASON).fullmatch


def validate_health(health: Doc, path: str) -> Iterable[FieldError]:
    """Complaints about `healthStatus` of a claim, at `path`."""
    conditions = health.get("healthConditions") or ()
    if len(conditions) > MOST_CONDITIONS:
        text = f"must have at most {MOST_CONDITIONS} items"
        yield forbidden(f"{path}.healthConditions", text)
        return
    seen: set[tuple[str, str]] = set()
    for index, condition in enumerate(conditions):
        where = f"{path}.healthConditions[{index}]"
        yield from _validate_condition(condition, where)
        key = (condition.get("status", ""), condition.get("reason", ""))
        if key in seen:
            yield duplicate(where, f"{key[0]}/{key[1]}")
        seen.add(key)


def _validate_condition(condition: Doc, path: str) -> Iterable[FieldError]:
    status, reason = condition.get("status"), condition.get("reason")
    if not status:
        yield required(f"{path}.status")
    elif status not in STATUSES:
        yield not_supported(f"{path}.status", status, STATUSES)
    if not reason:
        yield required(f"{path}.reason")
    elif len(reason.encode()) > LONGEST_REASON:
        yield too_long(f"{path}.reason", LONGEST_REASON)
    elif not _is_reason(reason):
        yield invalid(f"{path}.reason", reason, f"must match the regular expression '{_REASON}'")
    if len((condition.get("message") or "").encode()) > LONGEST_MESSAGE:
        yield too_long(f"{path}.message", LONGEST_MESSAGE)
