"""Calls that are at work, so that two never change one volume at once.

Nobody waits here: by the specification the second caller is told ABORTED, and comes again.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock

from mooring.driver.refusal import ABORTED, CallRefused

_CHANGED = -1


class InFlight:
    """What is being changed (by one call), and what is being read (by any number of calls)."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._held: dict[str, int] = {}  # by id: how many read it, or `_CHANGED`

    @contextmanager
    def holding(self, *changed: str, reading: Sequence[str] = ()) -> Iterator[None]:
        """Inside the block nobody else has those of `changed`, and nobody changes `reading`.

        Raises: CallRefused when somebody does already.
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
