"""When this node may make a claim its own for which no pod has chosen a node.

All nodes see such a claim at once, and one write alone is taken: each waits for a random time
first, and longer each time that it could not have the claim.
"""

from random import Random

import msgspec

from mooring.clock import Clock
from mooring.sidecars.provisioner.options import Delays


class _Turn(msgspec.Struct, frozen=True):
    at: float  # on the monotonic clock
    tries: int


class Turns:
    def __init__(self, clock: Clock, rng: Random, delays: Delays) -> None:
        self._clock = clock
        self._rng = rng
        self._delays = delays
        self._turns: dict[str, _Turn] = {}  # by the claim's uid

    def seconds_left(self, uid: str) -> float:
        """Before it is this node's turn; the first question draws it."""
        turn = self._turns.get(uid) or self._draw(uid, tries=0)
        return max(0.0, turn.at - self._clock.monotonic())

    def missed(self, uid: str) -> float:
        """The claim could not be had: how long to wait for the next turn."""
        turn = self._turns.get(uid)
        self._draw(uid, tries=1 if turn is None else turn.tries + 1)
        return self.seconds_left(uid)

    def forget(self, uid: str) -> None:
        self._turns.pop(uid, None)

    def _draw(self, uid: str, tries: int) -> _Turn:
        grown = min(self._delays.base * 2.0 ** min(tries, 32), self._delays.most)
        delay = max(0.0, grown - self._rng.random() * self._delays.base)
        turn = self._turns[uid] = _Turn(self._clock.monotonic() + delay, tries)
        return turn
