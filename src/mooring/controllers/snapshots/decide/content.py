"""A content by itself: that it can be served, and that it cannot go unseen once it is bound."""

from mooring.controllers.snapshots.decide.snapshot import find_trouble
from mooring.controllers.snapshots.plan import Change, Plan, Reason
from mooring.model.event import EventType
from mooring.model.snapshot import SnapshotContent
from mooring.model.steps import Emit, plan
from mooring.model.wellknown import Finalizer


def decide_content(content: SnapshotContent) -> Plan:
    """Contents of this controller have their finalizer from the start; others may lack it."""
    if trouble := find_trouble(content):
        event = Emit(content, EventType.WARNING, Reason.CONTENT_INVALID, trouble)
        return plan("it cannot be served", event)
    if not content.spec.volume_snapshot_ref.uid:
        return plan("no snapshot has it yet")
    if content.is_deleting or Finalizer.SNAPSHOT_CONTENT in content.metadata.finalizers:
        return plan("nothing to do")
    return plan("its finalizer is missing", Change(content, adds=(Finalizer.SNAPSHOT_CONTENT,)))
