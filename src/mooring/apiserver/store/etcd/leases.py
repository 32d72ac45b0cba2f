"""Leases: etcd removes what hangs on one when its time is over.

A lease is shared by what is written within a minute, or a twentieth of its time, so that there are
few of them. It is never renewed: an object that is written again hangs on a newer one.
"""

from collections.abc import Awaitable, Callable

import msgspec

from mooring.clock import Clock

MOST_OBJECTS = 1000  # on one lease: etcd removes them all at once
LONGEST_SHARED = 60.0  # seconds
SHARE = 0.05  # of the time to live

Grant = Callable[[int], Awaitable[int]]
"""(seconds to live) -> the lease."""


class _Lease(msgspec.Struct):
    number: int
    shared_until: float
    objects: int = 0


class Leases:
    def __init__(self, grant: Grant, clock: Clock) -> None:
        self._grant = grant
        self._clock = clock
        self._leases: dict[int, _Lease] = {}  # by seconds to live

    async def find(self, seconds: int) -> int:
        """A lease for an object that lives `seconds`, or a little longer; 0: it needs none."""
        if not seconds:
            return 0
        slack = min(LONGEST_SHARED, SHARE * seconds)
        lease = self._leases.get(seconds)
        now = self._clock.monotonic()
        if lease is None or now >= lease.shared_until or lease.objects >= MOST_OBJECTS:
            number = await self._grant(seconds + int(slack))
            lease = self._leases[seconds] = _Lease(number, now + slack)
        lease.objects += 1
        return lease.number

    def forget(self) -> None:
        """etcd does not know them any more."""
        self._leases.clear()
