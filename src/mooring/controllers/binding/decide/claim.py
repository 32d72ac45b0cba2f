"""What to do about a claim: find it a volume, have one made, finish a binding, show a loss.

Always true of a plan:

- The volume is written before the claim points at it (`bind.py` says why).
- A claim gets a volume that is free, one that is reserved for it, or one that it was bound to and
  that has forgotten it; never one that names another claim.
- A claim that names a volume gets that one or none.
- A claim that was bound once gets no other volume: without its own it is lost.
- A volume is made only if none fits and the claim has a class that says how; with delayed binding
  only after the scheduler has chosen a node. Provision is the last step.
- A claim that becomes Pending or Lost has neither capacity nor access modes.
- A loss is shown by one event, with the change of phase; should the volume come back, the claim is
  bound again.
- The default class is assigned by itself; the next pass goes on from there.
- A claim becomes Bound with its use noted, where that is noted at all: one write, not two.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from mooring.controllers.binding.decide.bind import bind, without_volume
from mooring.controllers.binding.decide.explained import too_small, unregistered
from mooring.controllers.binding.decide.match import is_reserved_for
from mooring.controllers.binding.decide.migration import anneal_claim
from mooring.controllers.binding.plan import (
    AssignClass,
    Plan,
    Provision,
    Reason,
    Write,
    save_claim,
)
from mooring.controllers.binding.view import ClaimView, Provisioning
from mooring.model.claim import Claim, ClaimPhase
from mooring.model.csi_migration import DRIVERS
from mooring.model.event import EventType
from mooring.model.steps import Emit, Fail, plan
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume
from mooring.model.wellknown import Plugin

NO_VOLUME = "no persistent volumes available for this claim and no storage class is set"
NO_CONSUMER = "waiting for first consumer to be created before binding"
LOST_REFERENCE = "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"
LOST_VOLUME = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
PRIME = "prime-"
"""What upstream's populator library calls the claim whose volume it fills; a uid follows, that of
the claim which gets the volume when it is full."""
HANDED_OVER = "The volume was populated, and handed over to claim"
MISBOUND = "Two claims are bound to the same volume, this one is bound incorrectly"


def choose_default(classes: Iterable[StorageClass]) -> StorageClass | None:
    """Of the classes marked as default the newest, and of those the first by name."""
    marked = sorted((each for each in classes if each.is_default), key=lambda each: each.name)
    return max(marked, key=lambda each: each.metadata.creation_timestamp or "", default=None)


def decide_claim(view: ClaimView) -> Plan:
    """The writes, events and operations that move this claim one stage on."""
    claim = anneal_claim(view.claim)
    if claim.is_bind_completed:
        return _decide_bound(view, claim)
    if claim.spec.volume_name:
        return _decide_preset(view, claim)
    return _decide_unbound(view, claim)


def _decide_unbound(view: ClaimView, claim: Claim) -> Plan:
    """Any volume will do."""
    if view.match is not None:
        return plan("a volume fits", *_bind(view, claim, view.match))
    if not claim.has_class and view.default_class is not None:
        spec = replace(claim.spec, storage_class_name=view.default_class.name)
        assigned = AssignClass(view.claim, replace(claim, spec=spec))
        return plan("there is a default class", assigned)
    if view.storage_class is not None and not view.storage_class.volume_binding_mode.is_known:
        event = _unknown_mode_event(view.claim, view.storage_class)
        return _stay("nobody knows when to bind it", view, claim, event)
    if view.is_delayed and not claim.selected_node:
        return _stay("no pod with this claim has a node", view, claim, _waiting_event(view))
    if claim.storage_class:
        return _decide_provisioning(view, claim)
    message = NO_VOLUME
    if view.too_small is not None:
        message = too_small(claim, view.too_small, "no storage class is set")
    event = Emit(view.claim, EventType.NORMAL, Reason.FAILED_BINDING, message)
    return _stay("nothing fits and there is no class", view, claim, event)


def _waiting_event(view: ClaimView) -> Emit:
    reason, message = Reason.WAIT_FOR_FIRST_CONSUMER, NO_CONSUMER
    if pods := view.unscheduled_pods:
        reason = Reason.WAIT_FOR_POD_SCHEDULED
        several = "s" if len(pods) > 1 else ""
        message = f"waiting for pod{several} {','.join(pods)} to be scheduled"
    return Emit(view.claim, EventType.NORMAL, reason, message)


def _unknown_mode_event(claim: Claim, storage_class: StorageClass) -> Emit:
    mode = storage_class.volume_binding_mode
    message = f'StorageClass "{storage_class.name}" has an unknown volumeBindingMode "{mode}"'
    return Emit(claim, EventType.WARNING, Reason.FAILED_BINDING, message)


def _decide_provisioning(view: ClaimView, claim: Claim) -> Plan:
    """Its class makes volumes, here or elsewhere. The phase is left as it is meanwhile."""
    saved = save_claim(view.claim, claim)
    if view.provisioning is Provisioning.OFF:
        return plan("volumes are not made on demand here", *saved)
    if view.storage_class is None:
        return _cannot_provision(
            view, claim, f'storageclass.storage.k8s.io "{claim.storage_class}" not found'
        )
    name = view.storage_class.provisioner
    if name in DRIVERS:
        order = Provision(claim.key, claim.uid, claim.storage_class, DRIVERS[name])
        return plan("a CSI driver has taken over the plugin of its class", *saved, order)
    if name in view.plugins.provision:
        order = Provision(claim.key, claim.uid, claim.storage_class, name, plugin=name)
        return plan("a plugin makes volumes of its class", *saved, order)
    if not name.startswith(Plugin.PREFIX):
        order = Provision(claim.key, claim.uid, claim.storage_class, name)
        return plan("an external provisioner makes volumes of its class", *saved, order)
    if name in view.plugins.known:
        return _cannot_provision(view, claim, "no provisionable volume plugin matched")
    return _cannot_provision(view, claim, f"no volume plugin matched name: {name}")


def _cannot_provision(view: ClaimView, claim: Claim, message: str) -> Plan:
    if view.too_small is not None:
        message = too_small(claim, view.too_small, message)
    elif view.registered is not None and view.storage_class is not None:
        message = f"{message}. {unregistered(view.storage_class.provisioner, view.registered)}"
    event = Emit(view.claim, EventType.WARNING, Reason.PROVISIONING_FAILED, message)
    return plan("nobody makes volumes of its class", event, *save_claim(view.claim, claim))


def _decide_preset(view: ClaimView, claim: Claim) -> Plan:
    """The user asks for one volume and no other."""
    volume = view.volume
    if volume is None:
        pending = without_volume(claim, ClaimPhase.PENDING)
        return plan("the volume it asks for is not there", *save_claim(view.claim, pending))
    if volume.spec.claim_ref is None and view.holder is None:
        return _decide_asked_for(view, claim, volume)
    if is_reserved_for(volume, claim):  # both sides say so: neither size nor class is looked at
        return plan("the volume it asks for waits for it", *_bind(view, claim, volume))
    message = f'volume "{volume.name}" already bound to a different claim.'
    event = Emit(view.claim, EventType.WARNING, Reason.FAILED_BINDING, message)
    if not claim.is_bound_by_controller:
        return _stay("the volume it asks for is taken", view, claim, event)
    other = view.holder or volume.spec.claim_ref
    wrong = f'invalid binding of claim "{claim.key}" to volume "{volume.name}": '
    failure = Fail(f'{wrong}volume already claimed by "{other.key if other else ""}"')
    return plan("the volume chosen for it is taken", event, failure)


def _decide_asked_for(view: ClaimView, claim: Claim, volume: Volume) -> Plan:
    why_not = find_mismatch(claim, volume)
    if why_not is None:
        return plan("the volume it asks for is free", *_bind(view, claim, volume))
    message = f'Cannot bind to requested volume "{volume.name}": {why_not}'
    event = Emit(view.claim, EventType.WARNING, Reason.VOLUME_MISMATCH, message)
    return _stay("the volume it asks for does not fit", view, claim, event)


def find_mismatch(claim: Claim, volume: Volume) -> str | None:
    """Why a free volume cannot serve the claim that asks for it by name."""
    wanted, has = claim.spec, volume.spec
    if volume.is_deleting:
        return f'the volume is marked for deletion "{volume.name}"'
    if volume.size.bytes_ceil() < claim.requested.bytes_ceil():
        return "requested PV is too small"
    if volume.storage_class != claim.storage_class:
        return "storageClassName does not match"
    if (wanted.volume_attributes_class_name or "") != (has.volume_attributes_class_name or ""):
        return "volumeAttributesClassName does not match"
    if wanted.volume_mode != has.volume_mode:
        return "incompatible volumeMode"
    if not set(wanted.access_modes) <= set(has.access_modes):
        return "incompatible accessMode"
    return None


def _decide_bound(view: ClaimView, claim: Claim) -> Plan:
    """It was bound once, so a volume that is gone now means lost data."""
    volume = view.volume
    if not claim.spec.volume_name:
        return _lose(view, claim, Reason.CLAIM_LOST, LOST_REFERENCE)
    if volume is None:
        return _lose(view, claim, Reason.CLAIM_LOST, LOST_VOLUME)
    reference = volume.spec.claim_ref
    if reference is None:
        return plan("its volume has forgotten it", *_bind(view, claim, volume))
    if reference.uid == claim.uid:
        return plan("it is bound", *_bind(view, claim, volume))
    if claim.name == f"{PRIME}{reference.uid}":
        return _hand_over(view, claim, f"{HANDED_OVER} {reference.key}")
    return _lose(view, claim, Reason.CLAIM_MISBOUND, MISBOUND)


def _hand_over(view: ClaimView, claim: Claim, message: str) -> Plan:
    """Lost is what the populator waits for, but nothing went wrong: there is no warning."""
    if claim.status.phase is ClaimPhase.LOST:
        return plan("its volume is handed over", *save_claim(view.claim, claim))
    lost = without_volume(claim, ClaimPhase.LOST)
    event = Emit(view.claim, EventType.NORMAL, Reason.VOLUME_HANDED_OVER, message)
    return plan("a populator handed its volume over", *save_claim(view.claim, lost), event)


def _lose(view: ClaimView, claim: Claim, reason: Reason, message: str) -> Plan:
    """One event, with the change of phase; a volume that comes back makes it bound again."""
    if claim.status.phase is ClaimPhase.LOST:
        return plan("it is lost already", *save_claim(view.claim, claim))
    lost = without_volume(claim, ClaimPhase.LOST)
    event = Emit(view.claim, EventType.WARNING, reason, message)
    return plan("it is lost", *save_claim(view.claim, lost), event)


def _bind(view: ClaimView, claim: Claim, volume: Volume) -> tuple[Write, ...]:
    return bind(volume, view.claim, claim, view.conditions_when_bound)


def _stay(because: str, view: ClaimView, claim: Claim, event: Emit) -> Plan:
    pending = without_volume(claim, ClaimPhase.PENDING)
    return plan(because, event, *save_claim(view.claim, pending))
