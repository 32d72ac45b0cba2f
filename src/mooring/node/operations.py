"""Running operations: which may start, the owner of their tasks, and back-off after a failure.

A failed operation waits half a second, then twice as long each time, up to two minutes. The
back-off ends when another kind of operation begins for the same pod, or when the volume was
unmounted from another pod.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import msgspec

from mooring.clock import Clock
from mooring.node.plan import Operation
from mooring.reconcile.operations import Busy, PendingOperations, PutOff, Started
from mooring.reconcile.poison import shielded

Run = Callable[[Operation], Awaitable[None]]
Ended = Callable[[Operation], None]


class _PodOfVolume(msgspec.Struct, frozen=True):
    """On whose behalf failures are counted."""

    volume: str
    pod_uid: str  # "": of no pod

    def __str__(self) -> str:
        return self.volume


class Operations:
    def __init__(self, clock: Clock, run: Run, ended: Ended) -> None:
        """`run` runs an operation; it raises MooringError on failure, with its event recorded."""
        self._pending: PendingOperations[_PodOfVolume] = PendingOperations(
            "volume operations", clock
        )
        self._run = run
        self._ended = ended
        self._held: dict[str, set[str]] = {}  # by volume: what running operations hold of it

    def busy(self, volume: str) -> frozenset[str]:
        """The pods with a running operation; "" stands for the whole volume."""
        return frozenset(self._held.get(volume, ()))

    def start(self, operation: Operation, owner: asyncio.TaskGroup) -> Started | Busy | PutOff:
        """The volume is looked at again when it ends, or when what excludes it has ended."""
        held = self._held.get(operation.volume, ())
        if held and (not operation.holds or operation.holds in held or "" in held):
            return Busy()
        begun = self._pending.begin(_key(operation), operation.label)
        if isinstance(begun, Started):
            owner.create_task(self._owned(operation))
            self._held.setdefault(operation.volume, set()).add(operation.holds)
        return begun

    def forgive(self, volume: str) -> None:
        """Something changed that may have been in the way: whatever failed is due now."""
        self._pending.forget_all(lambda key, _: key.volume == volume)

    async def _owned(self, operation: Operation) -> None:
        volume = operation.volume
        try:
            pause = await self._pending.carry_out(_key(operation), partial(self._run, operation))
        finally:
            held = self._held[volume]
            held.remove(operation.holds)
            if not held:
                del self._held[volume]
        if pause is None and operation.takes_away:  # perhaps what the others waited for
            self._pending.forget_all(
                lambda key, failed: key.volume == volume and failed.label != operation.label
            )
        shielded(volume, self._ended, operation)


def _key(operation: Operation) -> _PodOfVolume:
    return _PodOfVolume(operation.volume, operation.pod_uid)
