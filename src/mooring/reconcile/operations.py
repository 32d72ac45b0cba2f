"""Slow operations, each under a key: one at a time per key, any number of keys at once.

A failed operation may not start again for half a second, then for twice as long each time, up to
two minutes. A bug in one operation counts as its failure, and ends nothing else.

`PendingOperations` knows which operations run and which must wait; its user owns the tasks.
`Operations` owns its tasks too, and says when an operation may be asked for again.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from math import inf
from typing import Generic

import msgspec

from mooring import log
from mooring.clock import Clock
from mooring.errors import MooringError
from mooring.model.backoff import OPERATION_BACKOFF
from mooring.reconcile.poison import set_aside, shielded
from mooring.reconcile.queue import K

_log = log.get("mooring.operations")


Work = Callable[[], Awaitable[None]]
"""Raises: MooringError when it failed."""


class Started(msgspec.Struct, frozen=True):
    """It may run; nothing else under its key may until it ends."""


class Busy(msgspec.Struct, frozen=True):
    """It has to wait for the end of another operation."""


class PutOff(msgspec.Struct, frozen=True):
    """It failed a while ago and is due again after so many seconds."""

    seconds: float


class Failures(msgspec.Struct, frozen=True):
    """How often in a row the operation under a key has failed."""

    label: str  # which operation: for another one they do not count
    times: int
    due: float  # monotonic: not before


class PendingOperations(Generic[K]):
    def __init__(self, loop: str, clock: Clock, keep_seconds: float = inf) -> None:
        """`loop`: what poisoned operations are counted under.

        `keep_seconds`: a back-off that was not used for so long after it was due is forgotten.
        """
        self._loop = loop
        self._clock = clock
        self._keep_seconds = keep_seconds
        self._running: dict[K, str] = {}  # labels
        self._failures: dict[K, Failures] = {}

    def begin(self, key: K, label: str = "") -> Started | Busy | PutOff:
        """Started: `carry_out` must follow. `label` names the operation under this key."""
        if key in self._running:
            return Busy()
        failed = self._failures.get(key)
        if failed is not None and failed.label == label:
            left = failed.due - self._clock.monotonic()
            if left > 0:
                return PutOff(left)
        elif failed is not None:
            del self._failures[key]
        self._running[key] = label
        return Started()

    async def carry_out(self, key: K, work: Work) -> float | None:
        """Do what was begun; returns the seconds for which it has to wait, if it failed."""
        label = self._running[key]
        try:
            await work()
        except MooringError:
            return self._fail(key, label)
        except Exception:  # noqa: BLE001 - one broken operation must not end all others
            set_aside(self._loop, f"{label} {key}".strip())
            return self._fail(key, label)
        else:
            self._failures.pop(key, None)
            return None
        finally:
            del self._running[key]

    def forget(self, key: K) -> None:
        """Its failures have no meaning any more: its object is gone, say."""
        self._failures.pop(key, None)

    def forget_all(self, which: Callable[[K, Failures], bool]) -> None:
        for key in [key for key, failed in self._failures.items() if which(key, failed)]:
            del self._failures[key]

    def _fail(self, key: K, label: str) -> float:
        now = self._clock.monotonic()
        self.forget_all(lambda _, failed: failed.due < now - self._keep_seconds)
        known = self._failures.get(key)
        times = 1 if known is None else known.times + 1
        seconds = OPERATION_BACKOFF.delay(times)
        self._failures[key] = Failures(label, times, now + seconds)
        return seconds


class Operations(Generic[K]):
    """`run` it; what is started before that waits for it."""

    def __init__(self, loop: str, clock: Clock, again: Callable[[K, float], None]) -> None:
        """`again`: called with the seconds after which an operation may be asked for again."""
        keep_seconds = OPERATION_BACKOFF.cap  # later its object is gone
        self._pending: PendingOperations[K] = PendingOperations(loop, clock, keep_seconds)
        self._again = again
        self._missed: set[K] = set()  # asked for again while they were running
        self._started: asyncio.Queue[tuple[K, Work]] = asyncio.Queue()

    def start(self, key: K, work: Work) -> None:
        """Begin, unless it is running or has failed a moment ago."""
        match self._pending.begin(key):
            case Started():
                self._started.put_nowait((key, work))
            case Busy():
                self._missed.add(key)
            case PutOff(seconds):
                self._again(key, seconds)

    def forget(self, key: K) -> None:
        """Its object is gone, and with it the memory of failures."""
        self._pending.forget(key)

    async def run(self) -> None:
        """Carry out what is started, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                key, work = await self._started.get()
                tasks.create_task(self._carry_out(key, work), name=str(key))

    async def _carry_out(self, key: K, work: Work) -> None:
        try:
            pause = await self._pending.carry_out(key, partial(_logged, key, work))
            if pause is not None:
                shielded(key, self._again, key, pause)
            elif key in self._missed:
                shielded(key, self._again, key, 0.0)
        finally:
            self._missed.discard(key)


async def _logged(key: object, work: Work) -> None:
    try:
        await work()
    except MooringError as error:
        _log.info("operation failed", operation=key, because=error)
        raise
