"""Which of the volumes that were made by hand a claim could have.

One that points at the claim beats all others, whatever its phase and labels. Among free ones the
smallest comes first, then the lowest name. Where a node can reach it is asked by `binding.py`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from heapq import merge
from typing import Final

import msgspec

from mooring.model.claim import Claim
from mooring.model.selector import EVERYTHING, SelectorDocument
from mooring.model.volume import Volume
from mooring.scheduling.decide.reach import NodeLabel
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


NO_OFFERS: Final = Offers()
Suits = Callable[[Volume], bool]


class Nearby:
    """The free volumes that a claim could have, as each node reaches them: smallest first.

    Nodes that have the same labels in question share what was found out for one of them.
    """

    def __init__(self, storage: Storage, claim: Claim, suits: Suits) -> None:
        self._storage = storage
        self._class = claim.storage_class
        self._size = claim.requested
        self._suits = suits
        self._keys = tuple(storage.free_volume_labels(self._class))
        self._offers: dict[NodeLabel, Offers] = {}
        self._others = self._at(None)

    def seen_from(self, labels: Mapping[str, str]) -> Iterable[Volume]:
        """Those that a node with these labels may reach: the affinity of some says yet more."""
        found = [] if self._others is NO_OFFERS else [self._others]
        for key in self._keys:
            if (value := labels.get(key)) is None:
                continue
            offers = self._offers.get((key, value))
            if offers is None:
                offers = self._offers[key, value] = self._at((key, value))
            if offers is not NO_OFFERS:
                found.append(offers)
        if len(found) <= 1:
            return found[0] if found else ()
        return merge(*found, key=_size_rank)

    def _at(self, label: NodeLabel | None) -> Offers:
        volumes = self._storage.free_volumes_at(self._class, self._size, label)
        offers = Offers(filter(self._suits, volumes))
        return offers if next(iter(offers), None) is not None else NO_OFFERS


class Candidates(msgspec.Struct, frozen=True):
    claim: Claim
    reserved: Volume | None = None
    free: Nearby | None = None
    too_small: Volume | None = None  # if there are none: the largest that would do but for its size


class ClaimShape(msgspec.Struct, frozen=True):
    """What a claim asks of a free volume of its class: claims of one shape can have the same."""

    nanos: int
    access_modes: frozenset[str]
    volume_mode: str
    attributes_class: str
    selector: bytes  # as JSON, so that shapes can be compared

    def suits(self, volume: Volume) -> bool:
        has = volume.spec
        if volume.size.nanos < self.nanos or not self.access_modes.issubset(has.access_modes):
            return False
        if self.volume_mode != has.volume_mode:
            return False
        if self.attributes_class != (has.volume_attributes_class_name or ""):
            return False
        if not self.selector:
            return True
        selector = msgspec.json.decode(self.selector, type=SelectorDocument).selector()
        return selector.matches(volume.metadata.labels)


def shape_of(claim: Claim) -> ClaimShape:
    wanted = claim.spec
    return ClaimShape(
        claim.requested.nanos,
        frozenset(wanted.access_modes),
        wanted.volume_mode,
        wanted.volume_attributes_class_name or "",
        b"" if wanted.selector is None else msgspec.json.encode(wanted.selector),
    )


def is_free(volume: Volume) -> bool:
    """Whether any claim may have it."""
    return volume.spec.claim_ref is None and not volume.is_deleting and volume.is_available


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

    nearby = Nearby(storage, claim, suits)
    free = storage.free_volumes(claim.storage_class, claim.requested)
    if next(filter(suits, free), None) is not None:
        return Candidates(claim, None, nearby)
    smaller = storage.smaller_volumes(claim.storage_class, claim.requested)
    return Candidates(claim, None, None, next(filter(suits, smaller), None))


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


def _size_rank(volume: Volume) -> tuple[int, str]:
    return volume.size.nanos, volume.name


def _reservation_rank(volume: Volume) -> tuple[bool, int, str]:
    """One that names the claim's uid comes first: its binding has begun."""
    reference = volume.spec.claim_ref
    return reference is None or not reference.uid, volume.size.nanos, volume.name
