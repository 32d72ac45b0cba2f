"""How long to wait before the next try. Pure arithmetic: luck is passed in."""

import msgspec

_MOST_DOUBLINGS = 64  # far beyond any cap, and far from what a float cannot hold


class Backoff(msgspec.Struct, frozen=True):
    """Waits that grow with every failure in a row, up to a cap. All in seconds."""

    first: float
    cap: float
    factor: float = 2.0
    jitter: float = 0.0  # luck adds up to this share of the wait, so that a crowd spreads out

    def delay(self, failures: int, luck: float = 0.0) -> float:
        """The wait after `failures` in a row (at least one); `luck` is in [0, 1)."""
        grown = self.first * self.factor ** min(failures - 1, _MOST_DOUBLINGS)
        return min(grown, self.cap) * (1 + self.jitter * luck)


OPERATION_BACKOFF = Backoff(first=0.5, cap=122.0)
"""Of volume operations, attaching and registering drivers: 2 min 2 s at most, as in Kubernetes."""
