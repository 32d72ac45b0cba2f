"""What is copied from a content to its snapshot, and how errors are written: status patches."""

from datetime import UTC, datetime
from typing import Any

from mooring.model import quantity
from mooring.model.document import Doc
from mooring.model.group_snapshot import (
    GroupContentStatus,
    GroupSnapshot,
    GroupSnapshotContent,
    GroupSnapshotStatus,
)
from mooring.model.snapshot import (
    ContentStatus,
    Snapshot,
    SnapshotContent,
    SnapshotError,
    SnapshotStatus,
)
from mooring.model.timestamp import to_seconds

_NANOSECONDS = 10**9


def copied(snapshot: Snapshot, content: SnapshotContent, group_name: str = "") -> Doc:
    """What of the snapshot's status is behind its content; times and sizes are written once."""
    old = snapshot.status or SnapshotStatus()
    new = content.status or ContentStatus()
    change: Doc = {}
    if old.bound_volume_snapshot_content_name != content.name:
        change["boundVolumeSnapshotContentName"] = content.name
    if old.creation_time is None and (taken := _seconds(new.creation_time)) is not None:
        change["creationTime"] = taken
    if new.restore_size is not None and _is_unset(old.restore_size):
        size = str(quantity.from_bytes(new.restore_size))
        if size != old.restore_size:
            change["restoreSize"] = size
    if group_name and not old.volume_group_snapshot_name:
        change["volumeGroupSnapshotName"] = group_name
    return {**change, **_readiness(old, new)}


def group_copied(group: GroupSnapshot, content: GroupSnapshotContent, *, is_whole: bool) -> Doc:
    """A group is shown as ready only with all its members (`is_whole`)."""
    old = group.status or GroupSnapshotStatus()
    new = content.status or GroupContentStatus()
    change: Doc = {}
    if old.bound_volume_group_snapshot_content_name is None:
        change["boundVolumeGroupSnapshotContentName"] = content.name
    if old.creation_time is None and new.creation_time is not None:
        change["creationTime"] = new.creation_time
    return {**change, **_readiness(old, new, is_whole=is_whole)}


def failed(owner: Snapshot | GroupSnapshot, message: str, now: str, *, is_unready: bool) -> Doc:
    """Empty if the status says so already: an error is neither written nor reported twice."""
    known = owner.status.error if owner.status else None
    if known is not None and known.message == message and not (is_unready and owner.is_ready):
        return {}
    change: Doc = {"error": {"message": message, "time": now}}
    if is_unready:
        change["readyToUse"] = False
    return change


def _readiness(
    old: SnapshotStatus | GroupSnapshotStatus,
    new: ContentStatus | GroupContentStatus,
    *,
    is_whole: bool = True,
) -> Doc:
    change: Doc = {}
    is_ready = bool(new.ready_to_use) and is_whole
    if old.ready_to_use is not is_ready:
        change["readyToUse"] = is_ready
    if old.error != new.error:
        change["error"] = None if new.error is None else _as_document(new.error)
    return change


def _as_document(error: SnapshotError) -> dict[str, Any]:
    fields = {"message": error.message, "time": error.time}
    return {name: value for name, value in fields.items() if value is not None}


def _is_unset(size: str | None) -> bool:
    try:
        return size is None or quantity.parse(size) == quantity.parse(0)
    except ValueError:
        return False  # nobody's number: it is left alone


def _seconds(nanoseconds: int | None) -> str | None:
    if nanoseconds is None:
        return None
    return to_seconds(datetime.fromtimestamp(nanoseconds // _NANOSECONDS, UTC))
