"""How long failed pods of a daemon set are left on a node before they are deleted."""

from typing import Final

from mooring.clock import Clock
from mooring.model.backoff import Backoff
from mooring.model.daemon_set import DaemonSet

BACKOFF: Final = Backoff(first=1.0, cap=900.0)

_Key = tuple[str, int, str]  # uid and generation of the set, and the node


class Failures:
    """What failed lately, node by node. A changed set begins anew, and so does a new process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen: dict[_Key, tuple[int, float]] = {}  # how often, and when last

    def note(self, set_: DaemonSet, node: str) -> None:
        now = self._clock.monotonic()
        old = [key for key, (_, last) in self._seen.items() if now - last > 2 * BACKOFF.cap]
        for key in old:
            del self._seen[key]
        key = self._key(set_, node)
        count, _ = self._seen.get(key, (0, now))
        self._seen[key] = (count + 1, now)

    def waits(self, set_: DaemonSet) -> dict[str, float]:
        """By node: seconds before a failed pod there may be deleted."""
        now = self._clock.monotonic()
        left: dict[str, float] = {}
        for (uid, generation, node), (count, last) in self._seen.items():
            if (uid, generation) == (set_.uid, set_.metadata.generation):
                wait = last + BACKOFF.delay(count) - now
                if wait > 0:
                    left[node] = wait
        return left

    def _key(self, set_: DaemonSet, node: str) -> _Key:
        return (set_.uid, set_.metadata.generation, node)
