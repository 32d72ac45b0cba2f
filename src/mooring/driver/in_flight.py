"""Calls in progress, so that two never change one volume at once.

No call waits here: as the specification asks, the second one gets ABORTED, and is retried.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock

from mooring.driver.refusal import ABORTED, CallRefused

_CHANGED = -1


class InFlight:
    """The ids that are being changed (by one call) or read (by any number of calls)."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._held: dict[str, int] = {}  # by id: the number of readers, or `_CHANGED`

    @contextmanager
    def holding(self, *changed: str, reading: Sequence[str] = ()) -> Iterator[None]:
        """Inside the block no other call uses the ids in `changed` or changes those in `reading`.

        Raises: CallRefused (ABORTED) when another call does already.
        """
        read = set(reading).difference(changed)
        with self._lock:
            busy = [each for each in changed if each in self._held]
            busy += [each for each in read if self._held.get(each) == _CHANGED]
            if busy:
                text = f"another operation on {busy[0]} is still at work"
                raise CallRefused(ABORTED, text)
            self._held.update(dict.fromkeys(changed, _CHANGED))
            for each in read:
                self._held[each] = self._held.get(each, 0) + 1
        try:
            yield
        finally:
            with self._lock:
                for each in set(changed):
                    del self._held[each]
                for each in read:
                    self._held[each] -= 1
                    if not self._held[each]:
                        del self._held[each]
