"""The unclaimed volumes, by class and in order of size."""

from bisect import bisect_left, insort
from collections.abc import Iterator

from mooring.model.quantity import Quantity
from mooring.model.volume import Volume

_Rank = tuple[int, str]  # size in billionths, and name


class FreeVolumes:
    def __init__(self) -> None:
        self._volumes: dict[str, Volume] = {}
        self._places: dict[str, tuple[str, _Rank]] = {}  # class and rank of each
        self._ranked: dict[str, list[_Rank]] = {}  # of each class

    def put(self, volume: Volume) -> None:
        """Take in how a volume is now; only one that is free stays."""
        self.discard(volume.name)
        if volume.spec.claim_ref is not None or volume.is_deleting or not volume.is_available:
            return
        name, rank = volume.storage_class, (volume.size.nanos, volume.name)
        self._volumes[volume.name] = volume
        self._places[volume.name] = name, rank
        insort(self._ranked.setdefault(name, []), rank)

    def discard(self, name: str) -> None:
        if self._volumes.pop(name, None) is None:
            return
        storage_class, rank = self._places.pop(name)
        ranked = self._ranked[storage_class]
        del ranked[bisect_left(ranked, rank)]
        if not ranked:
            del self._ranked[storage_class]

    def of_class(self, name: str, size: Quantity) -> Iterator[Volume]:
        """Those that are no smaller, smallest first."""
        ranked = self._ranked.get(name, [])
        for place in range(bisect_left(ranked, (size.nanos, "")), len(ranked)):
            yield self._volumes[ranked[place][1]]

    def below(self, name: str, size: Quantity) -> Iterator[Volume]:
        """Those that are smaller, largest first."""
        ranked = self._ranked.get(name, [])
        for place in range(bisect_left(ranked, (size.nanos, "")) - 1, -1, -1):
            yield self._volumes[ranked[place][1]]
