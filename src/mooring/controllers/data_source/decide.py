"""Whether somebody fills the volume of a claim from its data source.

Always true of a plan:

- A claim that has a volume, or is being deleted, is left alone: the source is of the past.
- A claim is warned once of a kind that nobody serves; a populator that is announced later is
  enough, and if it is withdrawn before the claim is bound, the claim is warned again.
"""

from mooring.controllers.data_source.plan import UNRECOGNIZED, Count, Plan, Result
from mooring.controllers.data_source.view import ClaimView
from mooring.model.claim import Claim
from mooring.model.event import EventType
from mooring.model.populator import SourceKind
from mooring.model.snapshot import Snapshot
from mooring.model.steps import Emit, plan

MESSAGE = "The datasource for this PVC does not match any registered VolumePopulator"
_CLAIM = SourceKind(Claim.resource.group, Claim.resource.kind)
_SNAPSHOT = SourceKind(Snapshot.resource.group, Snapshot.resource.kind)


def find_source_kind(claim: Claim) -> SourceKind | None:
    source = claim.spec.data_source_ref
    return None if source is None else SourceKind(source.api_group or "", source.kind)


def decide(view: ClaimView) -> Plan:
    kind = find_source_kind(view.claim)
    if kind is None:
        return plan("it is filled from nothing", Count(Result.EMPTY))
    if kind == _CLAIM:
        return plan("a provisioner clones claims", Count(Result.CLAIM))
    if kind == _SNAPSHOT:
        return plan("a provisioner restores snapshots", Count(Result.SNAPSHOT))
    if kind in view.announced:
        return plan("a populator serves the kind", Count(Result.POPULATOR))
    if view.claim.spec.volume_name or view.claim.is_deleting:
        return plan("it needs no source any more", Count(Result.INVALID))
    if kind == view.warned_of:
        return plan("nobody serves the kind, as people know", Count(Result.INVALID))
    event = Emit(view.claim, EventType.WARNING, UNRECOGNIZED, MESSAGE)
    return plan("nobody serves the kind", Count(Result.INVALID), event)
