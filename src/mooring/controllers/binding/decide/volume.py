"""What to do about a volume: make it available, finish its binding, release or reclaim it.

Always true of a plan:

- A volume is Released only if its claim is gone (the API was asked: `needs_second_look`), or has
  another volume while this one was made for it.
- Delete and Recycle begin only when Released or Failed is written, and only if the reclaim policy
  says so; a policy that is not known destroys nothing.
- A claim that was bound to the volume, and names it still, keeps it from being destroyed, even if
  the volume's claimRef names another claim.
- What an external provisioner or a CSI driver has made is deleted by them (`Delete.is_external`).
- A volume that is reserved by name alone keeps its reservation, and is Available.
- A volume whose claim does not point back yet is left to the claim's own pass.
- Of a claim's superfluous volumes, those that were made for it and are to be deleted are released;
  the others become Available again.
"""

from mooring.controllers.binding.decide.bind import unbind, with_phase
from mooring.controllers.binding.decide.migration import anneal_volume
from mooring.controllers.binding.decide.reclaim import JUDGED, find_holder, release
from mooring.controllers.binding.plan import Plan, Reason, Wake, save_volume
from mooring.controllers.binding.view import VolumeView
from mooring.model.claim import Claim
from mooring.model.event import EventType
from mooring.model.steps import Emit, plan
from mooring.model.storage_terms import ReclaimPolicy
from mooring.model.volume import Volume, VolumePhase
from mooring.model.wellknown import Annotation


def needs_second_look(volume: Volume, cached: Claim | None) -> bool:
    """Whether the API must confirm that the volume's claim is gone: a cache may be behind.

    One that was judged before is not asked about again, but a claim of the same name is: it may be
    older than the one the volume serves.
    """
    reference = volume.spec.claim_ref
    if reference is None or not reference.uid:
        return False
    if cached is None:
        return volume.status.phase not in JUDGED
    return cached.uid != reference.uid


def decide_volume(view: VolumeView) -> Plan:
    """The writes, events and operations that move this volume one stage on."""
    seen, claim = view.volume, view.claim
    volume = anneal_volume(seen)
    reference = volume.spec.claim_ref
    if reference is None:
        available = with_phase(volume, VolumePhase.AVAILABLE)
        return plan("nobody has claimed it", *save_volume(seen, available))
    if not reference.uid:
        available = with_phase(volume, VolumePhase.AVAILABLE)
        return plan("it is reserved for a claim", *save_volume(seen, available))
    if claim is not None and claim.spec.volume_name == volume.name:
        bound = with_phase(volume, VolumePhase.BOUND)
        return plan("it is bound", *save_volume(seen, bound))
    if claim is not None and not claim.spec.volume_name:
        return _decide_half_bound(seen, volume, claim)
    if claim is None:
        return _decide_left(view, volume, "its claim is gone")
    return _decide_superfluous(view, volume)


def _decide_half_bound(seen: Volume, volume: Volume, claim: Claim) -> Plan:
    """It points at a claim that does not point back yet; the claim's own pass finishes that."""
    saved = save_volume(seen, volume)
    if claim.spec.volume_mode == volume.spec.volume_mode:
        return plan("its claim has yet to point back", *saved, Wake(claim.key))
    due = "due to incompatible volumeMode."
    of_volume = (
        f'Cannot bind PersistentVolume to requested PersistentVolumeClaim "{claim.name}" {due}'
    )
    of_claim = (
        f'Cannot bind PersistentVolume "{volume.name}" to requested PersistentVolumeClaim {due}'
    )
    return plan(
        "it cannot serve its claim",
        *saved,
        Emit(seen, EventType.WARNING, Reason.VOLUME_MISMATCH, of_volume),
        Emit(claim, EventType.WARNING, Reason.VOLUME_MISMATCH, of_claim),
    )


def _decide_left(view: VolumeView, volume: Volume, because: str) -> Plan:
    """Apply its reclaim policy, unless that could destroy data in use."""
    seen, holder = view.volume, find_holder(volume, view.named_by)
    if holder is None:
        return plan(because, *release(seen, volume, view.plugins))
    message = f'Claim "{holder.key}" is bound to this volume, but spec.claimRef does not name it'
    event = Emit(seen, EventType.WARNING, Reason.CLAIM_MISBOUND, message)
    return plan("a claim has it that it does not name", event, *save_volume(seen, volume))


def _decide_superfluous(view: VolumeView, volume: Volume) -> Plan:
    """Its claim has another volume."""
    seen = view.volume
    was_made_for_it = Annotation.PROVISIONED_BY in volume.metadata.annotations
    if was_made_for_it and volume.spec.reclaim_policy == ReclaimPolicy.DELETE:
        return _decide_left(view, volume, "its claim has another volume, this was made for it")
    return plan("its claim has another volume", *unbind(seen, volume))
