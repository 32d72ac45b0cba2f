"""Claims that wait for a volume, so that a new one wakes only a claim that fits.

A volume wakes one claim that it can serve, not all that might want it. The claim leaves the list
when it is woken; its next pass puts it back if there still is nothing for it.

Claims are kept as volumes are: by all that must be equal and by access modes, sorted by size. One
with a selector is kept by a label that a volume must have to be picked, if there is such a label.
"""

from collections.abc import Iterator
from heapq import merge

import msgspec
from sortedcontainers import SortedList

from mooring.controllers.binding.decide.match import selector_of, takes
from mooring.controllers.binding.volume_index import BucketKey, Modes, bucket_key
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.selector import LabelSelector, Operator
from mooring.model.volume import Volume

Label = tuple[str, str]
ClaimBuckets = dict[Label, SortedList]
"""Of (requested, key), by the label that is asked for."""

ANY: Label = ("", "")
"""No volume has this label: here are the claims that a volume with any labels may serve."""

_EQUALITY = frozenset((Operator.EQUALS, Operator.DOUBLE_EQUALS, Operator.IN))


class _Waiting(msgspec.Struct, frozen=True):
    claim: Claim
    selector: LabelSelector
    labels: tuple[Label, ...]  # where it is kept; nowhere: with delayed binding no volume wakes it


class WaitingClaims:
    def __init__(self) -> None:
        self._waiting: dict[Key, _Waiting] = {}
        self._buckets: dict[BucketKey, dict[Modes, ClaimBuckets]] = {}
        self._by_class: dict[str, dict[Key, None]] = {}
        self._offers: dict[Key, list[str]] = {}  # volumes that woke a claim

    def __contains__(self, key: Key) -> bool:
        return key in self._waiting

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, claim: Claim, *, takes_any: bool) -> None:
        """Without delayed binding it takes any volume that fits.

        Raises: ValueError when the claim's selector makes no sense.
        """
        selector = selector_of(claim)
        self.discard(claim.key)
        labels = _labels_asked(selector) if takes_any else ()
        self._waiting[claim.key] = _Waiting(claim, selector, labels)
        self._by_class.setdefault(claim.storage_class, {})[claim.key] = None
        if labels:
            modes = frozenset(claim.spec.access_modes)
            buckets = self._buckets.setdefault(bucket_key(claim), {}).setdefault(modes, {})
            for label in labels:
                bucket = buckets.get(label)
                if bucket is None:
                    bucket = buckets[label] = SortedList()
                bucket.add((claim.requested.nanos, claim.key))

    def discard(self, key: Key) -> None:
        waiting = self._waiting.pop(key, None)
        if waiting is None:
            return
        claim = waiting.claim
        of_class = self._by_class[claim.storage_class]
        del of_class[key]
        if not of_class:
            del self._by_class[claim.storage_class]
        if waiting.labels:
            self._remove_from_buckets(claim, waiting.labels)

    def offer(self, volume: Volume) -> Key | None:
        """The claim that this free volume wakes: the largest that it can serve."""
        by_modes = self._buckets.get(bucket_key(volume))
        if by_modes is None:
            return None
        has, most = frozenset(volume.spec.access_modes), (volume.size.nanos + 1, Key("", ""))
        fitting: Iterator[tuple[int, Key]] = merge(
            *(
                buckets[label].irange(maximum=most, reverse=True)
                for modes, buckets in by_modes.items()
                if modes <= has
                for label in (ANY, *volume.metadata.labels.items())
                if label in buckets
            ),
            reverse=True,
        )
        for _, key in fitting:
            waiting = self._waiting[key]
            if takes(waiting.claim, waiting.selector, volume):
                self.discard(key)
                self._offers.setdefault(key, []).append(volume.name)
                return key
        return None

    def take_offers(self, key: Key) -> list[str]:
        """The volumes that have woken this claim: those it did not take are for others."""
        return self._offers.pop(key, [])

    def of_class(self, name: str) -> list[Claim]:
        return [self._waiting[key].claim for key in self._by_class.get(name, ())]

    def _remove_from_buckets(self, claim: Claim, labels: tuple[Label, ...]) -> None:
        key, modes = bucket_key(claim), frozenset(claim.spec.access_modes)
        by_modes = self._buckets[key]
        buckets = by_modes[modes]
        for label in labels:
            buckets[label].remove((claim.requested.nanos, claim.key))
            if not buckets[label]:
                del buckets[label]
        if not buckets:
            del by_modes[modes]
            if not by_modes:
                del self._buckets[key]


def _labels_asked(selector: LabelSelector) -> tuple[Label, ...]:
    """Labels of which a volume must have one to be picked; the first requirement that says so."""
    for requirement in selector.requirements:
        if requirement.operator in _EQUALITY:
            return tuple({(requirement.key, value): None for value in requirement.values})
    return (ANY,)
