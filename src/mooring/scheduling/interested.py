"""Waiting pods by what they are interested in, the most important first."""

from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Iterator

from mooring.model.keys import Key
from mooring.scheduling.decide.hints import Group, Interest, Topic

Rank = tuple[int, int]  # lower comes first: priority reversed, then arrival
_Ranked = list[tuple[Rank, Key]]


class Interested:
    def __init__(self) -> None:
        self._topics: dict[Topic, dict[Group, _Ranked]] = {}

    def add(self, interest: Interest, rank: Rank, key: Key) -> None:
        groups = self._topics.setdefault(interest.topic, {})
        insort(groups.setdefault(interest.group, []), (rank, key))

    def remove(self, interest: Interest, rank: Rank, key: Key) -> None:
        groups = self._topics[interest.topic]
        ranked = groups[interest.group]
        del ranked[bisect_left(ranked, (rank, key))]
        if not ranked:
            del groups[interest.group]
        if not groups:
            del self._topics[interest.topic]

    def groups(self, topic: Topic) -> Collection[tuple[Group, Iterable[Key]]]:
        """The pods that are interested, by group, in order; going through them, one may change."""
        return [(group, _keys(ranked)) for group, ranked in self._topics.get(topic, {}).items()]


def _keys(ranked: _Ranked) -> Iterator[Key]:
    return (key for _, key in list(ranked))
