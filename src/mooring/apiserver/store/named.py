"""The newest entries of a table by name, sorted when a list is read.

Writes come one by one and lists seldom: all new names are sorted in together at the next list.
"""

from collections.abc import Iterator, Mapping

from sortedcontainers import SortedList

from mooring.apiserver.store.contract import Entry


class NamedEntries(dict[str, Entry]):
    """Read it as a dict; write it with `put` and `remove`.

    Names sort by code point, which is the byte order of their UTF-8, as etcd sorts keys.
    """

    __slots__ = ("_in_order", "_unplaced")

    def __init__(self, entries: Mapping[str, Entry]) -> None:
        super().__init__(entries)
        self._in_order: SortedList[str] = SortedList(entries)
        self._unplaced: set[str] = set()

    def put(self, entry: Entry) -> None:
        name = entry.name
        if name not in self:
            self._unplaced.add(name)
        self[name] = entry

    def remove(self, name: str) -> None:
        del self[name]
        if name in self._unplaced:
            self._unplaced.remove(name)
        else:
            self._in_order.remove(name)

    def bounds(self, prefix: str, after: str) -> tuple[int, int]:
        """The slice of the names that start with `prefix` and sort behind `after`."""
        names = self._names()
        low = names.bisect_right(after) if after else 0
        if not prefix:
            return low, len(names)
        high = names.bisect_left(_behind(prefix))
        return min(max(low, names.bisect_left(prefix)), high), high

    def names(self, low: int, high: int) -> Iterator[str]:
        """The names at these places, in order."""
        names: Iterator[str] = self._names().islice(low, high)
        return names

    def _names(self) -> "SortedList[str]":
        if self._unplaced:
            self._in_order.update(self._unplaced)
            self._unplaced.clear()
        return self._in_order


def _behind(prefix: str) -> str:
    """The least text that sorts behind everything that starts with `prefix`."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)
