"""The node's `volumesInUse`: attachable volumes, from the moment that a pod wants one until nothing
of it is left on the node. Also those found on disk after a restart, whether attached or not.
"""

from collections.abc import Callable

from mooring.node.actual import Actual, Attachability
from mooring.node.desired import Desired


class InUse:
    def __init__(self, desired: Desired, actual: Actual) -> None:
        self._desired = desired
        self._actual = actual
        self._names: set[str] = set()
        self._handlers: list[Callable[[], None]] = []

    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self._names))

    def on_change(self, handler: Callable[[], None]) -> None:
        """`handler` is called whenever `names` answers otherwise than before."""
        self._handlers.append(handler)

    def look_at(self, name: str) -> None:
        """Something about this volume has changed."""
        wanted, here = self._desired.find(name), self._actual.find(name)
        is_in_use = (wanted is not None and wanted.is_attachable) or (
            here is not None and here.attachability is not Attachability.NO
        )
        if is_in_use == (name in self._names):
            return
        self._names.symmetric_difference_update((name,))
        for handler in self._handlers:
            handler()
