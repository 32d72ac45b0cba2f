"""What is to be done about a claim.

Always true of a plan:
- It has one step or none; two where an event is recorded before a failure.
- A claim with another driver's record is not touched: only that provisioner can settle it.
- `Provision`: the claim wants a volume and has no PersistentVolume, its class is this driver's, the
  scheduler has chosen a node if the class waits for one, and the driver has not just found it
  impossible. Where each node is served apart, a node is chosen, and it is ours.
- `BecomeOwner`: no node is chosen, and none is to be by a pod; the class allows our own.
- An open claim (a volume may exist without a PersistentVolume) is closed only when its volume has,
  or had, a PersistentVolume. Else it is settled: CreateVolume is repeated, and its volume deleted.
- `Settle` is of an open claim that needs no volume any more, or whose class is another driver's.
- `ReleaseSource` is of a claim that is being deleted, is not open, and is no clone's source.
"""

from mooring.model.claim import ClaimPhase
from mooring.model.csi_translation.translate import serves
from mooring.model.event import EventType
from mooring.model.steps import Emit, Fail, plan
from mooring.model.storage_class import StorageClass
from mooring.model.wellknown import Finalizer
from mooring.sidecars.finalizers import has_finalizer
from mooring.sidecars.provisioner.plan import (
    FAILED,
    BecomeOwner,
    ClaimPlan,
    Close,
    Later,
    Provision,
    ReleaseSource,
    Settle,
)
from mooring.sidecars.provisioner.view import ClaimView, recorded_driver, recorded_node


def decide_claim(view: ClaimView) -> ClaimPlan:
    """Choose what moves a claim one stage on."""
    claim, storage_class = view.claim, view.storage_class
    if view.is_anothers_first:
        return _decide_anothers_first(view)
    if not view.is_ours:
        return plan("it is another's")
    if view.is_unwanted:
        return _decide_unwanted(view)
    if view.has_volume:  # the record stays until the binder has read the volume
        return plan("its volume is there, to be bound")
    if storage_class is None:
        missing = f'storageclass.storage.k8s.io "{claim.storage_class}" not found'
        return plan("its class is missing", Fail(missing))
    if not serves(view.driver, storage_class.provisioner):
        if view.is_open:
            return plan("a volume may exist, and its class is another's", Settle(claim, None))
        return plan("its class is another's by now")
    if storage_class.waits_for_consumer and not claim.selected_node:
        return plan("no pod has chosen a node")
    if view.has_no_owner:
        return _decide_ownerless(view, storage_class)
    if view.paused_seconds > 0:
        return plan("the driver found it impossible", Later(view.paused_seconds))
    return plan("it needs a volume", Provision(claim, storage_class))


def _decide_ownerless(view: ClaimView, storage_class: StorageClass) -> ClaimPlan:
    if not view.takes_immediate:
        return plan("somebody else chooses nodes")
    if not view.is_allowed_here(storage_class):
        return plan("its class allows other places alone")
    if view.seconds_to_turn > 0:
        return plan("other nodes may take it first", Later(view.seconds_to_turn))
    return plan("it may be made here", BecomeOwner(view.claim, storage_class))


def _decide_anothers_first(view: ClaimView) -> ClaimPlan:
    """Two records do not fit on one claim, and the first must not be lost."""
    if view.is_unwanted:
        return plan("it is another's")
    other = recorded_driver(view.claim)
    node = recorded_node(view.claim) if other == view.driver else ""
    where = f" on node {node}" if node else ""
    why = (
        f"driver {other}{where} may have made a volume for this claim:"
        " its provisioner has to settle that"
    )
    told = Emit(view.claim, EventType.WARNING, FAILED, why)
    return plan(why, told, Fail(why))


def _decide_unwanted(view: ClaimView) -> ClaimPlan:
    claim = view.claim
    if view.is_open:
        if view.was_told_of:
            is_binding = claim.status.phase is ClaimPhase.PENDING and not claim.is_deleting
            if is_binding and not view.is_gone:  # the binder is not to be outrun by our write
                return plan("it is being bound")
            return plan("its volume is told of", Close(claim))
        return plan("a volume may exist that nobody wants", Settle(claim, view.own_class))
    if (
        claim.is_deleting
        and not view.is_gone
        and not view.is_source
        and has_finalizer(claim, Finalizer.CLONE_SOURCE)
    ):
        return plan("nobody is cloned from it any more", ReleaseSource(claim))
    return plan("it wants no volume")
