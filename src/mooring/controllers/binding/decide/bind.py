"""Binding and unbinding: what both sides look like afterwards, and the order of the writes.

The volume is written first. A crash after it leaves a reservation that the next pass finishes; the
other way round, a claim would point at a volume that another claim may take.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from mooring.controllers.binding.plan import Reason, Write, save_claim, save_volume
from mooring.model import quantity
from mooring.model.claim import Claim, ClaimPhase, ClaimStatus
from mooring.model.condition import Condition
from mooring.model.event import EventType
from mooring.model.meta import ObjectMeta
from mooring.model.reference import ClaimRef
from mooring.model.steps import Emit, Fail
from mooring.model.storage_terms import STORAGE
from mooring.model.volume import Volume, VolumePhase
from mooring.model.wellknown import Annotation, Finalizer

PROVISIONED_PREFIX = "pvc-"  # of volumes that are made for a claim; its uid follows
YES = "yes"  # what these annotations say; only their presence counts


def bind(
    seen: Volume, seen_claim: Claim, claim: Claim, conditions: tuple[Condition, ...] | None = None
) -> tuple[Write, ...]:
    """Tie them together; nothing at all when they are.

    `claim` is the claim as it will be saved together with this, `seen_claim` as it is in the API,
    `conditions` are those that it becomes Bound with; None: those that it has.
    """
    if STORAGE not in seen.spec.capacity and not claim.is_bound:
        message = f'PersistentVolume "{seen.name}" is without a storage capacity'
        event = Emit(seen_claim, EventType.WARNING, Reason.FAILED_BINDING, message)
        return event, Fail(message)
    volume = with_phase(pointed_at(seen, claim), VolumePhase.BOUND)
    return save_volume(seen, volume) + save_claim(
        seen_claim, _bound_claim(claim, volume, conditions)
    )


def unbind(seen: Volume, volume: Volume) -> tuple[Write, ...]:
    """Remove the claimRef if the binder chose the claim, else only its uid (a reservation)."""
    return save_volume(seen, with_phase(unpointed(volume), VolumePhase.AVAILABLE))


def pointed_at(volume: Volume, claim: Claim) -> Volume:
    reference = volume.spec.claim_ref
    if reference is not None and (reference.key, reference.uid) == (claim.key, claim.uid):
        return volume
    pointing = replace(volume, spec=replace(volume.spec, claim_ref=ClaimRef.to(claim)))
    if reference is not None and reference.points_at(claim.key, claim.uid):
        return pointing
    return replace(pointing, metadata=_annotated(pointing, Annotation.BOUND_BY_CONTROLLER))


def unpointed(volume: Volume) -> Volume:
    reference = volume.spec.claim_ref
    if reference is None:
        return volume
    if not volume.is_bound_by_controller:
        return replace(volume, spec=replace(volume.spec, claim_ref=replace(reference, uid="")))
    kept = without(volume.metadata.annotations, Annotation.BOUND_BY_CONTROLLER)
    metadata = replace(volume.metadata, annotations=kept)
    return replace(volume, metadata=metadata, spec=replace(volume.spec, claim_ref=None))


def with_phase(volume: Volume, phase: VolumePhase, message: str = "") -> Volume:
    """The message belongs to the phase: it changes only with it."""
    if volume.status.phase == phase:
        return volume
    return replace(volume, status=replace(volume.status, phase=phase, message=message))


def without_volume(claim: Claim, phase: ClaimPhase) -> Claim:
    """The claim in this phase, having nothing."""
    status = replace(
        claim.status,
        phase=phase,
        access_modes=(),
        capacity={},
        current_volume_attributes_class_name=None,
    )
    return replace(claim, status=status)


def without(annotations: Mapping[str, str], *names: str) -> Mapping[str, str]:
    return {name: value for name, value in annotations.items() if name not in names}


def _bound_claim(claim: Claim, volume: Volume, conditions: tuple[Condition, ...] | None) -> Claim:
    """Pointing at the volume, and having what the volume has."""
    added: list[str] = []
    spec = claim.spec
    if spec.volume_name != volume.name:
        spec = replace(spec, volume_name=volume.name)
        added.append(Annotation.BOUND_BY_CONTROLLER)
    if not claim.is_bind_completed:
        added.append(Annotation.BIND_COMPLETED)
    metadata = _annotated(claim, *added) if added else claim.metadata
    if _is_told_of(claim, volume):
        metadata = _without_record(metadata)
    status = _bound_status(claim, volume)
    if conditions is not None and not claim.is_bound:
        status = replace(status, conditions=conditions)
    return replace(claim, metadata=metadata, spec=spec, status=status)


def _is_told_of(claim: Claim, volume: Volume) -> bool:
    """Whether this is the volume that may have been in the making for the claim: then nothing holds
    the claim any more, also where the sidecar that wrote so is gone. One that is filled from
    something has that let go of first, by the sidecar."""
    is_filled = claim.spec.data_source is not None or claim.spec.data_source_ref is not None
    return (
        Finalizer.VOLUME_MAY_EXIST in claim.metadata.finalizers
        and volume.name == f"{PROVISIONED_PREFIX}{claim.uid}"
        and not is_filled
    )


def _without_record(metadata: ObjectMeta) -> ObjectMeta:
    kept = tuple(name for name in metadata.finalizers if name != Finalizer.VOLUME_MAY_EXIST)
    notes = without(metadata.annotations, Annotation.VOLUME_REQUEST)
    return replace(metadata, finalizers=kept, annotations=notes)


def _bound_status(claim: Claim, volume: Volume) -> ClaimStatus:
    status = replace(claim.status, access_modes=volume.spec.access_modes)
    if claim.is_bound:
        return status  # its capacity may lag behind the volume's: a file system yet to grow
    status = replace(status, phase=ClaimPhase.BOUND, capacity=_given_capacity(claim, volume))
    if claim.status.phase is not ClaimPhase.PENDING:
        return status
    name = volume.spec.volume_attributes_class_name
    return replace(status, current_volume_attributes_class_name=name)


def _given_capacity(claim: Claim, volume: Volume) -> Mapping[str, str]:
    before = volume.metadata.annotations.get(Annotation.PRE_RESIZE_CAPACITY)
    if before is None:
        return volume.spec.capacity
    try:
        size = quantity.canonical_resource(before)
    except ValueError:
        size = volume.spec.capacity[STORAGE]
    return {**claim.status.capacity, STORAGE: size}


def _annotated(it: Claim | Volume, *names: str) -> ObjectMeta:
    return replace(
        it.metadata, annotations={**it.metadata.annotations, **dict.fromkeys(names, YES)}
    )
