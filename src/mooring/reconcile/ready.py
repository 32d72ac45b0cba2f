"""In which order a queue serves the keys that are ready."""

import heapq
from collections.abc import Callable
from itertools import count
from typing import Generic, Protocol, TypeVar

K = TypeVar("K")


class Ready(Protocol[K]):
    def __len__(self) -> int: ...

    def append(self, key: K, /) -> None: ...

    def popleft(self) -> K: ...


class Ranked(Generic[K]):
    """`Ready`: the lowest rank first, among equals the first that came."""

    def __init__(self, rank: Callable[[K], int]) -> None:
        self._rank = rank
        self._heap: list[tuple[int, int, K]] = []
        self._sequence = count()

    def __len__(self) -> int:
        return len(self._heap)

    def append(self, key: K, /) -> None:
        """Its rank is asked for now, and stays."""
        heapq.heappush(self._heap, (self._rank(key), next(self._sequence), key))

    def popleft(self) -> K:
        return heapq.heappop(self._heap)[2]
