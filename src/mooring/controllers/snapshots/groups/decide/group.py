"""What to do about a group of snapshots: have it taken, bind it, make its members, copy its state.

Always true of a plan:

- A group is shown as ready last: when all its members exist and are bound.
- A group that was bound once gets no other content.
- A content that exists already is bound only if it names the group, and no other by its uid.
"""

from mooring.controllers.snapshots.groups.decide.create import (
    class_missing,
    decide_creation,
    fail,
    protect,
)
from mooring.controllers.snapshots.groups.decide.deletion import decide_deletion
from mooring.controllers.snapshots.groups.decide.members import (
    decide_members,
    find_gap,
    find_stranger,
)
from mooring.controllers.snapshots.groups.view import GroupView
from mooring.controllers.snapshots.names import names_it, points_back
from mooring.controllers.snapshots.plan import (
    AskServer,
    Change,
    ChangeStatus,
    GroupReason,
    Plan,
    Step,
)
from mooring.controllers.snapshots.status import group_copied
from mooring.controllers.snapshots.view import Evidence
from mooring.model.document import Doc
from mooring.model.event import EventType
from mooring.model.group_snapshot import GroupSnapshot, GroupSnapshotContent
from mooring.model.steps import Emit, plan
from mooring.model.wellknown import Finalizer

ONE_SOURCE = "Exactly one of Selector and VolumeGroupSnapshotContentName should be specified"
MISSING = "VolumeGroupSnapshotContent is missing"
MISBOUND = "VolumeGroupSnapshotContent is not bound to the VolumeGroupSnapshot correctly"
NOT_STATIC = (
    "VolumeGroupSnapshotContent is dynamically provisioned while expecting a pre-provisioned one"
)


def decide_group(view: GroupView) -> Plan:
    group, content = view.group, view.found.content
    if group.is_deleting:
        return decide_deletion(view)
    source = group.spec.source
    is_static = source.volume_group_snapshot_content_name is not None
    if is_static == (source.selector is not None):
        return fail(view, GroupReason.INVALID, ONE_SOURCE)
    if content is None:
        if is_static or group.content_name:
            return _decide_missing(view)
        return decide_creation(view)
    if group.is_ready and group.content_name:
        if not points_back(content, group):
            return fail(view, GroupReason.MISBOUND, MISBOUND)
        return plan("it is ready", *protect(group))
    if not names_it(content, group):
        words = (
            f"VolumeGroupSnapshotContent [{content.name}] is bound to a different group snapshot"
        )
        return fail(view, GroupReason.CONTENT_MISBOUND, words)
    if is_static:
        return _decide_static(view, content)
    if not content.spec.source.volume_handles:
        words = f"VolumeGroupSnapshotContent {content.name} is pre-provisioned while expecting"
        return fail(view, GroupReason.CONTENT_MISMATCH, f"{words} a dynamically provisioned one")
    if not points_back(content, group):
        return fail(view, GroupReason.MISBOUND, MISBOUND)
    return _decide_dynamic(view, content)


def decide_group_content(content: GroupSnapshotContent) -> Plan:
    """Contents of this controller have their finalizer from the start; others may lack it."""
    source = content.spec.source
    trouble = ""
    if bool(source.volume_handles) == (source.group_snapshot_handles is not None):
        trouble = "Exactly one of VolumeHandles and GroupSnapshotHandles should be specified"
    elif not content.spec.driver or "" in source.volume_handles:
        trouble = "spec.driver or a handle in spec.source is empty"
    if trouble:
        event = Emit(content, EventType.WARNING, GroupReason.CONTENT_INVALID, trouble)
        return plan("it cannot be served", event)
    name = Finalizer.GROUP_SNAPSHOT_CONTENT
    if not content.spec.volume_group_snapshot_ref.uid:
        return plan("no group snapshot has it yet")
    if content.is_deleting or name in content.metadata.finalizers:
        return plan("nothing to do")
    return plan("its finalizer is missing", Change(content, adds=(name,)))


def _decide_missing(view: GroupView) -> Plan:
    if view.found.evidence is Evidence.CACHE:
        return plan("no content of it is in the cache", AskServer())
    return fail(view, GroupReason.CONTENT_MISSING, MISSING)


def _decide_static(view: GroupView, content: GroupSnapshotContent) -> Plan:
    group, named = view.group, view.group.spec.volume_group_snapshot_class_name
    if content.spec.source.group_snapshot_handles is None:
        return fail(view, GroupReason.CONTENT_MISMATCH, NOT_STATIC)
    if points_back(content, group):
        return _copy(view, content, is_whole=True)
    if content.is_deleting:
        return fail(view, GroupReason.CONTENT_MISSING, MISSING)
    spec: Doc = {"volumeGroupSnapshotRef": {"uid": group.uid}}
    if named is not None and content.spec.volume_group_snapshot_class_name is None:
        if view.classes.named is None:
            refusal = class_missing(named)
            return fail(view, refusal.reason, str(refusal), is_unready=False)
        spec["volumeGroupSnapshotClassName"] = named
    adds = tuple({Finalizer.GROUP_SNAPSHOT_CONTENT}.difference(content.metadata.finalizers))
    steps = (
        *protect(group),
        Change(content, adds=adds, spec=spec),
        *_copy(view, content, is_whole=True).steps,
    )
    return plan("the content waits for it", *steps)


def _decide_dynamic(view: GroupView, content: GroupSnapshotContent) -> Plan:
    """Members first, then the group's own state."""
    if gap := find_gap(content):
        return fail(view, GroupReason.CONTENT_MISMATCH, f"VolumeGroupSnapshotContent: {gap}")
    if stranger := find_stranger(view):
        return fail(view, GroupReason.CONTENT_MISBOUND, stranger)
    members = decide_members(view, content)
    is_whole = not members and all(member.is_bound for member in view.members)
    copy = _copy(view, content, is_whole=is_whole)
    return plan("members are missing" if members else copy.because, *members, *copy.steps)


def _copy(view: GroupView, content: GroupSnapshotContent, *, is_whole: bool) -> Plan:
    group = view.group
    change = group_copied(group, content, is_whole=is_whole)
    steps: list[Step] = [*protect(group)]
    if change:
        steps += [ChangeStatus(group, change), *_news(group, change)]
    return plan("its content knows how it is" if change else "nothing is new", *steps)


def _news(group: GroupSnapshot, change: Doc) -> tuple[Emit, ...]:
    said: list[Emit] = []
    if "creationTime" in change:
        words = f"GroupSnapshot {group.key} was successfully created by the CSI driver."
        said.append(Emit(group, EventType.NORMAL, GroupReason.CREATED, words))
    if change.get("readyToUse"):
        words = f"GroupSnapshot {group.key} is ready to use."
        said.append(Emit(group, EventType.NORMAL, GroupReason.READY, words))
    return tuple(said)
