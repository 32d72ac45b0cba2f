"""A snapshot that is being deleted: when its content is deleted too, and when it may go.

Always true of a plan:

- Nothing happens to the content while a claim is being restored from it, or while the group lives
  that the snapshot is a member of.
- Only a content that points back by its uid is touched, and it is marked before all else.
- Only under the policy Delete is a content deleted, and not while another content stands for the
  same snapshot and keeps it.
- The snapshot goes after its content under Delete, before it otherwise; and if there is none only
  after the server said so.
"""

from collections.abc import Iterable

from mooring.controllers.snapshots.names import points_back
from mooring.controllers.snapshots.plan import (
    AskServer,
    Change,
    DeleteContent,
    Plan,
    Reason,
    Step,
)
from mooring.controllers.snapshots.view import Evidence, SnapshotView
from mooring.model.event import EventType
from mooring.model.snapshot import DeletionPolicy, Snapshot, SnapshotContent
from mooring.model.steps import Emit, plan
from mooring.model.wellknown import Annotation, Finalizer

OURS = (
    Finalizer.SNAPSHOT_AS_SOURCE,
    Finalizer.SNAPSHOT_BOUND,
    Finalizer.SNAPSHOT_IN_GROUP,
)
IN_USE = "Snapshot is being used to restore a PVC"
MARK = "yes"


def decide_deletion(view: SnapshotView) -> Plan:
    snapshot, content = view.snapshot, view.found.content
    held = tuple(name for name in OURS if name in snapshot.metadata.finalizers)
    if not held:
        return plan("nothing of ours holds it")
    if content is None or not points_back(content, snapshot):
        if view.found.evidence is Evidence.CACHE:
            return plan("no content of its own is in the cache", AskServer())
        return plan("it has no content", Change(snapshot, removes=held))
    if waiting := _find_users(view):
        return _wait(view, waiting)
    if content.spec.deletion_policy is not DeletionPolicy.DELETE:
        steps: tuple[Step, ...] = (*mark(content), Change(snapshot, removes=held))
        return plan("its content is retained", *steps)
    if keeper := find_keeper(content, view.found.siblings):
        return _wait(view, f"VolumeSnapshotContent {keeper} stands for the same snapshot")
    if content.is_deleting:
        return plan("its content is being deleted", *mark(content))
    return plan("its content goes first", *mark(content), DeleteContent(content, snapshot))


def mark(content: SnapshotContent) -> tuple[Change, ...]:
    """What the sidecar waits for; and the finalizer, in case the content never got it."""
    is_marked = content.is_being_deleted
    has_finalizer = Finalizer.SNAPSHOT_CONTENT in content.metadata.finalizers
    adds = () if has_finalizer or content.is_deleting else (Finalizer.SNAPSHOT_CONTENT,)
    if is_marked and not adds:
        return ()
    return (Change(content, adds=adds, annotations={Annotation.SNAPSHOT_BEING_DELETED: MARK}),)


def find_keeper(content: SnapshotContent, siblings: Iterable[SnapshotContent]) -> str:
    """Another content of the same snapshot that is not to be deleted with it; empty: none."""
    for other in siblings:
        if other.uid != content.uid and not _is_condemned(other):
            return other.name
    return ""


def _is_condemned(content: SnapshotContent) -> bool:
    """Two contents that are both to be deleted must not wait for each other."""
    is_going = content.is_deleting or content.is_being_deleted
    return content.spec.deletion_policy is DeletionPolicy.DELETE and is_going


def _find_users(view: SnapshotView) -> str:
    snapshot, group = view.snapshot, view.uses.group
    if view.uses.restoring or is_restored(snapshot):
        return IN_USE
    if group is not None:
        return (
            f"deletion of the individual volume snapshot {snapshot.key} is not allowed as it"
            f" belongs to group snapshot {group.key}. Deleting the group snapshot will trigger"
            " the deletion of all the individual volume snapshots that are part of the group."
        )
    return ""


def is_restored(snapshot: Snapshot) -> bool:
    """A provisioner fills a volume from it right now."""
    return Finalizer.RESTORE_SOURCE in snapshot.metadata.finalizers


def _wait(view: SnapshotView, words: str) -> Plan:
    if words == view.uses.recorded:
        return plan("its deletion has to wait, as people know")
    event = Emit(view.snapshot, EventType.WARNING, Reason.DELETE_PENDING, words)
    return plan("its deletion has to wait", event)
