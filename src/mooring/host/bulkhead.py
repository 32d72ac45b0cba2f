"""Bulkheads: a call to the operating system that never returns stops only its own volume.

Every call has a `Place`: its key (a volume, a pod's directory; empty for the machine's own files)
and the pool whose threads it uses. Volumes and the machine's own disk have a pool each.

A call with a key that makes no progress in its time is given up: its caller gets `StillRunning`,
its thread is written off. Until it returns, every further call with the same key is refused at
once, so that nothing is torn down while it may still be set up, and one stuck disk costs a few
threads per volume. A call without a key is given up only when the process ends: Mooring cannot
work without its own files. All bookkeeping happens on the event loop; only the calls themselves
run in threads.
"""

import asyncio
import math
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from enum import StrEnum
from typing import Any, Generic, TypeVar

import msgspec

from mooring import log
from mooring.clock import RealClock
from mooring.errors import HostError, StillRunning
from mooring.host.daemon_threads import Job
from mooring.host.thread_activity import (
    find_path_of,
    makes_progress,
    stack_of,
    times_scheduled,
)
from mooring.model.timestamp import to_seconds

R = TypeVar("R")

QUICK_SECONDS = 15.0  # limit of a call that only reads a disk, or changes little on it
LONG_SECONDS = 120.0  # limit of a mount, format, repair or resize
SLOW_SECONDS = 0.5  # after this a call is slow, and no longer counts among AT_ONCE
AT_ONCE = 8  # calls running in one pool, slow ones not counted
AT_ONCE_PER_KEY = 4
MOST_STUCK = 256  # threads of one pool that are slow or written off

_log = log.get("mooring.host.bulkhead")


class Pool(StrEnum):
    OWN = "own"  # the machine's own disk: directories of pods, containers, records
    VOLUMES = "volumes"


class Place(msgspec.Struct, frozen=True):
    """The volume or directory that a call is about, and its limit without progress."""

    pool: Pool = Pool.OWN
    key: str = ""  # empty: the machine's own files
    seconds: float = QUICK_SECONDS


class Limits(msgspec.Struct, frozen=True):
    slow_seconds: float = SLOW_SECONDS
    at_once: int = AT_ONCE
    at_once_per_key: int = AT_ONCE_PER_KEY
    most_stuck: int = MOST_STUCK
    most_seconds: float = math.inf  # caps the limit of every place


class StuckCall(msgspec.Struct, frozen=True):
    """A call that was given up and has not returned."""

    place: Place
    what: str
    since: datetime

    @property
    def text(self) -> str:
        """The error text; the same at every repetition."""
        return f"{self.what} has not returned since {to_seconds(self.since)}"


class Slots:
    """Lets `width` calls in at once; further ones wait in order."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._inside = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def is_empty(self) -> bool:
        return not self._inside and not self._waiting

    async def enter(self) -> None:
        if self._inside < self._width:
            self._inside += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn  # `leave` hands over its place
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave()
            else:
                with suppress(ValueError):  # `leave` has skipped it already
                    self._waiting.remove(turn)
            raise

    def leave(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._inside -= 1


class _Call(Generic[R]):
    """One call that was let in by its slots."""

    def __init__(self, place: Place, what: Callable[[], str], since: datetime) -> None:
        self.place = place
        self.what = what
        self.told = ""  # once it was given up: what it is doing, for the error text
        self.since = since
        self.loop = asyncio.get_running_loop()
        self.answer: asyncio.Future[R] = self.loop.create_future()
        self.timer: asyncio.TimerHandle | None = None
        self.is_late = False  # its first timer has fired
        self.is_slow = False  # does not count among AT_ONCE any more
        self.is_written_off = False
        self.thread = 0  # its number in the kernel
        self.python_thread = 0
        self.scheduled = 0

    def stuck(self) -> StuckCall:
        return StuckCall(self.place, self.told, self.since)


class Bulkheads:
    """The bulkheads of one event loop; used from that loop only. `start` runs a job in a thread."""

    def __init__(self, start: Callable[[Job], None], limits: Limits | None = None) -> None:
        self._start = start
        self._limits = limits or Limits()
        self._clock = RealClock()
        self._pools = {pool: Slots(self._limits.at_once) for pool in Pool}
        self._slots: dict[tuple[Pool, str], Slots] = {}
        self._at_work: set[_Call[Any]] = set()
        self._stuck: dict[tuple[Pool, str], list[_Call[Any]]] = {}
        self._hanging = dict.fromkeys(Pool, 0)  # threads that are slow or written off
        self._handlers: list[Callable[[], None]] = []
        self._leave_at: float | None = None  # by the loop's clock
        self.written_off = dict.fromkeys(Pool, 0)  # in total; a counter

    def on_change(self, handler: Callable[[], None]) -> None:
        """Call `handler` whenever a call was given up, or one that was given up has returned."""
        self._handlers.append(handler)

    def stuck(self) -> Iterator[StuckCall]:
        """The calls that were given up and have not returned, oldest first."""
        calls = [call.stuck() for calls in self._stuck.values() for call in calls]
        return iter(sorted(calls, key=lambda call: call.since))

    def count(self) -> Mapping[Pool, int]:
        """The number of stuck calls in each pool."""
        found = dict.fromkeys(Pool, 0)
        for (pool, _), calls in self._stuck.items():
            found[pool] += len(calls)
        return found

    def leave_within(self, seconds: float) -> None:
        """The process ends in `seconds`: calls that still run then are given up."""
        loop = asyncio.get_running_loop()
        self._leave_at = loop.time() + seconds
        for call in tuple(self._at_work):
            self._set_timer(call, call.place.seconds)

    async def run(self, place: Place, what: Callable[[], str], call: Callable[[], R]) -> R:
        """Run `call` in a thread; return or raise what it does. `what` describes it in errors.

        A call that has begun cannot be cancelled: a cancelled caller returns only after the call
        has ended or was given up.
        Raises: StillRunning when it was given up, or an earlier one of the same place is stuck;
        HostError when there is no thread for it.
        """
        self._check(place)
        slots = self._slots_of(place)
        if slots is None:
            await self._pools[place.pool].enter()
        else:
            await slots.enter()
            try:
                self._check(place)
                await self._pools[place.pool].enter()
            except BaseException:
                self._leave_slots(place)
                raise
        started: _Call[R] = _Call(place, what, self._clock.now())
        try:
            self._check(place)
            self._start(self._job(started, call))
        except BaseException as error:
            self._leave_slots(place)
            self._pools[place.pool].leave()
            if isinstance(error, RuntimeError):
                raise HostError(f"no thread for {what()}: {error}") from error
            raise
        self._at_work.add(started)
        return await self._wait(started)

    async def _wait(self, call: _Call[R]) -> R:
        self._set_timer(call, self._limits.slow_seconds)
        try:
            return await asyncio.shield(call.answer)
        except asyncio.CancelledError:
            try:
                await asyncio.wait([call.answer])
            except asyncio.CancelledError:  # cancelled again while waiting
                self._write_off(call)
                raise
            if not call.answer.cancelled():
                call.answer.exception()  # retrieved: a cancelled caller does not need it
            raise

    def _check(self, place: Place) -> None:
        if place.key and (stuck := self._stuck.get((place.pool, place.key))):
            raise StillRunning(stuck[0].stuck().text)
        if place.key and self._hanging[place.pool] >= self._limits.most_stuck:
            oldest = next(self.stuck(), None)
            told = f"; {oldest.text}" if oldest is not None else ""
            raise HostError(
                f"{self._hanging[place.pool]} calls to the operating system hang already{told}"
            )

    def _slots_of(self, place: Place) -> Slots | None:
        if not place.key:
            return None
        key = (place.pool, place.key)
        slots = self._slots.get(key)
        if slots is None:
            slots = self._slots[key] = Slots(self._limits.at_once_per_key)
        return slots

    def _leave_slots(self, place: Place) -> None:
        key = (place.pool, place.key)
        slots = self._slots.get(key)
        if slots is not None:
            slots.leave()
            if slots.is_empty:
                del self._slots[key]

    def _job(self, call: _Call[R], do: Callable[[], R]) -> Job:
        loop, ended = call.loop, self._ended

        def job() -> Callable[[], None]:
            call.thread, call.python_thread = threading.get_native_id(), threading.get_ident()
            result: R | None = None
            failure: BaseException | None = None
            try:
                result = do()
            except BaseException as error:  # noqa: BLE001  raised in the caller
                failure = error

            def tell() -> None:
                with suppress(RuntimeError):  # the loop is closed: no caller waits any more
                    loop.call_soon_threadsafe(ended, call, result, failure)

            return tell

        return job

    def _ended(self, call: _Call[Any], result: Any, failure: BaseException | None) -> None:
        if call.timer is not None:
            call.timer.cancel()
        if call.is_slow:
            self._hanging[call.place.pool] -= 1
        if call.is_written_off:
            self._returned(call)
            return
        self._let_go(call)
        if call.answer.done():
            return
        if failure is None:
            call.answer.set_result(result)
        elif isinstance(failure, StopIteration):  # a future does not accept it
            call.answer.set_exception(RuntimeError(f"{call.what()} raised StopIteration"))
        else:
            call.answer.set_exception(failure)

    def _let_go(self, call: _Call[R]) -> None:
        """Free its place in the pool."""
        self._at_work.discard(call)
        self._leave_slots(call.place)
        if not call.is_slow:
            self._pools[call.place.pool].leave()

    def _patience(self, call: _Call[R]) -> float:
        return min(call.place.seconds, self._limits.most_seconds)

    def _set_timer(self, call: _Call[R], seconds: float) -> None:
        if call.timer is not None:
            call.timer.cancel()
        if self._leave_at is not None:
            seconds = max(0.0, min(seconds, self._leave_at - call.loop.time()))
        call.timer = call.loop.call_later(seconds, self._is_late, call)

    def _is_late(self, call: _Call[R]) -> None:
        now = times_scheduled(call.thread)
        is_leaving = self._leave_at is not None and call.loop.time() >= self._leave_at
        if not is_leaving and not call.place.key:
            self._release_slot(call)
            return
        if not is_leaving and not call.is_late:
            call.is_late = True
            self._release_slot(call)
            call.scheduled = now
            self._set_timer(call, max(0.0, self._patience(call) - self._limits.slow_seconds))
            return
        if makes_progress(call.scheduled, now) and not is_leaving:
            call.scheduled = now
            self._set_timer(call, self._patience(call))
            return
        self._write_off(call)

    def _release_slot(self, call: _Call[R]) -> None:
        """Free its place in the pool, unless too many threads hang already."""
        pool = call.place.pool
        if not call.is_slow and self._hanging[pool] < self._limits.most_stuck:
            call.is_slow = True
            self._hanging[pool] += 1
            self._pools[pool].leave()

    def _write_off(self, call: _Call[R]) -> None:
        if call.is_written_off or call not in self._at_work:
            return
        if call.timer is not None:
            call.timer.cancel()
        self._let_go(call)
        if not call.is_slow:
            call.is_slow = True
            self._hanging[call.place.pool] += 1
        call.is_written_off = True
        call.told = find_path_of(call.python_thread) or call.what()
        self._stuck.setdefault((call.place.pool, call.place.key), []).append(call)
        self.written_off[call.place.pool] += 1
        text = call.stuck().text
        _log.warning(
            "a call is given up",
            because=text,
            about=call.place.key,
            at=stack_of(call.python_thread),
        )
        if not call.answer.done():
            call.answer.set_exception(StillRunning(text))
        self._tell()

    def _returned(self, call: _Call[R]) -> None:
        key = (call.place.pool, call.place.key)
        self._stuck[key].remove(call)
        if not self._stuck[key]:
            del self._stuck[key]
        seconds = (self._clock.now() - call.since).total_seconds()
        _log.warning("a call has returned after all", call=call.told, seconds=round(seconds, 1))
        self._tell()

    def _tell(self) -> None:
        for handler in tuple(self._handlers):
            handler()
