"""JSON objects as they were written: key after key, duplicate keys included.

Decoders keep the last of two equal keys. To say which ones came twice, and where, a body with such
keys is read once more into `Pairs`.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

Trail = Sequence[str | int]
"""Names, map keys and indices, from the root to a value."""

Position = tuple[int, ...]
"""The place of each step among its neighbours; sorted by it, values are in document order."""


class Pairs(list[tuple[str, Any]]):
    """An object, its keys in the order in which they were written."""

    _places: dict[str, int] | None = None

    def place(self, key: str) -> int:
        """Where `key` stands; of equal ones, the last."""
        if self._places is None:
            self._places = {name: place for place, (name, _) in enumerate(self)}
        return self._places[key]


class Read(NamedTuple):
    """A body as JSON knows it, and as it was written when some key of it came twice."""

    value: Any
    written: Any = None
    repeats: tuple[str, ...] = ()  # of YAML: what to say of those keys, by their lines


class _Link(NamedTuple):
    """A step of the way to a value, and the step before it."""

    before: "_Link | None"
    place: int
    step: str | int


def repeated(written: Any, kept: Any) -> Iterator[tuple[Position, Trail]]:
    """The keys that their object has had before, each once, in document order.

    Only what is left in `kept`, the pruned document, is looked into.
    """
    pending: list[tuple[_Link | None, bool, Any, Any]] = [(None, False, written, kept)]
    while pending:
        link, came_before, value, left = pending.pop()
        if came_before and link is not None:
            yield _unwind(link)
        below: list[tuple[_Link | None, bool, Any, Any]] = []
        if isinstance(value, Pairs) and isinstance(left, dict):
            times: dict[str, int] = {}
            for place, (key, inner) in enumerate(value):
                if key in left:
                    times[key] = times.get(key, 0) + 1
                    below.append((_Link(link, place, key), times[key] == 2, inner, left[key]))
        elif isinstance(value, list) and isinstance(left, list):
            both = enumerate(zip(value, left, strict=False))
            below = [(_Link(link, i, i), False, inner, other) for i, (inner, other) in both]
        pending.extend(reversed(below))


def position(written: Any, trail: Trail) -> Position:
    """Where the value at the end of `trail` was written."""
    places = []
    for step in trail:
        if isinstance(step, int):
            places.append(step)
            written = written[step]
        else:
            place = written.place(step)
            places.append(place)
            written = written[place][1]
    return tuple(places)


def _unwind(link: _Link | None) -> tuple[Position, Trail]:
    places: list[int] = []
    trail: list[str | int] = []
    while link is not None:
        places.append(link.place)
        trail.append(link.step)
        link = link.before
    return tuple(reversed(places)), trail[::-1]
