"""Running operations: which may start, who owns their tasks, and how long a failed one waits.

A failed operation waits half a second, then twice as long each time, up to two minutes. The wait
ends when another kind of operation begins for the same pod, or when another pod has been rid of the
volume: the world has changed since.
"""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from mooring import log
from mooring.clock import Clock
from mooring.errors import MooringError
from mooring.node.plan import Operation
from mooring.reconcile.backoff import Backoff
from mooring.reconcile.poison import set_aside, shielded

BACKOFF = Backoff(first=0.5, cap=122.0)

_log = log.get("mooring.node.operations")


class Started(msgspec.Struct, frozen=True):
    """It runs; the volume is looked at again when it ends."""


class Busy(msgspec.Struct, frozen=True):
    """Another one excludes it; the volume is looked at again when that ends."""


class PutOff(msgspec.Struct, frozen=True):
    """It failed a while ago and is due again after so many seconds."""

    seconds: float


class _Failed(msgspec.Struct, frozen=True):
    label: str
    times: int
    due: float


Run = Callable[[Operation], Awaitable[None]]
Ended = Callable[[Operation], None]


class Operations:
    def __init__(self, clock: Clock, run: Run, ended: Ended) -> None:
        """`run` does an operation, raising MooringError when it failed and has been told of."""
        self._clock = clock
        self._run = run
        self._ended = ended
        self._running: dict[str, dict[str, asyncio.Task[None]]] = {}  # by volume and pod
        self._failed: dict[str, dict[str, _Failed]] = {}  # by volume and pod

    def busy(self, volume: str) -> frozenset[str]:
        """The pods with a running operation; "" stands for the whole volume."""
        return frozenset(self._running.get(volume, ()))

    def start(self, operation: Operation, owner: asyncio.TaskGroup) -> Started | Busy | PutOff:
        running = self._running.get(operation.volume, {})
        if running and (
            not operation.holds or not running.keys().isdisjoint({operation.holds, ""})
        ):
            return Busy()
        of_volume = self._failed.get(operation.volume, {})
        failed = of_volume.get(operation.pod_uid)
        if failed is not None and failed.label == operation.label:
            left = failed.due - self._clock.monotonic()
            if left > 0:
                return PutOff(left)
        elif failed is not None:
            del of_volume[operation.pod_uid]
        task = owner.create_task(self._owned(operation))
        self._running.setdefault(operation.volume, {})[operation.holds] = task
        return Started()

    def forgive(self, volume: str) -> None:
        """Something changed that may have been in the way: whatever failed is due now."""
        self._failed.pop(volume, None)

    async def _owned(self, operation: Operation) -> None:
        try:
            await self._run(operation)
        except MooringError:
            self._remember_failure(operation)
        except Exception:  # noqa: BLE001  a bug in one operation must not stop the node
            set_aside("volume operations", f"{operation.label} {operation.volume}")
            self._remember_failure(operation)
        else:
            self._remember_success(operation)
        finally:
            running = self._running[operation.volume]
            del running[operation.holds]
            if not running:
                del self._running[operation.volume]
        shielded(operation.volume, self._ended, operation)

    def _remember_failure(self, operation: Operation) -> None:
        of_volume = self._failed.setdefault(operation.volume, {})
        known = of_volume.get(operation.pod_uid)
        times = 1 if known is None else known.times + 1
        due = self._clock.monotonic() + BACKOFF.delay(times)
        of_volume[operation.pod_uid] = _Failed(operation.label, times, due)

    def _remember_success(self, operation: Operation) -> None:
        of_volume = self._failed.pop(operation.volume, {})
        of_volume.pop(operation.pod_uid, None)
        if operation.takes_away:  # perhaps what the others waited for
            of_volume = {
                pod: failed for pod, failed in of_volume.items() if failed.label == operation.label
            }
        if of_volume:
            self._failed[operation.volume] = of_volume
