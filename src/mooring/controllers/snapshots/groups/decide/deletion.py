"""A group that is being deleted: its content, its members, and when it may go.

Always true of a plan:

- Nothing goes while a claim is being restored from a member.
- Only under the policy Delete is the content deleted, and the group stays until it is gone: so the
  driver deletes the group as a whole before any member is looked at by itself.
- The members' snapshots go with the group under any policy; what becomes of their contents is
  theirs to say.
"""

from mooring.controllers.snapshots.decide.deletion import MARK
from mooring.controllers.snapshots.groups.view import GroupView
from mooring.controllers.snapshots.names import points_back
from mooring.controllers.snapshots.plan import (
    AskServer,
    Change,
    DeleteContent,
    DeleteMember,
    Plan,
    Reason,
    Step,
)
from mooring.controllers.snapshots.view import Evidence
from mooring.model.event import EventType
from mooring.model.group_snapshot import GroupSnapshotContent
from mooring.model.snapshot import DeletionPolicy
from mooring.model.steps import Emit, plan
from mooring.model.wellknown import Annotation, Finalizer


def decide_deletion(view: GroupView) -> Plan:
    group, content = view.group, view.found.content
    if Finalizer.GROUP_SNAPSHOT_BOUND not in group.metadata.finalizers:
        return plan("nothing of ours holds it")
    let_go = Change(group, removes=(Finalizer.GROUP_SNAPSHOT_BOUND,))
    if content is None or not points_back(content, group):
        if view.found.evidence is Evidence.CACHE:
            return plan("no content of its own is in the cache", AskServer())
        return plan("it has no content", *_delete_members(view), let_go)
    if view.restored:
        return _wait(view)
    if content.spec.deletion_policy is not DeletionPolicy.DELETE:
        steps: tuple[Step, ...] = (*_mark(content), *_delete_members(view), let_go)
        return plan("its content is retained", *steps)
    delete = () if content.is_deleting else (DeleteContent(content, group),)
    steps = (*_mark(content), *delete, *_delete_members(view))
    return plan("its content goes first", *steps)


def _mark(content: GroupSnapshotContent) -> tuple[Change, ...]:
    has_finalizer = Finalizer.GROUP_SNAPSHOT_CONTENT in content.metadata.finalizers
    adds = () if has_finalizer or content.is_deleting else (Finalizer.GROUP_SNAPSHOT_CONTENT,)
    if content.is_being_deleted and not adds:
        return ()
    annotations = {Annotation.GROUP_SNAPSHOT_BEING_DELETED: MARK}
    return (Change(content, adds=adds, annotations=annotations),)


def _delete_members(view: GroupView) -> tuple[DeleteMember, ...]:
    return tuple(DeleteMember(each) for each in view.owned if not each.is_deleting)


def _wait(view: GroupView) -> Plan:
    words = (
        f"Snapshot {view.restored[0].name} belonging to VolumeGroupSnapshot {view.group.name}"
        " is being used to restore a PVC"
    )
    if words == view.recorded:
        return plan("its deletion has to wait, as people know")
    event = Emit(view.group, EventType.WARNING, Reason.DELETE_PENDING, words)
    return plan("its deletion has to wait", event)
