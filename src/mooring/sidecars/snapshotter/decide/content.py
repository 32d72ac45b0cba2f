"""What is to be done about a VolumeSnapshotContent.

Always true of a plan:
- A content of another driver is left alone.
- `Create` is the last step; the content has the finalizer and on record that it is being created,
  or gets both before the driver is asked.
- `Delete` is of a content that is deleted, whose snapshot is deleted too, whose policy is Delete,
  that belongs to no group, and of which nothing is being created.
- A content that may be being created is asked for again, in the words on record, and not deleted.
- A ready content is asked for no more.
- A member of a group is neither taken nor deleted by itself.
"""

from mooring.csi.requests import CreateSnapshot
from mooring.model.reference import SecretReference
from mooring.model.snapshot import DeletionPolicy, SnapshotContent
from mooring.model.steps import plan
from mooring.model.wellknown import Finalizer, Parameter
from mooring.sidecars.finalizers import has_finalizer
from mooring.sidecars.snapshotter.parameters import (
    LIST,
    Impossible,
    find_content_secret,
    find_secret,
    for_driver,
)
from mooring.sidecars.snapshotter.plan import (
    Close,
    Create,
    CreateFails,
    Delete,
    DeleteFails,
    LookUp,
    MarkReady,
    Plan,
    Release,
    Step,
)
from mooring.sidecars.snapshotter.request import SnapshotRequest, find_request
from mooring.sidecars.snapshotter.view import ContentView


def decide_content(view: ContentView) -> Plan:
    content = view.content
    if content.spec.driver != view.driver:
        return plan("it is another's")
    if content.is_doomed:
        return _decide_deletion(view)
    if content.is_ready:
        if content.is_being_created:
            return plan("it is ready", Close())
        return plan("it is ready")
    if content.is_member and not content.snapshot_handle:
        return plan("its group was not taken yet")
    if content.is_static or content.is_member:
        return _decide_look_up(view)
    if content.snapshot_handle and view.can_look_up:
        return _decide_look_up(view)
    return _decide_create(view)


def _decide_deletion(view: ContentView) -> Plan:
    content = view.content
    if not has_finalizer(content, Finalizer.SNAPSHOT_CONTENT):
        return plan("its snapshot was deleted, or there never was one")
    if content.is_being_created:
        is_told = content.is_ready or view.can_look_up  # else it is asked for until it is ready
        if content.snapshot_handle and is_told:
            return plan("its creation is over", Close())
        return _decide_create(view)
    handle = content.snapshot_handle
    if content.spec.deletion_policy is not DeletionPolicy.DELETE:
        return plan("its policy is to retain the snapshot", Release())
    if content.is_member:
        return plan("its snapshot goes with its group", Release())
    if not handle:
        return plan("there is no snapshot", Release())
    try:
        return plan("its snapshot is deleted", Delete(handle, find_content_secret(content)))
    except Impossible as error:
        return plan(str(error), DeleteFails(f"Failed to get snapshot credentials: {error}"))


def _decide_look_up(view: ContentView) -> Plan:
    content = view.content
    handle = content.snapshot_handle
    if not handle:
        return plan("it names no snapshot", CreateFails("its snapshotHandle is empty"))
    steps: list[Step] = [Close()] if content.is_being_created else []
    if not view.can_look_up:
        return plan("the driver cannot be asked about it", *steps, MarkReady(handle))
    try:
        secret = _secret_to_look_up(view)
    except Impossible as error:
        return plan(str(error), *steps, CreateFails(str(error)))
    return plan("it may be ready by now", *steps, LookUp(handle, secret))


def _secret_to_look_up(view: ContentView) -> SecretReference | None:
    """Raises: Impossible."""
    if view.content.is_member:
        return find_content_secret(view.content)
    parameters = view.snapshot_class.parameters if view.snapshot_class else {}
    return find_secret(LIST, parameters, {"volumesnapshotcontent.name": view.content.name})


def _decide_create(view: ContentView) -> Plan:
    content = view.content
    try:
        request = _request(view)
        secret = find_content_secret(content)
        source = content.spec.source.volume_handle
        if not source:
            raise Impossible("its volumeHandle is empty")
    except Impossible as error:
        return plan(str(error), CreateFails(str(error)))
    create = Create(
        CreateSnapshot(request.name, source, request.parameters),
        secret,
        record=request if _is_unrecorded(content, request) else None,
        is_repeated=not view.can_look_up and not content.is_doomed,
    )
    because = "it may exist" if content.is_being_created else "it is asked for"
    return plan(because, create)


def _is_unrecorded(content: SnapshotContent, request: SnapshotRequest) -> bool:
    return (
        not content.is_being_created
        or not has_finalizer(content, Finalizer.SNAPSHOT_CONTENT)
        or find_request(content) != request
    )


def _request(view: ContentView) -> SnapshotRequest:
    """What is on record; else by the class. Raises: Impossible."""
    content = view.content
    if content.is_being_created and (recorded := find_request(content)):
        return recorded
    reference = content.spec.volume_snapshot_ref
    if not reference.uid:
        raise Impossible("its volumeSnapshotRef has no uid")
    name = view.options.names.name(reference.uid)
    chosen = view.snapshot_class
    if chosen is not None and chosen.driver != view.driver:
        chosen = None
    if chosen is None and not (content.is_being_created and content.is_deleting):
        # Of one that may exist and is to go, the answer counts, whatever the parameters were.
        raise Impossible(f"failed to take snapshot {content.name} without a snapshot class")
    parameters = for_driver(chosen.parameters) if chosen else {}
    if view.options.extra_create_metadata:
        parameters |= {
            Parameter.SNAPSHOT_NAME: reference.name,
            Parameter.SNAPSHOT_NAMESPACE: reference.namespace,
            Parameter.SNAPSHOT_CONTENT_NAME: content.name,
        }
    return SnapshotRequest(name, parameters)
