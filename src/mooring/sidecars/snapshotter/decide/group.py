"""What is to be done about a VolumeGroupSnapshotContent; as `content.py`, for several volumes.

A driver that takes no group snapshots is asked for none, whatever the content says.
"""

from mooring.csi.requests import CreateGroupSnapshot, GroupMembers
from mooring.model.group_snapshot import GroupSnapshotContent
from mooring.model.reference import SecretReference
from mooring.model.snapshot import DeletionPolicy
from mooring.model.steps import plan
from mooring.model.wellknown import Finalizer, Parameter
from mooring.sidecars.finalizers import has_finalizer
from mooring.sidecars.snapshotter.parameters import (
    GROUP_GET,
    Impossible,
    find_group_secret,
    find_secret,
    for_driver,
)
from mooring.sidecars.snapshotter.plan import (
    Close,
    CreateFails,
    CreateGroup,
    DeleteFails,
    DeleteGroup,
    GroupPlan,
    GroupStep,
    LookUpGroup,
    Release,
)
from mooring.sidecars.snapshotter.request import SnapshotRequest, find_request
from mooring.sidecars.snapshotter.view import GroupContentView

INCAPABLE = "the driver takes no group snapshots: it lacks CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT"


def decide_group_content(view: GroupContentView) -> GroupPlan:
    content = view.content
    if content.spec.driver != view.driver:
        return plan("it is another's")
    if content.is_doomed:
        return _decide_deletion(view)
    if content.is_ready:
        if content.is_being_created:
            return plan("it is ready", Close())
        return plan("it is ready")
    if not view.abilities.takes_group_snapshots:
        return plan(INCAPABLE, CreateFails(INCAPABLE))
    if content.is_static or content.group_handle:
        return _decide_look_up(view)
    return _decide_create(view)


def _decide_deletion(view: GroupContentView) -> GroupPlan:
    content = view.content
    if not has_finalizer(content, Finalizer.GROUP_SNAPSHOT_CONTENT):
        return plan("its group snapshot was deleted, or there never was one")
    if content.is_being_created:
        if content.group_handle:
            return plan("its creation is over", Close())
        if not view.abilities.takes_group_snapshots:
            return plan(INCAPABLE, CreateFails(INCAPABLE))
        return _decide_create(view)
    if content.spec.deletion_policy is not DeletionPolicy.DELETE:
        return plan("its policy is to retain the group snapshot", Release())
    if not content.group_handle:
        return plan("there is no group snapshot", Release())
    if not view.abilities.takes_group_snapshots:
        return plan(INCAPABLE, DeleteFails(f"Failed to delete group snapshot: {INCAPABLE}"))
    group = GroupMembers(content.group_handle, content.snapshot_handles)
    if not group.snapshot_ids:
        missing = (
            f"cannot delete group snapshot content {content.name}."
            " No snapshots found in the group snapshot"
        )
        return plan(missing, DeleteFails(f"Failed to delete group snapshot: {missing}"))
    try:
        return plan("its group snapshot is deleted", DeleteGroup(group, find_group_secret(content)))
    except Impossible as error:
        return plan(str(error), DeleteFails(f"Failed to get snapshot credentials: {error}"))


def _decide_look_up(view: GroupContentView) -> GroupPlan:
    content = view.content
    steps: list[GroupStep] = [Close()] if content.is_being_created else []
    if not content.group_handle:
        return plan("it names no group", CreateFails("its volumeGroupSnapshotHandle is empty"))
    try:
        secret = _secret_to_look_up(view)
    except Impossible as error:
        return plan(str(error), *steps, CreateFails(str(error)))
    group = GroupMembers(content.group_handle, content.snapshot_handles)
    return plan("it may be ready by now", *steps, LookUpGroup(group, secret))


def _secret_to_look_up(view: GroupContentView) -> SecretReference | None:
    """Raises: Impossible."""
    parameters = view.group_class.parameters if view.group_class else {}
    known = {"volumegroupsnapshotcontent.name": view.content.name}
    return find_secret(GROUP_GET, parameters, known)


def _decide_create(view: GroupContentView) -> GroupPlan:
    content = view.content
    try:
        request = _request(view)
        secret = find_group_secret(content)
        sources = content.spec.source.volume_handles
        if not sources or not all(sources) or len(set(sources)) != len(sources):
            raise Impossible("its volumeHandles are missing, empty or not different")
    except Impossible as error:
        return plan(str(error), CreateFails(str(error)))
    create = CreateGroup(
        CreateGroupSnapshot(request.name, sources, request.parameters),
        secret,
        record=request if _is_unrecorded(content, request) else None,
    )
    because = "it may exist" if content.is_being_created else "it is asked for"
    return plan(because, create)


def _is_unrecorded(content: GroupSnapshotContent, request: SnapshotRequest) -> bool:
    return (
        not content.is_being_created
        or not has_finalizer(content, Finalizer.GROUP_SNAPSHOT_CONTENT)
        or find_request(content) != request
    )


def _request(view: GroupContentView) -> SnapshotRequest:
    """What is on record; else by the class. Raises: Impossible."""
    content = view.content
    if content.is_being_created and (recorded := find_request(content)):
        return recorded
    reference = content.spec.volume_group_snapshot_ref
    if not reference.uid:
        raise Impossible("its volumeGroupSnapshotRef has no uid")
    name = view.options.group_names.name(reference.uid)
    chosen = view.group_class
    if chosen is not None and chosen.driver != view.driver:
        chosen = None
    if chosen is None and not (content.is_being_created and content.is_deleting):
        raise Impossible(
            f"failed to take group snapshot {content.name} without a group snapshot class"
        )
    parameters = for_driver(chosen.parameters) if chosen else {}
    if view.options.extra_create_metadata:
        parameters |= {
            Parameter.GROUP_SNAPSHOT_NAME: reference.name,
            Parameter.GROUP_SNAPSHOT_NAMESPACE: reference.namespace,
            Parameter.GROUP_SNAPSHOT_CONTENT_NAME: content.name,
        }
    return SnapshotRequest(name, parameters)
