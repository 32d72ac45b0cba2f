"""Rules for the health that is told of volumes and of storage backends (KEP-1432)."""

import re
from collections.abc import Iterable

from mooring.model.document import Doc
from mooring.model.field_error import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
    too_long,
)
from mooring.model.names import csi_driver_name_errors
from mooring.model.storage_terms import AccessMode, VolumeMode

STATUSES = ("DataLoss", "Degraded", "Inaccessible")
STORAGE_STATUSES = ("StorageDegraded", "StorageUnreachable")
MOST_CONDITIONS = 16
LONGEST_REASON = 256
LONGEST_MESSAGE = 1024

_REASON = r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_is_reason = re.compile(_REASON).fullmatch


def validate_health(health: Doc, path: str) -> Iterable[FieldError]:
    """Complaints about the health of one volume, at `path`."""
    conditions = health.get("healthConditions") or ()
    if len(conditions) > MOST_CONDITIONS:
        text = f"must have at most {MOST_CONDITIONS} items"
        yield forbidden(f"{path}.healthConditions", text)
        return
    seen: set[tuple[str, str]] = set()
    for index, condition in enumerate(conditions):
        where = f"{path}.healthConditions[{index}]"
        yield from _validate_condition(condition, where, STATUSES)
        key = (condition.get("status", ""), condition.get("reason", ""))
        if key in seen:
            yield duplicate(where, f"{key[0]}/{key[1]}")
        seen.add(key)


def validate_pod_health(pod: Doc) -> Iterable[FieldError]:
    """Of its volumes, each once."""
    volumes = {volume.get("name") for volume in pod.get("spec", {}).get("volumes") or ()}
    seen: set[str] = set()
    for index, entry in enumerate(pod.get("status", {}).get("volumeHealth") or ()):
        path, name = f"status.volumeHealth[{index}]", entry.get("name", "")
        if name not in volumes:
            yield not_found(f"{path}.name", name)
        if name in seen:
            yield duplicate(f"{path}.name", name)
        seen.add(name)
        yield from validate_health(entry, path)


def validate_storage_health(status: Doc) -> Iterable[FieldError]:
    """Of a node's drivers, each once."""
    seen: set[str] = set()
    for index, entry in enumerate(status.get("storageHealth") or ()):
        path, name = f"status.storageHealth[{index}]", entry.get("name", "")
        yield from csi_driver_name_errors(f"{path}.name", name)
        if name in seen:
            yield duplicate(f"{path}.name", name)
        seen.add(name)
        conditions = entry.get("healthConditions") or ()
        if len(conditions) > MOST_CONDITIONS:
            text = f"must have at most {MOST_CONDITIONS} items"
            yield forbidden(f"{path}.healthConditions", text)
            continue
        yield from _validate_storage(conditions, f"{path}.healthConditions")


def _validate_storage(conditions: Iterable[Doc], path: str) -> Iterable[FieldError]:
    seen: set[tuple[str, ...]] = set()
    for index, condition in enumerate(conditions):
        where = f"{path}[{index}]"
        yield from _validate_condition(condition, where, STORAGE_STATUSES)
        for field, known in (("accessMode", AccessMode), ("volumeMode", VolumeMode)):
            words = tuple(sorted(one.value for one in known))
            if (given := condition.get(field)) is not None and given not in words:
                yield not_supported(f"{where}.{field}", given, words)
        key = tuple(
            condition.get(field) or "" for field in ("status", "reason", "accessMode", "volumeMode")
        )
        if key in seen:
            yield duplicate(where, "/".join(key))
        seen.add(key)


def _validate_condition(
    condition: Doc, path: str, statuses: tuple[str, ...]
) -> Iterable[FieldError]:
    status, reason = condition.get("status"), condition.get("reason")
    if not status:
        yield required(f"{path}.status")
    elif status not in statuses:
        yield not_supported(f"{path}.status", status, statuses)
    if not reason:
        yield required(f"{path}.reason")
    elif len(reason.encode()) > LONGEST_REASON:
        yield too_long(f"{path}.reason", LONGEST_REASON)
    elif not _is_reason(reason):
        yield invalid(f"{path}.reason", reason, f"must match the regular expression '{_REASON}'")
    if len((condition.get("message") or "").encode()) > LONGEST_MESSAGE:
        yield too_long(f"{path}.message", LONGEST_MESSAGE)
