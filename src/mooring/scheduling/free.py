"""The unclaimed volumes, by class, by where they can be reached from, and in order of size."""

from bisect import bisect_left, insort
from collections.abc import Collection, Hashable, Iterator
from typing import TypeVar

from mooring.model.quantity import Quantity
from mooring.model.volume import Volume
from mooring.scheduling.decide.matching import is_free
from mooring.scheduling.decide.reach import NodeLabel, node_labels_of

K = TypeVar("K", bound=Hashable)

_Rank = tuple[int, str]  # size in billionths, and name
_Shelf = tuple[str, NodeLabel | None]
"""Volumes of a class that nodes with this label reach; None: it takes more to say which do."""


class FreeVolumes:
    def __init__(self) -> None:
        self._volumes: dict[str, Volume] = {}
        self._classes: dict[str, list[_Rank]] = {}
        self._shelves: dict[_Shelf, list[_Rank]] = {}
        self._labels: dict[str, dict[str, int]] = {}  # of each class, and how many shelves have it

    def put(self, volume: Volume) -> None:
        """Take in how a volume is now; only one that is free stays."""
        self.discard(volume.name)
        if not is_free(volume):
            return
        name, rank = volume.storage_class, _rank(volume)
        self._volumes[volume.name] = volume
        insort(self._classes.setdefault(name, []), rank)
        for label in _labels(volume):
            if (name, label) not in self._shelves and label is not None:
                counts = self._labels.setdefault(name, {})
                counts[label[0]] = counts.get(label[0], 0) + 1
            insort(self._shelves.setdefault((name, label), []), rank)

    def discard(self, name: str) -> None:
        volume = self._volumes.pop(name, None)
        if volume is None:
            return
        storage_class, rank = volume.storage_class, _rank(volume)
        _remove(self._classes, storage_class, rank)
        for label in _labels(volume):
            if _remove(self._shelves, (storage_class, label), rank) and label is not None:
                self._lower(storage_class, label[0])

    def of_class(self, name: str, size: Quantity) -> Iterator[Volume]:
        """Those that are no smaller, smallest first."""
        return self._from(self._classes.get(name, []), size)

    def below(self, name: str, size: Quantity) -> Iterator[Volume]:
        """Those that are smaller, largest first."""
        ranked = self._classes.get(name, [])
        for place in range(bisect_left(ranked, (size.nanos, "")) - 1, -1, -1):
            yield self._volumes[ranked[place][1]]

    def label_keys(self, name: str) -> Collection[str]:
        return self._labels.get(name, {}).keys()

    def reached_by(self, name: str, size: Quantity, label: NodeLabel | None) -> Iterator[Volume]:
        """Those of a class, no smaller, that nodes with this label reach; None: all the others."""
        ranked = self._shelves.get((name, label))
        return iter(()) if ranked is None else self._from(ranked, size)

    def _from(self, ranked: list[_Rank], size: Quantity) -> Iterator[Volume]:
        for place in range(bisect_left(ranked, (size.nanos, "")), len(ranked)):
            yield self._volumes[ranked[place][1]]

    def _lower(self, storage_class: str, key: str) -> None:
        counts = self._labels[storage_class]
        counts[key] -= 1
        if not counts[key]:
            del counts[key]
        if not counts:
            del self._labels[storage_class]


def _labels(volume: Volume) -> tuple[NodeLabel | None, ...]:
    return node_labels_of(volume) or (None,)


def _rank(volume: Volume) -> _Rank:
    return volume.size.nanos, volume.name


def _remove(shelves: dict[K, list[_Rank]], key: K, rank: _Rank) -> bool:
    """Whether the shelf is empty, and gone."""
    ranked = shelves[key]
    del ranked[bisect_left(ranked, rank)]
    if not ranked:
        del shelves[key]
    return not ranked
