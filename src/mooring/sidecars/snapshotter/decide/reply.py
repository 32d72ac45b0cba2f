"""What a driver's answer about a snapshot means, and the status that a content gets from it."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

import msgspec

from mooring.csi.outcome import Code, Refused, Uncertain
from mooring.csi.requests import CreateGroupSnapshot
from mooring.csi.volume import GroupSnapshot, Snapshot
from mooring.model.document import Doc
from mooring.model.group_snapshot import GroupSnapshotContent
from mooring.model.snapshot import SnapshotContent
from mooring.model.timestamp import to_seconds

_NANOSECONDS: Final = 1_000_000_000


_ABOUT_THE_WISH: Final = frozenset(
    (Code.INVALID_ARGUMENT, Code.NOT_FOUND, Code.FAILED_PRECONDITION, Code.OUT_OF_RANGE)
)
"""Refusals of the request itself. A driver that has the snapshot does not refuse it so now."""


def is_proof(failure: Refused | Uncertain, *, after_doubt: bool) -> bool:
    """Whether it is certain that no snapshot was taken. `after_doubt`: an earlier call had no clear
    answer. Then wrong secrets, or an internal error, prove nothing: they are about this call."""
    match failure:
        case Uncertain():
            return False
        case Refused(code):
            return not after_doubt or code in _ABOUT_THE_WISH


class Good(msgspec.Struct, frozen=True):
    """It is the snapshot that was asked for."""


class Foreign(msgspec.Struct, frozen=True):
    """It is another's: nothing of it is recorded, and nothing deleted."""

    why: str


class Unfit(msgspec.Struct, frozen=True):
    """It was made for this content, and is not what was asked for: it must not be used."""

    why: str


def judge_snapshot(content: SnapshotContent, told: Snapshot, twin: str) -> Good | Foreign | Unfit:
    """`twin` is another content with the handle of the answer, empty if there is none."""
    if twin:
        return Foreign(
            f"the driver answered with snapshot {told.snapshot_id}, which is that of"
            f" volumesnapshotcontent {twin}"
        )
    known = content.snapshot_handle
    if known and told.snapshot_id != known:
        return Foreign(f"the driver answered with snapshot {told.snapshot_id} instead of {known}")
    source = content.spec.source.volume_handle
    if source and told.source_volume_id and told.source_volume_id != source:
        return Unfit(
            f"the driver answered with a snapshot of volume {told.source_volume_id}"
            f" instead of {source}"
        )
    return Good()


def judge_group(
    request: CreateGroupSnapshot, told: GroupSnapshot, others: Iterable[str]
) -> Good | Foreign | Unfit:
    """`others` are objects that have the handle of the group, or of a member of it."""
    for other in others:
        return Foreign(f"the driver answered with group {told.group_snapshot_id}: {other} has it")
    sources = [each.source_volume_id for each in told.snapshots]
    handles = {each.snapshot_id for each in told.snapshots}
    if sorted(sources) != sorted(request.source_volume_ids) or len(handles) != len(sources):
        return Unfit(
            f"the driver took snapshots of volumes [{' '.join(sources)}]"
            f" instead of [{' '.join(request.source_volume_ids)}]"
        )
    return Good()


def snapshot_status(content: SnapshotContent, told: Snapshot, now: datetime) -> Doc:
    """A change of the status, to be merged; empty when it says all of this already."""
    before = content.status
    created = told.created_nanoseconds or (before and before.creation_time) or _since_1970(now)
    wanted: Doc = {
        "snapshotHandle": told.snapshot_id,
        "readyToUse": told.ready_to_use,
        "creationTime": created,
    }
    if told.size_bytes:
        wanted["restoreSize"] = told.size_bytes
    if told.group_snapshot_id:
        wanted["volumeGroupSnapshotHandle"] = told.group_snapshot_id
    has: Doc = {} if before is None else msgspec.to_builtins(before)
    return _change(has, wanted)


def unfit_status(content: SnapshotContent, told: Snapshot, now: datetime) -> Doc:
    """The handle is kept, to delete the snapshot one day; it never becomes ready."""
    unusable = msgspec.structs.replace(told, ready_to_use=False)
    return snapshot_status(content, unusable, now)


def group_status(content: GroupSnapshotContent, told: GroupSnapshot, now: datetime) -> Doc:
    """As `snapshot_status`; the members of a group that an administrator made are not told."""
    before = content.status
    known = before.creation_time if before else None
    created = to_seconds(told.created) if told.created_nanoseconds else known or to_seconds(now)
    wanted: Doc = {
        "volumeGroupSnapshotHandle": told.group_snapshot_id,
        "readyToUse": told.ready_to_use,
        "creationTime": created,
    }
    if not content.is_static:
        wanted["volumeSnapshotInfoList"] = [
            _member(each, told.created_nanoseconds or _since_1970(now)) for each in told.snapshots
        ]
    has: Doc = {} if before is None else msgspec.to_builtins(before)
    return _change(has, wanted)


def _member(told: Snapshot, created: int) -> Doc:
    member: Doc = {
        "volumeHandle": told.source_volume_id,
        "snapshotHandle": told.snapshot_id,
        "creationTime": told.created_nanoseconds or created,
        "readyToUse": told.ready_to_use,
    }
    return {**member, "restoreSize": told.size_bytes} if told.size_bytes else member


def _change(has: Doc, wanted: Doc) -> Doc:
    is_same = "error" not in has and all(has.get(key) == value for key, value in wanted.items())
    return {} if is_same else {**wanted, "error": None}


def _since_1970(now: datetime) -> int:
    return int(now.timestamp()) * _NANOSECONDS + now.microsecond * 1000
