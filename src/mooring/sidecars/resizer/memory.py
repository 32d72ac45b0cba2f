"""What a resizer knows of claims beyond their objects; nothing in here has to outlive it.

By uid: a claim that is made anew under the same name inherits nothing.
"""

from typing import Generic, TypeVar

from mooring.clock import Clock
from mooring.model.quantity import Quantity
from mooring.sidecars.resizer.view import ClassPause, SizePause

W = TypeVar("W")


class _Pauses(Generic[W]):
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until: dict[str, tuple[W, float]] = {}

    def begin(self, uid: str, what: W, seconds: float) -> None:
        self._until[uid] = what, self._clock.monotonic() + seconds

    def find(self, uid: str) -> tuple[W, float] | None:
        """What is paused, and for how many more seconds."""
        if uid not in self._until:
            return None
        what, until = self._until[uid]
        left = until - self._clock.monotonic()
        return (what, left) if left > 0 else None

    def forget(self, uid: str) -> None:
        self._until.pop(uid, None)


class Memory:
    def __init__(self, clock: Clock) -> None:
        self.in_use: set[str] = set()  # refused because pods use them
        self.sizes: _Pauses[Quantity] = _Pauses(clock)
        self.classes: _Pauses[str] = _Pauses(clock)  # uids of the attributes classes

    def size_pause(self, uid: str) -> SizePause | None:
        found = self.sizes.find(uid)
        return SizePause(*found) if found else None

    def class_pause(self, uid: str) -> ClassPause | None:
        found = self.classes.find(uid)
        return ClassPause(*found) if found else None

    def forget(self, uid: str) -> None:
        """The claim is gone."""
        self.in_use.discard(uid)
        self.sizes.forget(uid)
        self.classes.forget(uid)
