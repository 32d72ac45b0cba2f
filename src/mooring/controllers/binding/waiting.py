"""Claims that wait for something, so that what they wait for can wake them and nobody else.

A volume wakes one claim that it can serve, not all that might want it. The claim leaves the list
when it is woken; its next pass puts it back if there still is nothing for it.
"""

from collections.abc import Iterator

import msgspec
from sortedcontainers import SortedList

from mooring.controllers.binding.decide.match import selector_of, takes
from mooring.controllers.binding.index import Kind, kind_of
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.volume import Volume


class _Waiting(msgspec.Struct, frozen=True):
    claim: Claim
    takes_any: bool  # without delayed binding, any volume that fits will do


class WaitingClaims:
    def __init__(self) -> None:
        self._waiting: dict[Key, _Waiting] = {}
        self._by_kind: dict[Kind, SortedList] = {}  # of (requested, key), those that take any
        self._by_class: dict[str, dict[Key, None]] = {}
        self._offers: dict[Key, list[str]] = {}  # volumes that woke a claim

    def __contains__(self, key: Key) -> bool:
        return key in self._waiting

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, claim: Claim, *, takes_any: bool) -> None:
        self.discard(claim.key)
        self._waiting[claim.key] = _Waiting(claim, takes_any)
        self._by_class.setdefault(claim.storage_class, {})[claim.key] = None
        if takes_any:
            kind = kind_of(claim)
            lot = self._by_kind.get(kind)
            if lot is None:
                lot = self._by_kind[kind] = SortedList()
            lot.add((claim.requested.nanos, claim.key))

    def discard(self, key: Key) -> None:
        waiting = self._waiting.pop(key, None)
        if waiting is None:
            return
        claim = waiting.claim
        of_class = self._by_class[claim.storage_class]
        del of_class[key]
        if not of_class:
            del self._by_class[claim.storage_class]
        if waiting.takes_any:
            kind = kind_of(claim)
            lot = self._by_kind[kind]
            lot.remove((claim.requested.nanos, key))
            if not lot:
                del self._by_kind[kind]

    def offer(self, volume: Volume) -> Key | None:
        """The claim that this free volume wakes: the largest that it can serve."""
        lot = self._by_kind.get(kind_of(volume))
        if lot is None:
            return None
        most = (volume.size.nanos + 1, Key("", ""))
        fitting: Iterator[tuple[int, Key]] = lot.irange(maximum=most, reverse=True)
        for _, key in fitting:
            claim = self._waiting[key].claim
            if takes(claim, selector_of(claim), volume):
                self.discard(key)
                self._offers.setdefault(key, []).append(volume.name)
                return key
        return None

    def take_offers(self, key: Key) -> list[str]:
        """The volumes that have woken this claim: those it did not take are for others."""
        return self._offers.pop(key, [])

    def of_class(self, name: str) -> list[Claim]:
        return [self._waiting[key].claim for key in self._by_class.get(name, ())]
