"""The finalizer of a claim that snapshots are being taken of.

Always true of a plan:

- A claim with an unfinished snapshot keeps the finalizer, or gets it back if it is not deleting.
- A claim that is being deleted loses it only if the server, not a cache, lists no such snapshot.
"""

from mooring.controllers.snapshots.plan import AskServer, Change, Plan
from mooring.controllers.snapshots.view import ClaimView, Evidence
from mooring.model.snapshot import Snapshot
from mooring.model.steps import plan
from mooring.model.wellknown import Finalizer


def decide_claim(view: ClaimView) -> Plan:
    claim, name = view.claim, Finalizer.CLAIM_AS_SOURCE
    needing = [each for each in view.snapshots if is_unfinished(each, claim.name)]
    if name not in claim.metadata.finalizers:
        if claim.is_deleting or not any(each.content_name for each in needing):
            return plan("no snapshot is being taken of it")
        return plan("a snapshot is being taken of it", Change(claim, adds=(name,)))
    if needing:
        return plan("a snapshot is being taken of it")
    if claim.is_deleting and view.evidence is Evidence.CACHE:
        return plan("no unfinished snapshot is in the cache", AskServer())
    return plan("no snapshot needs it any more", Change(claim, removes=(name,)))


def is_unfinished(snapshot: Snapshot, claim: str) -> bool:
    return snapshot.spec.source.persistent_volume_claim_name == claim and not snapshot.is_ready
