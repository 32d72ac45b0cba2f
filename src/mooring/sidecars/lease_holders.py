"""Who holds a lease of the same name in another namespace: a driver's own sidecar, in its pod's.

A lease counts as held for its duration from the moment that it was last seen to change, by the
clock of this process, as in `reconcile/lease.py`.
"""

import asyncio
from typing import Final

from mooring import log
from mooring.clock import Clock
from mooring.model.keys import Key
from mooring.model.lease import Lease
from mooring.reconcile.deadline import within
from mooring.reconcile.loops import Loops

_log = log.get("mooring.sidecars")

BY_NAME: Final = "name"
DURATION: Final = 15.0  # of a lease that does not say how long it lasts


class LeaseHolders:
    def __init__(self, loops: Loops, own_namespace: str) -> None:
        self._clock: Clock = loops.clock
        self._own = own_namespace
        self._leases = loops.informer(Lease)
        self._leases.add_index(BY_NAME, _names)
        self._leases.on_change(self._on_lease)
        self._seen: dict[Key, tuple[str, float]] = {}  # version, and when it was new
        self._news = asyncio.Event()

    async def wait_free(self, name: str) -> None:
        """Return when nobody holds such a lease in another namespace."""
        await self._leases.synced.wait()
        told = ""
        while found := self._find(name):
            holder, left = found
            if holder != told:
                _log.warning("standing back for a driver's own sidecar", lease=name, holder=holder)
                told = holder
            news = self._news
            try:
                async with within(self._clock, left):
                    await news.wait()
            except TimeoutError:
                pass  # it may have run out

    async def wait_taken(self, name: str) -> None:
        """Return when somebody holds such a lease in another namespace."""
        while self._find(name) is None:
            await self._news.wait()

    def _find(self, name: str) -> tuple[str, float] | None:
        """The holder, and for how many seconds it has the lease at least."""
        now = self._clock.monotonic()
        for lease in self._leases.by_index(BY_NAME, name):
            if lease.namespace == self._own or not lease.is_held:
                continue
            since = self._noted(lease, now)
            left = since + (lease.spec.lease_duration_seconds or DURATION) - now
            if left > 0:
                return f"{lease.namespace}/{lease.spec.holder_identity}", left
        return None

    def _noted(self, lease: Lease, now: float) -> float:
        version = lease.metadata.resource_version
        known = self._seen.get(lease.key)
        if known is None or known[0] != version:
            self._seen[lease.key] = known = (version, now)
        return known[1]

    def _on_lease(self, before: Lease | None, after: Lease | None) -> None:
        lease = after or before
        if lease is None or lease.namespace == self._own:
            return
        if after is None:
            self._seen.pop(lease.key, None)
        elif after.key in self._seen:
            self._noted(after, self._clock.monotonic())
        self._news.set()
        self._news = asyncio.Event()


def _names(lease: Lease) -> tuple[str]:
    return (lease.name,)
