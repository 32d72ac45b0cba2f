"""Finding a volume for a claim without looking at all of them.

Free volumes are kept by class, attributes class, volume mode and access modes, in buckets sorted by
size: the cost of a search grows with the logarithm of their number, and volumes that are bound or
released cost nothing. Reserved volumes are kept by the claim they name.
"""

from collections import defaultdict
from collections.abc import Iterator
from heapq import merge

import msgspec

from mooring.controllers.binding.decide.match import (
    find_free,
    find_reserved,
    is_free,
    selector_of,
)
from mooring.controllers.binding.volume_bucket import VolumeBucket
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.selector import LabelSelector
from mooring.model.storage_terms import AccessMode, VolumeMode
from mooring.model.volume import Volume

Modes = frozenset[AccessMode]


class BucketKey(msgspec.Struct, frozen=True):
    """What must be the same on both sides."""

    storage_class: str
    attributes_class: str
    mode: VolumeMode


class Reservation(msgspec.Struct, frozen=True):
    """The claim that a claimRef names; without a uid, any claim of that name."""

    claim: Key
    uid: str


class VolumeIndex:
    """The volumes a claim could get."""

    def __init__(self) -> None:
        self._volumes: dict[str, Volume] = {}
        self._buckets: dict[BucketKey, dict[Modes, VolumeBucket]] = {}
        self._reserved: dict[Reservation, tuple[str, ...]] = {}
        self._taken: set[str] = set()

    def put(self, volume: Volume) -> None:
        """Know this version of the volume, and forget any other."""
        self.discard(volume.name)
        name = volume.name
        if is_free(volume):
            self._volumes[name] = volume
            if name not in self._taken:
                self._bucket(volume).add(volume)
        elif (reservation := _reservation(volume)) is not None:
            self._volumes[name] = volume
            self._reserved[reservation] = (*self._reserved.get(reservation, ()), name)

    def discard(self, name: str) -> None:
        volume = self._volumes.pop(name, None)
        if volume is None:
            return
        reservation = _reservation(volume)
        if reservation is None:
            if name not in self._taken:
                self._remove_from_bucket(volume)
            return
        others = tuple(other for other in self._reserved[reservation] if other != name)
        if others:
            self._reserved[reservation] = others
        else:
            del self._reserved[reservation]

    def take(self, name: str) -> None:
        """Take it out of the free volumes for now: a claim is about to be bound to it."""
        if name in self._taken:
            return
        volume = self._volumes.get(name)
        if volume is not None and is_free(volume):
            self._remove_from_bucket(volume)
        self._taken.add(name)

    def give_back(self, name: str) -> None:
        """The binding is over, either way."""
        if name not in self._taken:
            return
        self._taken.remove(name)
        volume = self._volumes.get(name)
        if volume is not None and is_free(volume):
            self._bucket(volume).add(volume)

    def is_offered(self, name: str) -> bool:
        volume = self._volumes.get(name)
        return volume is not None and is_free(volume) and name not in self._taken

    def reserved_for(self, claim: Claim) -> list[Volume]:
        """Volumes that name this claim, by name alone or by uid as well."""
        found: list[Volume] = []
        for uid in ("", claim.uid):
            names = self._reserved.get(Reservation(claim.key, uid), ())
            found += (self._volumes[name] for name in names)
        return found

    def find(self, claim: Claim, *, delayed: bool) -> Volume | None:
        """The volume this claim gets; with delayed binding only one that is reserved for it.

        Raises: ValueError when the claim's selector makes no sense.
        """
        reserved = find_reserved(claim, self.reserved_for(claim))
        if reserved is not None or delayed:
            return reserved
        selector = selector_of(claim)
        return find_free(claim, selector, self._ranked(claim, selector))

    def find_too_small(self, claim: Claim) -> Volume | None:
        """The largest free volume that this claim would get if it asked for less.

        Raises: ValueError when the claim's selector makes no sense.
        """
        selector, wanted = selector_of(claim), frozenset(claim.spec.access_modes)
        buckets = self._buckets.get(bucket_key(claim), {})
        alike = [
            bucket.largest_first(selector, self._volumes)
            for modes, bucket in buckets.items()
            if wanted <= modes
        ]
        for _, name in merge(*alike, reverse=True):
            volume = self._volumes[name]
            if selector.matches(volume.metadata.labels):
                return volume if volume.size < claim.requested else None
        return None

    def _ranked(self, claim: Claim, selector: LabelSelector) -> Iterator[Volume]:
        """Free volumes that are large enough and have its modes, best first.

        All of its class and mode that the selector picks are among them.
        """
        buckets = self._buckets.get(bucket_key(claim))
        if buckets is None:
            return
        wanted, least = frozenset(claim.spec.access_modes), claim.requested.nanos
        by_count: defaultdict[int, list[VolumeBucket]] = defaultdict(list)
        for modes, bucket in buckets.items():
            if wanted <= modes:
                by_count[len(modes)].append(bucket)
        for count in sorted(by_count):
            alike = (
                bucket.candidates(least, selector, self._volumes) for bucket in by_count[count]
            )
            for _, name in merge(*alike):
                yield self._volumes[name]

    def _bucket(self, volume: Volume) -> VolumeBucket:
        buckets = self._buckets.setdefault(bucket_key(volume), {})
        modes = frozenset(volume.spec.access_modes)
        bucket = buckets.get(modes)
        if bucket is None:
            bucket = buckets[modes] = VolumeBucket()
        return bucket

    def _remove_from_bucket(self, volume: Volume) -> None:
        key, modes = bucket_key(volume), frozenset(volume.spec.access_modes)
        buckets = self._buckets[key]
        buckets[modes].remove(volume)
        if not buckets[modes]:
            del buckets[modes]
            if not buckets:
                del self._buckets[key]


def bucket_key(it: Claim | Volume) -> BucketKey:
    attributes_class = it.spec.volume_attributes_class_name or ""
    return BucketKey(it.storage_class, attributes_class, it.spec.volume_mode)


def _reservation(volume: Volume) -> Reservation | None:
    reference = volume.spec.claim_ref
    return None if reference is None else Reservation(reference.key, reference.uid)
