"""Free volumes that are alike in all that must be equal, smallest first.

A selector is answered from an index of its label. Such an index is made for the first selector with
that label, then kept: labels that no selector uses, of which every volume may have its own, cost
nothing.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping
from heapq import merge
from typing import TypeAlias

from sortedcontainers import SortedList

from mooring.model.selector import LabelSelector, Operator, Requirement
from mooring.model.volume import Volume

Entry: TypeAlias = tuple[int, str]
"""Size and name."""

MOST_INDEXED = 32  # labels that selectors have asked for; the one asked for first goes
MOST_MERGED = 32  # values of a label that may be anything; with more, going through all is quicker


class VolumeBucket:
    def __init__(self) -> None:
        self._entries = SortedList()
        self._by_label: dict[str, dict[str, list[Entry]]] = {}  # by key, then by value; sorted

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, volume: Volume) -> None:
        entry = _entry(volume)
        self._entries.add(entry)
        for value, by_value in self._indexed(volume):
            insort(by_value.setdefault(value, []), entry)

    def remove(self, volume: Volume) -> None:
        """Before: this very version of it was added."""
        entry = _entry(volume)
        self._entries.remove(entry)
        for value, by_value in self._indexed(volume):
            entries = by_value[value]
            del entries[bisect_left(entries, entry)]
            if not entries:
                del by_value[value]

    def candidates(
        self, least: int, selector: LabelSelector, volumes: Mapping[str, Volume]
    ) -> Iterator[Entry]:
        """Those of at least this size, smallest first, among them all that the selector picks.

        `volumes` holds every volume that was added, by name.
        """
        narrowed = self._find_fewest(selector, volumes)
        if narrowed is None:
            everything: Iterator[Entry] = self._entries.irange((least, ""))
            return everything
        return merge(*(_from(entries, least) for entries in narrowed))

    def largest_first(
        self, selector: LabelSelector, volumes: Mapping[str, Volume]
    ) -> Iterator[Entry]:
        """All, largest first, among them all that the selector picks."""
        narrowed = self._find_fewest(selector, volumes)
        if narrowed is None:
            everything: Iterator[Entry] = reversed(self._entries)
            return everything
        return merge(*map(reversed, narrowed), reverse=True)

    def _find_fewest(
        self, selector: LabelSelector, volumes: Mapping[str, Volume]
    ) -> list[list[Entry]] | None:
        """The fewest entries that hold all that the selector picks; None: no index is of help."""
        found = (self._find_chosen(requirement, volumes) for requirement in selector.requirements)
        chosen = [entries for entries in found if entries is not None]
        return min(chosen, key=lambda lists: sum(map(len, lists)), default=None)

    def _find_chosen(
        self, requirement: Requirement, volumes: Mapping[str, Volume]
    ) -> list[list[Entry]] | None:
        """The entries that meet this requirement; None if the label's index cannot answer it."""
        match requirement.operator:
            case Operator.IN | Operator.EQUALS | Operator.DOUBLE_EQUALS:
                by_value = self._index(requirement.key, volumes)
                return [by_value[value] for value in {*requirement.values} if value in by_value]
            case Operator.EXISTS:
                by_value = self._index(requirement.key, volumes)
                return [*by_value.values()] if len(by_value) <= MOST_MERGED else None
            case _:
                return None  # it picks what lacks a label, mostly nearly everything

    def _index(self, key: str, volumes: Mapping[str, Volume]) -> Mapping[str, list[Entry]]:
        known = self._by_label.get(key)
        if known is not None:
            return known
        if len(self._by_label) >= MOST_INDEXED:
            del self._by_label[next(iter(self._by_label))]
        made = self._by_label[key] = {}
        for entry in self._entries:
            value = volumes[entry[1]].metadata.labels.get(key)
            if value is not None:
                made.setdefault(value, []).append(entry)
        return made

    def _indexed(self, volume: Volume) -> Iterable[tuple[str, dict[str, list[Entry]]]]:
        """The values of its labels that are indexed, each with that index."""
        if not self._by_label:
            return ()
        return [
            (value, self._by_label[key])
            for key, value in volume.metadata.labels.items()
            if key in self._by_label
        ]


def _from(entries: list[Entry], least: int) -> Iterator[Entry]:
    return map(entries.__getitem__, range(bisect_left(entries, (least, "")), len(entries)))


def _entry(volume: Volume) -> Entry:
    return volume.size.nanos, volume.name
