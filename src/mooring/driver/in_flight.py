"""Calls in progress, so that two never change one volume at once.

A volume is held in two parts. Its id stands for what is recorded and mounted; its contents
(`contents_of`) for the image, which a copy reads for as long as that takes. So a volume that is
being copied can be staged, published and put away, but neither deleted nor grown.

A call does not wait here: as the specification asks, the second one gets ABORTED, and is retried.
Only a copy that is nearly done waits for its turn (`wait_seconds`), as it would be lost.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Condition

from mooring.driver.refusal import ABORTED, CallRefused

_CHANGED = -1
_CONTENTS = "contents of "


def contents_of(volume_id: str) -> str:
    """What a copy of the volume holds for reading, and whoever deletes or grows it for changing."""
    return f"{_CONTENTS}{volume_id}"


class InFlight:
    """The ids that are being changed (by one call) or read (by any number of calls)."""

    def __init__(self) -> None:
        self._turn = Condition()
        self._held: dict[str, int] = {}  # by id: the number of readers, or `_CHANGED`

    @contextmanager
    def holding(
        self, *changed: str, reading: Sequence[str] = (), wait_seconds: float = 0.0
    ) -> Iterator[None]:
        """Inside the block no other call uses the ids in `changed` or changes those in `reading`.

        Who holds an id in `changed` must not wait: two that wait for each other would never end.
        Raises: CallRefused (ABORTED) when another call does already, and still after the wait.
        """
        read = set(reading).difference(changed)
        with self._turn:
            self._turn.wait_for(lambda: self._find_busy(changed, read) is None, wait_seconds)
            busy = self._find_busy(changed, read)
            if busy is not None:
                raise CallRefused(ABORTED, self._because(busy))
            self._held.update(dict.fromkeys(changed, _CHANGED))
            for each in read:
                self._held[each] = self._held.get(each, 0) + 1
        try:
            yield
        finally:
            with self._turn:
                for each in set(changed):
                    del self._held[each]
                for each in read:
                    self._held[each] -= 1
                    if not self._held[each]:
                        del self._held[each]
                self._turn.notify_all()

    def _find_busy(self, changed: Sequence[str], read: set[str]) -> str | None:
        busy = [each for each in changed if each in self._held]
        busy += [each for each in read if self._held.get(each) == _CHANGED]
        return busy[0] if busy else None

    def _because(self, busy: str) -> str:
        named = busy.removeprefix(_CONTENTS)
        if self._held[busy] != _CHANGED:
            return f"a copy of {named} is still being made; this has to wait until it is done"
        return f"another operation on {named} is still at work"
