"""What to do about a snapshot: have it taken, bind it, copy its state, show what is wrong.

Always true of a plan:

- A snapshot that was bound once gets no other content: without its own it is shown as not ready,
  and is ready again should the content come back. A second copy would be of another time.
- A content that exists already is bound only if it names the snapshot, and no other by its uid.
- What a content says is copied; times and sizes once, readiness and errors always.
- An error is written and reported once, until it is another one.
- That something is missing is believed only of the server.
"""

from mooring.controllers.snapshots.decide.create import (
    class_missing,
    decide_creation,
    fail,
    protect,
)
from mooring.controllers.snapshots.decide.deletion import decide_deletion
from mooring.controllers.snapshots.names import find_group_owner, names_it, points_back
from mooring.controllers.snapshots.plan import (
    AskServer,
    Change,
    ChangeStatus,
    Plan,
    Reason,
    Step,
)
from mooring.controllers.snapshots.status import copied
from mooring.controllers.snapshots.view import Evidence, SnapshotView
from mooring.model.document import Doc
from mooring.model.event import EventType
from mooring.model.snapshot import Snapshot, SnapshotContent
from mooring.model.steps import Emit, plan
from mooring.model.wellknown import Finalizer

ONE_SOURCE = (
    "Exactly one of PersistentVolumeClaimName and VolumeSnapshotContentName should be specified"
)
MISSING = "VolumeSnapshotContent is missing"
MISBOUND = "VolumeSnapshotContent is not bound to the VolumeSnapshot correctly"
NOT_STATIC = (
    "VolumeSnapshotContent is dynamically provisioned while expecting a pre-provisioned one"
)


def decide_snapshot(view: SnapshotView) -> Plan:
    snapshot = view.snapshot
    if snapshot.is_deleting:
        return decide_deletion(view)
    source = snapshot.spec.source
    is_static = source.volume_snapshot_content_name is not None
    if is_static == (source.persistent_volume_claim_name is not None):
        return fail(view, Reason.INVALID, ONE_SOURCE)
    content = view.found.content
    if snapshot.is_ready and snapshot.content_name:
        return _decide_ready(view, content)
    if is_static:
        return _decide_static(view, content)
    if find_group_owner(snapshot) is not None:
        return _decide_member(view, content)
    return _decide_dynamic(view, content)


def _decide_ready(view: SnapshotView, content: SnapshotContent | None) -> Plan:
    if content is None:
        return _decide_missing(view)
    if not points_back(content, view.snapshot):
        return fail(view, Reason.MISBOUND, MISBOUND)
    steps: list[Step] = [*protect(view.snapshot, content.spec.deletion_policy), *_join(view)]
    status, joined = view.snapshot.status, view.uses.joined
    if joined is not None and status is not None and not status.volume_group_snapshot_name:
        steps.append(ChangeStatus(view.snapshot, {"volumeGroupSnapshotName": joined.name}))
    return plan("it is ready", *steps)


def _decide_missing(view: SnapshotView) -> Plan:
    if view.found.evidence is Evidence.CACHE:
        return plan("no content of it is in the cache", AskServer())
    return fail(view, Reason.CONTENT_MISSING, MISSING)


def _decide_dynamic(view: SnapshotView, content: SnapshotContent | None) -> Plan:
    snapshot = view.snapshot
    if content is None:
        return _decide_missing(view) if snapshot.content_name else decide_creation(view)
    if content.spec.source.volume_handle is None:
        found = f"VolumeSnapshotContent {content.name} is pre-provisioned while expecting"
        return fail(view, Reason.CONTENT_MISMATCH, f"{found} a dynamically provisioned one")
    if not points_back(content, snapshot):
        return fail(view, Reason.CONTENT_MISBOUND, _bound_elsewhere(content))
    return _copy(view, content)


def _decide_member(view: SnapshotView, content: SnapshotContent | None) -> Plan:
    if content is None:
        if view.snapshot.content_name:
            return _decide_missing(view)
        return plan("its group makes its content")
    if not names_it(content, view.snapshot):
        return fail(view, Reason.CONTENT_MISBOUND, _bound_elsewhere(content))
    if not points_back(content, view.snapshot):
        return plan("its group binds its content")
    return _copy(view, content)


def _decide_static(view: SnapshotView, content: SnapshotContent | None) -> Plan:
    snapshot, source = view.snapshot, view.snapshot.spec.source
    if content is None or (content.is_deleting and not points_back(content, snapshot)):
        return (
            _decide_missing(view)
            if content is None
            else fail(view, Reason.CONTENT_MISSING, MISSING)
        )
    if content.name != source.volume_snapshot_content_name:
        return fail(view, Reason.MISBOUND, MISBOUND)
    if content.spec.source.snapshot_handle is None:
        return fail(view, Reason.CONTENT_MISMATCH, NOT_STATIC)
    if not names_it(content, snapshot):
        return fail(view, Reason.CONTENT_MISBOUND, _bound_elsewhere(content))
    if points_back(content, snapshot):
        return _copy(view, content)
    return _bind(view, content)


def _bind(view: SnapshotView, content: SnapshotContent) -> Plan:
    """The content gets the snapshot's uid, its class and its own finalizer in one write."""
    snapshot, named = view.snapshot, view.snapshot.spec.volume_snapshot_class_name
    if trouble := find_trouble(content):
        return fail(view, Reason.BIND_FAILED, f"{_NOT_BOUND} {trouble}")
    spec: Doc = {"volumeSnapshotRef": {"uid": snapshot.uid}}
    if named is not None:
        if view.classes.named is None:
            refusal = class_missing(named)
            return fail(view, refusal.reason, str(refusal), is_unready=False)
        if view.classes.named.driver != content.spec.driver:
            other = f"class {named} is of the driver {view.classes.named.driver}"
            words = f"{_NOT_BOUND} {other}, the content of {content.spec.driver}"
            return fail(view, Reason.BIND_FAILED, words)
        spec["volumeSnapshotClassName"] = named
    adds = tuple({Finalizer.SNAPSHOT_CONTENT}.difference(content.metadata.finalizers))
    steps = (
        *protect(snapshot, content.spec.deletion_policy),
        Change(content, adds=adds, spec=spec),
        *_copy(view, content).steps,
    )
    return plan("the content waits for it", *steps)


_NOT_BOUND = "Snapshot failed to bind VolumeSnapshotContent,"


def find_trouble(content: SnapshotContent) -> str:
    """What upstream's schema lets pass, and no driver can serve; empty: nothing."""
    source = content.spec.source
    if (source.volume_handle is None) == (source.snapshot_handle is None):
        return "Exactly one of VolumeHandle and SnapshotHandle should be specified"
    if "" in {source.volume_handle, source.snapshot_handle}:
        return "the handle in spec.source is empty"
    if not content.spec.driver:
        return "spec.driver is empty"
    return ""


def _copy(view: SnapshotView, content: SnapshotContent) -> Plan:
    """Events follow the write, so that they are not repeated when it fails."""
    snapshot = view.snapshot
    joined = view.uses.joined or view.uses.group
    change = copied(snapshot, content, "" if joined is None else joined.name)
    steps: list[Step] = [*protect(snapshot, content.spec.deletion_policy), *_join(view)]
    if change:
        steps += [ChangeStatus(snapshot, change), *_news(snapshot, change)]
    return plan("its content knows how it is" if change else "nothing is new", *steps)


def _news(snapshot: Snapshot, change: Doc) -> tuple[Emit, ...]:
    said: list[Emit] = []
    if "creationTime" in change:
        words = f"Snapshot {snapshot.key} was successfully created by the CSI driver."
        said.append(Emit(snapshot, EventType.NORMAL, Reason.CREATED, words))
    if change.get("readyToUse"):
        words = f"Snapshot {snapshot.key} is ready to use."
        said.append(Emit(snapshot, EventType.NORMAL, Reason.READY, words))
    return tuple(said)


def _join(view: SnapshotView) -> tuple[Change, ...]:
    """A snapshot that an administrator made for a member of a group gets the group as its owner."""
    group = view.uses.joined
    if group is None or find_group_owner(view.snapshot) is not None:
        return ()
    return (Change(view.snapshot, adds=(Finalizer.SNAPSHOT_IN_GROUP,), owner=group),)


def _bound_elsewhere(content: SnapshotContent) -> str:
    return f"VolumeSnapshotContent [{content.name}] is bound to a different snapshot"
