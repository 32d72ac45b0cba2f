"""The usage of the node's disk by pods' containers: measured on request, and remembered a while.

Concurrent requests share one count, and what took long to count is counted less often.
"""

from collections.abc import Awaitable, Callable

import msgspec

from mooring.clock import Clock
from mooring.model.pod import Pod
from mooring.node.pods.storage import PodStorage
from mooring.node.reads import SharedReads
from mooring.node.statistics import GOOD_FOR, PODS_AT_ONCE

PAUSE = 10  # so many times as long as it took, nothing is counted again


class Measured(msgspec.Struct, frozen=True):
    taken: float  # on the monotonic clock, when counting began
    not_again_before: float
    storage: PodStorage


class ContainerStatistics:
    def __init__(self, measure: Callable[[Pod], Awaitable[PodStorage]], clock: Clock) -> None:
        self._measure = measure
        self._clock = clock
        self._latest: dict[str, Measured] = {}  # by uid of the pod
        self._reads: SharedReads[Measured] = SharedReads(PODS_AT_ONCE)

    async def of_pod(self, pod: Pod, good_for: float = GOOD_FOR) -> Measured:
        """Not older than `good_for` seconds, unless counting takes long. Raises: MooringError."""
        now = self._clock.monotonic()
        self._forget(now)
        known = self._latest.get(pod.uid)
        if known is not None and now < max(known.taken + good_for, known.not_again_before):
            return known
        return await self._reads.read(pod.uid, lambda: self._count(pod))

    async def _count(self, pod: Pod) -> Measured:
        taken = self._clock.monotonic()
        storage = await self._measure(pod)
        now = self._clock.monotonic()
        measured = Measured(taken, now + PAUSE * (now - taken), storage)
        self._latest[pod.uid] = measured
        return measured

    def _forget(self, now: float) -> None:
        """What nobody may be told any more, also of pods that have gone."""
        for uid, one in tuple(self._latest.items()):
            if now >= max(one.taken + GOOD_FOR, one.not_again_before):
                del self._latest[uid]
