"""A queue of keys for workers: each key has one worker at a time, and no `add` is lost.

Keys say that something may have changed, not what; so a key that is added twice before a worker
takes it is served once, and a key that is added while a worker has it returns afterwards. Nothing
here polls: an idle worker waits for an `add`, and one of the idle workers watches the clock for
keys that were put off.
"""

import asyncio
import heapq
from collections import deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager, suppress
from itertools import count
from math import inf
from typing import Generic, TypeVar

from mooring.clock import Clock
from mooring.model.backoff import Backoff
from mooring.reconcile.deadline import within
from mooring.reconcile.metrics import QueueCounts
from mooring.reconcile.ready import Ready
from mooring.reconcile.turn import Turn

K = TypeVar("K", bound=Hashable)

RETRY = Backoff(first=0.005, cap=1000.0)
"""The pauses of a key that keeps failing."""

PATIENCE = 6  # failures in a row after which an `add` does not cut a pause short at once,
RESPITE_SECONDS = 1.0  # but only to this


class KeyedQueue(Generic[K]):
    def __init__(
        self, clock: Clock, backoff: Backoff = RETRY, ready: Ready[K] | None = None
    ) -> None:
        self.counts = QueueCounts()
        self._clock = clock
        self._backoff = backoff
        self._wanted: dict[K, float] = {}  # keys that want a worker, and since when
        self._running: dict[K, float] = {}  # keys that have one, and since when
        self._ready: Ready[K] = deque() if ready is None else ready  # wanted and not running
        self._failures: dict[K, int] = {}
        self._poisoned: set[K] = set()
        self._due: dict[K, float] = {}  # keys put off, and until when
        self._alarms: list[tuple[float, int, K]] = []  # a heap over `_due`; may hold outdated times
        self._sequence = count()
        self._idle: dict[asyncio.Future[None], None] = {}  # waiting workers, in order
        self._watchman: asyncio.Future[None] | None = None  # the one that watches the clock

    def __len__(self) -> int:
        """How many keys want a worker; those put off do not want one yet."""
        return len(self._wanted)

    def running_seconds(self) -> list[float]:
        """For how long each worker has been busy with its key."""
        now = self._clock.monotonic()
        return [now - since for since in self._running.values()]

    def add(self, key: K) -> None:
        """A worker shall look at `key`, from now on at the earliest.

        One that has failed time and again gets a short respite: should every try of ours provoke
        the change that makes it fail, the two would chase each other without a pause.
        """
        if self._failures and self._is_sore(key):
            self.add_after(key, RESPITE_SECONDS)
            return
        now = self._clock.monotonic()
        self._end_waits(now)
        self._want(key, now)

    def add_after(self, key: K, seconds: float) -> None:
        """Add `key` later. Put off twice, it comes at the earlier time."""
        self.counts.retries += 1
        if self._failures and self._is_sore(key):
            seconds = max(seconds, RESPITE_SECONDS)
        if seconds <= 0:
            self.add(key)
            return
        due = self._clock.monotonic() + seconds
        known = self._due.get(key)
        if known is not None and known <= due:
            return
        self._due[key] = due
        heapq.heappush(self._alarms, (due, next(self._sequence), key))
        if self._alarms[0][0] == due:
            self._reset_watch()

    def retry(self, key: K, *, least: float = 0.0, most: float = inf) -> None:
        """Add `key` later: the more often this is said before a `forget`, the later.

        But not before `least` seconds, nor, unless that is later, after `most`.
        """
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        self._poisoned.discard(key)
        self.add_after(key, max(least, min(most, self._backoff.delay(failures))))

    def poison(self, key: K) -> None:
        """The same, for a key that met a bug: until `forget`, it counts as set aside."""
        self.retry(key)
        self._poisoned.add(key)

    @property
    def set_aside(self) -> int:
        """How many keys met a bug when they were last tried."""
        return len(self._poisoned)

    def forget(self, key: K) -> None:
        """Its failures are history."""
        self._failures.pop(key, None)
        self._poisoned.discard(key)

    @asynccontextmanager
    async def lease(self) -> AsyncIterator[K]:
        """Have the next key, alone. Left by an exception, the key is wanted again."""
        key = await self._take()
        try:
            yield key
        except BaseException:
            self._want(key, self._clock.monotonic())
            raise
        finally:
            self.counts.worked.observe(self._clock.monotonic() - self._running.pop(key))
            if key in self._wanted:
                self._ready.append(key)
                self._wake()

    async def _take(self) -> K:
        await Turn()  # a long queue of quick keys must not hold up the watches that feed it
        while True:
            now = self._clock.monotonic()
            self._end_waits(now)
            if self._ready:
                break
            await self._wait(now)
        key = self._ready.popleft()
        self.counts.waited.observe(now - self._wanted.pop(key))
        self._running[key] = now
        self._pass_on()
        return key

    async def _wait(self, now: float) -> None:
        """Until there may be a key, or a new time to watch for."""
        waiter = asyncio.get_running_loop().create_future()
        self._idle[waiter] = None
        try:
            if self._alarms and self._watchman is None:
                self._watchman = waiter
                with suppress(TimeoutError):
                    async with within(self._clock, self._alarms[0][0] - now):
                        await waiter
            else:
                await waiter
        except BaseException:
            self._retire(waiter)
            self._pass_on()  # a wake-up that this worker will not use is another's
            raise
        self._retire(waiter)

    def _retire(self, waiter: asyncio.Future[None]) -> None:
        self._idle.pop(waiter, None)
        if self._watchman is waiter:
            self._watchman = None

    def _want(self, key: K, since: float) -> None:
        if key in self._wanted:
            return
        self._wanted[key] = since
        self.counts.adds += 1
        if key not in self._running:
            self._ready.append(key)
            self._wake()

    def _is_sore(self, key: K) -> bool:
        return self._failures.get(key, 0) > PATIENCE

    def _end_waits(self, now: float) -> None:
        """Keys whose time has come want a worker, since that time."""
        while self._alarms and self._alarms[0][0] <= now:
            due, _, key = heapq.heappop(self._alarms)
            if self._due.get(key) == due:
                del self._due[key]
                self._want(key, due)

    def _wake(self) -> None:
        """Of the idle workers, the one that has waited longest looks again."""
        while self._idle:
            waiter = next(iter(self._idle))
            del self._idle[waiter]
            if not waiter.done():
                waiter.set_result(None)
                return

    def _pass_on(self) -> None:
        if self._ready or (self._alarms and self._watchman is None):
            self._wake()

    def _reset_watch(self) -> None:
        """The next time to watch for has changed."""
        if self._watchman is None:
            self._wake()
        elif not self._watchman.done():
            self._watchman.set_result(None)
