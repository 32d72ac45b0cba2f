"""The snapshots and contents of a group's members: what is missing of them is made, in order.

Always true of a plan:

- A member's snapshot exists before its content, which is made with its uid: so that no content is
  an orphan.
- What exists is compared, not written over: a member that is ready stays ready.
- No member is made unless the driver has answered for each volume of the group exactly once.
"""

from collections import Counter

import msgspec

from mooring.controllers.snapshots.groups.view import GroupView, Member
from mooring.controllers.snapshots.names import (
    member_content_name,
    member_name,
    names_it,
    points_back,
)
from mooring.controllers.snapshots.plan import Change, ChangeStatus, Create, Step
from mooring.model.document import Doc
from mooring.model.group_snapshot import GroupSnapshot, GroupSnapshotContent, MemberSnapshot
from mooring.model.meta import Resource
from mooring.model.reference import ObjectReference
from mooring.model.snapshot import Snapshot, SnapshotContent
from mooring.model.wellknown import Annotation, Finalizer


def find_gap(content: GroupSnapshotContent) -> str:
    """How the driver's answer differs from the volumes that were asked for; empty: not at all."""
    asked = content.spec.source.volume_handles
    status = content.status
    answered = () if status is None else status.volume_snapshot_info_list
    if not asked or (not answered and not content.is_ready):
        return ""
    counts = Counter(info.volume_handle for info in answered)
    if any(not info.snapshot_handle for info in answered):
        return "the driver returned a snapshot without a handle"
    if set(counts) != set(asked) or any(count > 1 for count in counts.values()):
        volumes = f"{len(answered)} snapshots for {len(asked)} volumes"
        return f"the driver returned {volumes}, or others than it was asked for"
    return ""


def find_stranger(view: GroupView) -> str:
    """A snapshot or content that has a member's name and is none; empty: there is none."""
    for member in view.members:
        snapshot, content = member.snapshot, member.content
        if snapshot is not None and not _is_owned(snapshot, view.group):
            return f"VolumeSnapshot {snapshot.name} does not belong to the group"
        if content is not None and snapshot is not None and not names_it(content, snapshot):
            return f"VolumeSnapshotContent {content.name} is bound to a different snapshot"
    return ""


def decide_members(view: GroupView, content: GroupSnapshotContent) -> tuple[Step, ...]:
    """For each member, the next thing that it lacks; a later pass goes on from there."""
    steps: list[Step] = []
    for member in view.members:
        steps += _next(view.group, content, member)
    return tuple(steps)


def _next(group: GroupSnapshot, content: GroupSnapshotContent, member: Member) -> tuple[Step, ...]:
    snapshot, made = member.snapshot, member.content
    if snapshot is None:
        return (Create(Snapshot, _snapshot(group, member), group),)
    if snapshot.is_deleting:
        return ()
    if made is None:
        if snapshot.content_name:
            return ()  # it had one: its own loop shows the loss
        return (Create(SnapshotContent, _content(snapshot, group, content, member), group),)
    steps: list[Step] = []
    if not points_back(made, snapshot):
        steps.append(Change(made, spec={"volumeSnapshotRef": {"uid": snapshot.uid}}))
    if made.status is None or made.status.snapshot_handle is None:
        steps.append(ChangeStatus(made, _status(content, member.info)))
    return tuple(steps)


def _is_owned(snapshot: Snapshot, group: GroupSnapshot) -> bool:
    return any(owner.uid == group.uid for owner in snapshot.metadata.owner_references)


def _snapshot(group: GroupSnapshot, member: Member) -> Doc:
    """Without a volume that has the handle, the claim is not known: upstream leaves it empty."""
    reference = None if member.volume is None else member.volume.spec.claim_ref
    is_here = reference is not None and reference.namespace == group.namespace
    claim = reference.name if reference is not None and is_here else ""
    of: Resource = group.resource
    return {
        "metadata": {
            "name": member_name(group, member.info.volume_handle),
            "namespace": group.namespace,
            "finalizers": [Finalizer.SNAPSHOT_IN_GROUP],
            "ownerReferences": [
                {
                    "apiVersion": of.api_version,
                    "kind": of.kind,
                    "name": group.name,
                    "uid": group.uid,
                }
            ],
        },
        "spec": {"source": {"persistentVolumeClaimName": claim}},
    }


def _content(
    snapshot: Snapshot, group: GroupSnapshot, of: GroupSnapshotContent, member: Member
) -> Doc:
    handle = of.status.volume_group_snapshot_handle if of.status else None
    annotations = {Annotation.GROUP_SNAPSHOT_HANDLE: handle or ""}
    known = of.metadata.annotations
    if Annotation.GROUP_SNAPSHOT_SECRET_NAME in known:
        annotations |= {
            Annotation.SNAPSHOT_SECRET_NAME: known[Annotation.GROUP_SNAPSHOT_SECRET_NAME],
            Annotation.SNAPSHOT_SECRET_NAMESPACE: known.get(
                Annotation.GROUP_SNAPSHOT_SECRET_NAMESPACE, ""
            ),
        }
    spec: Doc = {
        "volumeSnapshotRef": msgspec.to_builtins(ObjectReference.to(snapshot)),
        "source": {"volumeHandle": member.info.volume_handle},
        "deletionPolicy": of.spec.deletion_policy.value,
        "driver": of.spec.driver,
    }
    if member.volume is not None:
        spec["sourceVolumeMode"] = member.volume.spec.volume_mode.value
    return {
        "metadata": {
            "name": member_content_name(group, member.info.volume_handle),
            "finalizers": [Finalizer.SNAPSHOT_CONTENT],
            "annotations": annotations,
        },
        "spec": spec,
    }


def _status(of: GroupSnapshotContent, info: MemberSnapshot) -> Doc:
    fields = {
        "snapshotHandle": info.snapshot_handle,
        "volumeGroupSnapshotHandle": of.status and of.status.volume_group_snapshot_handle,
        "creationTime": info.creation_time,
        "restoreSize": info.restore_size,
        "readyToUse": bool(info.ready_to_use),
    }
    return {name: value for name, value in fields.items() if value is not None}
