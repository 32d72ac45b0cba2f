"""Which of the volumes that were made by hand a claim could have.

One that points at the claim beats all others, whatever its phase and labels. Among free ones the
smallest comes first, then the lowest name. Where a node can reach it is asked by `binding.py`.
"""

from collections.abc import Iterable, Iterator

import msgspec

from mooring.model.claim import Claim
from mooring.model.selector import EVERYTHING
from mooring.model.volume import Volume
from mooring.scheduling.view import Storage


class Offers:
    """Volumes in the order in which they are offered, each looked at once however many ask.

    Of thousands, mostly the first few are needed.
    """

    def __init__(self, volumes: Iterable[Volume] = ()) -> None:
        self._rest = iter(volumes)
        self._known: list[Volume] = []

    def __iter__(self) -> Iterator[Volume]:
        place = 0
        while True:
            if place == len(self._known):
                found = next(self._rest, None)
                if found is None:
                    return
                self._known.append(found)
            yield self._known[place]
            place += 1


class Candidates(msgspec.Struct, frozen=True):
    claim: Claim
    reserved: Volume | None = None
    free: Offers = Offers()
    too_small: Volume | None = None  # if there are none: the largest that would do but for its size


def find_candidates(storage: Storage, claim: Claim) -> Candidates:
    """Raises: ValueError when the claim's selector makes no sense."""
    reserved = min(_reserved(storage, claim), key=_reservation_rank, default=None)
    if reserved is not None:
        return Candidates(claim, reserved)
    selector = claim.spec.selector.selector() if claim.spec.selector is not None else EVERYTHING
    wanted = set(claim.spec.access_modes)

    def suits(volume: Volume) -> bool:
        return (
            _fits(claim, volume)
            and wanted <= set(volume.spec.access_modes)
            and selector.matches(volume.metadata.labels)
        )

    offers = Offers(filter(suits, storage.free_volumes(claim.storage_class, claim.requested)))
    if next(iter(offers), None) is not None:
        return Candidates(claim, None, offers)
    smaller = storage.smaller_volumes(claim.storage_class, claim.requested)
    return Candidates(claim, None, offers, next(filter(suits, smaller), None))


def _reserved(storage: Storage, claim: Claim) -> Iterator[Volume]:
    for volume in storage.reserved_volumes(claim.key):
        reference = volume.spec.claim_ref
        if (
            reference is not None
            and reference.points_at(claim.key, claim.uid)
            and volume.storage_class == claim.storage_class
            and volume.size >= claim.requested
            and _fits(claim, volume)
        ):
            yield volume


def _fits(claim: Claim, volume: Volume) -> bool:
    """What not even a reservation can do without."""
    wanted, has = claim.spec, volume.spec
    return (
        wanted.volume_mode == has.volume_mode
        and (wanted.volume_attributes_class_name or "") == (has.volume_attributes_class_name or "")
        and not volume.is_deleting
    )


def _reservation_rank(volume: Volume) -> tuple[bool, int, str]:
    """One that names the claim's uid comes first: its binding has begun."""
    reference = volume.spec.claim_ref
    return reference is None or not reference.uid, volume.size.nanos, volume.name
