"""Whether a snapshot may be deleted: the cached objects compared with the live ones.

As `may_destroy.py` for volumes: `reconcile/live_gate.py` reads the objects, and only an unchanged
order is permission.
"""

from collections.abc import Iterable

import msgspec

from mooring.model.group_snapshot import GroupSnapshot, GroupSnapshotContent
from mooring.model.may_destroy import Go, Stay, Verdict
from mooring.model.snapshot import DeletionPolicy, Snapshot, SnapshotContent


class SnapshotOrder(msgspec.Struct, frozen=True):
    """A snapshot is about to be deleted."""

    content: SnapshotContent  # as in the cache
    handle: str
    finalizer: str


class GroupSnapshotOrder(msgspec.Struct, frozen=True):
    """A group snapshot is about to be deleted, and its members with it."""

    content: GroupSnapshotContent  # as in the cache
    handle: str
    snapshot_handles: tuple[str, ...]
    finalizer: str


def may_delete_snapshot(
    order: SnapshotOrder,
    live: SnapshotContent | None,
    snapshot: Snapshot | None,
    siblings: Iterable[SnapshotContent],
) -> Verdict:
    """`snapshot` is the live VolumeSnapshot that has the name in the content's reference,
    `siblings` are live contents that may have the same handle."""
    changed = _find_change(live, order.content, order.finalizer)
    if live is None or changed:
        return Stay(changed)
    if live.spec.deletion_policy is not DeletionPolicy.DELETE:
        return Stay(f"its policy is {live.spec.deletion_policy} now")
    if live.is_member:
        return Stay("it belongs to a group snapshot")
    if live.spec.driver != order.content.spec.driver or live.snapshot_handle != order.handle:
        return Stay("it stands for another snapshot now")
    reference = live.spec.volume_snapshot_ref
    if snapshot is not None and not snapshot.is_deleting:
        names_it = snapshot.spec.source.volume_snapshot_content_name == live.name
        if snapshot.uid == reference.uid or (not reference.uid and names_it):
            return Stay(f"the snapshot {snapshot.key} is not deleted")
    for other in siblings:
        is_same = other.spec.driver == live.spec.driver and other.snapshot_handle == order.handle
        if other.uid != live.uid and is_same and not _is_condemned(other):
            return Stay(
                f"volumesnapshotcontent {other.name} stands for the same snapshot and keeps it",
                is_for_people=True,
            )
    return Go(_told(live, order.handle))


def may_delete_group_snapshot(
    order: GroupSnapshotOrder,
    live: GroupSnapshotContent | None,
    snapshot: GroupSnapshot | None,
    siblings: Iterable[GroupSnapshotContent],
) -> Verdict:
    """As `may_delete_snapshot`."""
    changed = _find_change(live, order.content, order.finalizer)
    if live is None or changed:
        return Stay(changed)
    if live.spec.deletion_policy is not DeletionPolicy.DELETE:
        return Stay(f"its policy is {live.spec.deletion_policy} now")
    is_same = (live.group_handle, live.snapshot_handles) == (order.handle, order.snapshot_handles)
    if live.spec.driver != order.content.spec.driver or not is_same:
        return Stay("it stands for another group snapshot now")
    reference = live.spec.volume_group_snapshot_ref
    if snapshot is not None and not snapshot.is_deleting:
        names_it = snapshot.spec.source.volume_group_snapshot_content_name == live.name
        if snapshot.uid == reference.uid or (not reference.uid and names_it):
            return Stay(f"the group snapshot {snapshot.key} is not deleted")
    for other in siblings:
        is_twin = other.spec.driver == live.spec.driver and other.group_handle == order.handle
        if other.uid != live.uid and is_twin and not _is_condemned(other):
            return Stay(
                f"volumegroupsnapshotcontent {other.name} stands for the same group snapshot"
                " and keeps it",
                is_for_people=True,
            )
    return Go(_told(live, order.handle))


def _find_change(
    live: SnapshotContent | GroupSnapshotContent | None,
    seen: SnapshotContent | GroupSnapshotContent,
    finalizer: str,
) -> str:
    """What no longer holds; empty: all holds."""
    if live is None:
        return "its object is gone"
    if live.uid != seen.uid:
        return "another object has its name"
    if finalizer not in live.metadata.finalizers:
        return "it is no longer held: somebody deleted the snapshot"
    if not live.is_doomed:
        return "it is not deleted, or its snapshot is not"
    if live.is_being_created:
        return "it may be being created"
    return ""


def _is_condemned(content: SnapshotContent | GroupSnapshotContent) -> bool:
    """Whether it is to be deleted too: two such contents must not wait for each other."""
    return content.is_doomed and content.spec.deletion_policy is DeletionPolicy.DELETE


def _told(live: SnapshotContent | GroupSnapshotContent, handle: str) -> str:
    return (
        f"uid={live.uid} version={live.metadata.resource_version}"
        f" policy={live.spec.deletion_policy} deleted={live.is_deleting} handle={handle}"
    )
