"""Exponential back-off. Pure arithmetic: the random number is passed in."""

import msgspec

_MOST_DOUBLINGS = 64  # far beyond any cap, and far from the limit of a float


class Backoff(msgspec.Struct, frozen=True):
    """Delays that double with every failure in a row, up to a cap. All in seconds."""

    first: float
    cap: float
    factor: float = 2.0
    jitter: float = 0.0  # up to this share of the delay is added at random

    def delay(self, failures: int, luck: float = 0.0) -> float:
        """The delay after `failures` in a row (at least one); `luck` is random in [0, 1)."""
        grown = self.first * self.factor ** min(failures - 1, _MOST_DOUBLINGS)
        return min(grown, self.cap) * (1 + self.jitter * luck)


OPERATION_BACKOFF = Backoff(first=0.5, cap=122.0)
"""For volume operations, attach and driver registration: 2 min 2 s at most, as in Kubernetes."""
