"""Which volume a claim gets.

A volume reserved for the claim comes before all others, whatever its class, labels and phase. Among
free ones those with the fewest access modes come first, then the smallest, then the lowest name.
"""

from collections.abc import Iterable

from mooring.model.claim import Claim
from mooring.model.selector import EVERYTHING, LabelSelector
from mooring.model.volume import Volume, VolumePhase

FREE_PHASES = frozenset((VolumePhase.AVAILABLE, VolumePhase.PENDING))
"""Pending is a new volume: binding it at once saves writing Available."""


def is_reserved_for(volume: Volume, claim: Claim) -> bool:
    reference = volume.spec.claim_ref
    return reference is not None and reference.points_at(claim.key, claim.uid)


def is_free(volume: Volume) -> bool:
    """Whether any claim may take it."""
    return (
        volume.spec.claim_ref is None
        and not volume.is_deleting
        and volume.status.phase in FREE_PHASES
    )


def fits(claim: Claim, volume: Volume) -> bool:
    """What no claim can do without, not even with a volume reserved for it."""
    wanted, has = claim.spec, volume.spec
    return (
        wanted.volume_mode == has.volume_mode
        and (wanted.volume_attributes_class_name or "") == (has.volume_attributes_class_name or "")
        and not volume.is_deleting
        and set(wanted.access_modes) <= set(has.access_modes)
        and volume.size >= claim.requested
    )


def rank(volume: Volume) -> tuple[int, int, str]:
    """Free volumes are offered in this order."""
    return len(set(volume.spec.access_modes)), volume.size.nanos, volume.name


def selector_of(claim: Claim) -> LabelSelector:
    """Raises: ValueError when the claim's selector makes no sense."""
    return claim.spec.selector.selector() if claim.spec.selector is not None else EVERYTHING


def takes(claim: Claim, selector: LabelSelector, volume: Volume) -> bool:
    """Whether the claim may have this free volume."""
    return (
        selector.matches(volume.metadata.labels)  # first: this alone may be true of few of many
        and is_free(volume)
        and volume.storage_class == claim.storage_class
        and fits(claim, volume)
    )


def find_reserved(claim: Claim, volumes: Iterable[Volume]) -> Volume | None:
    """The best of the volumes that are reserved for the claim and fit it.

    One that names the claim's uid comes first: its binding has begun.
    """
    reserved = (v for v in volumes if is_reserved_for(v, claim) and fits(claim, v))
    return min(reserved, key=_reservation_rank, default=None)


def _reservation_rank(volume: Volume) -> tuple[bool, tuple[int, int, str]]:
    reference = volume.spec.claim_ref
    return reference is None or not reference.uid, rank(volume)


def find_free(claim: Claim, selector: LabelSelector, ranked: Iterable[Volume]) -> Volume | None:
    """The first of `ranked` that the claim may have."""
    return next((volume for volume in ranked if takes(claim, selector, volume)), None)
