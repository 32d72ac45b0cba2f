"""Bulkheads: a call to the operating system that never returns stops nothing but its own volume.

Every call has a place: what it is about (a volume, a pod's directory; empty for the machine's own
files) and the pool whose threads it uses. Volumes and the machine's own disk have a pool each.

A call about something that has not returned in its time is given up: its caller gets
`StillRunning`, its thread is written off. Until it does return, every further call about the same
thing is refused at once, so that nothing is ever torn down while it may still be set up, and one
stuck disk costs a few threads per volume. A call about the machine's own files is given up only
when the process ends: without them nothing could go on. All of this happens on the event loop; only
the calls themselves are in threads.
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
    is_getting_on,
    stack_of,
    times_scheduled,
)
from mooring.model.timestamp import to_seconds

R = TypeVar("R")

QUICK_SECONDS = 15.0  # what a call gets that only looks at a disk, or changes a little on it
LONG_SECONDS = 120.0  # to mount, format, repair, grow: much is done for it outside this process
SLOW_SECONDS = 0.5  # so long a call may keep others waiting for its thread
AT_ONCE = 8  # calls at work in one pool, slow ones not counted
AT_ONCE_PER_KEY = 4
MOST_STUCK = 256  # threads of one pool that are slow or written off

_log = log.get("mooring.host.bulkhead")


class Pool(StrEnum):
    OWN = "own"  # the machine's own disk: directories of pods, containers, records
    VOLUMES = "volumes"


class Place(msgspec.Struct, frozen=True):
    """What a call is about, and how long it may take without getting on."""

    pool: Pool = Pool.OWN
    key: str = ""  # empty: about nothing that could be stuck alone
    seconds: float = QUICK_SECONDS


class Limits(msgspec.Struct, frozen=True):
    slow_seconds: float = SLOW_SECONDS
    at_once: int = AT_ONCE
    at_once_per_key: int = AT_ONCE_PER_KEY
    most_stuck: int = MOST_STUCK
    most_seconds: float = math.inf  # whatever the place says


class StuckCall(msgspec.Struct, frozen=True):
    """A call that was given up and has not returned."""

    place: Place
    what: str
    since: datetime

    @property
    def text(self) -> str:
        """The same at all times."""
        return f"{self.what} has not returned since {to_seconds(self.since)}"


class Lane:
    """How many may pass at once; the others wait for their turn."""

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
            await turn  # whoever leaves hands over the place
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave()
            else:
                with suppress(ValueError):  # whoever left meanwhile has passed it over
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
    """One call, from the moment it may begin."""

    def __init__(self, place: Place, what: Callable[[], str], since: datetime) -> None:
        self.place = place
        self.what = what
        self.told = ""  # when it was given up: what it is doing, for people
        self.since = since
        self.loop = asyncio.get_running_loop()
        self.answer: asyncio.Future[R] = self.loop.create_future()
        self.timer: asyncio.TimerHandle | None = None
        self.is_late = False  # has been looked after once
        self.is_slow = False  # has given its turn in the pool to others
        self.is_written_off = False
        self.thread = 0  # its number in the kernel
        self.python_thread = 0
        self.scheduled = 0

    def stuck(self) -> StuckCall:
        return StuckCall(self.place, self.told, self.since)


class Bulkheads:
    """Those of one event loop, which alone touches them. `start` runs a job in some thread."""

    def __init__(self, start: Callable[[Job], None], limits: Limits | None = None) -> None:
        self._start = start
        self._limits = limits or Limits()
        self._clock = RealClock()
        self._pools = {pool: Lane(self._limits.at_once) for pool in Pool}
        self._lanes: dict[tuple[Pool, str], Lane] = {}
        self._at_work: set[_Call[Any]] = set()
        self._stuck: dict[tuple[Pool, str], list[_Call[Any]]] = {}
        self._hanging = dict.fromkeys(Pool, 0)  # threads that are slow or written off
        self._handlers: list[Callable[[], None]] = []
        self._leave_at: float | None = None  # by the loop's clock
        self.written_off = dict.fromkeys(Pool, 0)  # ever

    def on_change(self, handler: Callable[[], None]) -> None:
        """`handler` is called when a call was given up, and when one has returned after all."""
        self._handlers.append(handler)

    def stuck(self) -> Iterator[StuckCall]:
        """The oldest first."""
        calls = [call.stuck() for calls in self._stuck.values() for call in calls]
        return iter(sorted(calls, key=lambda call: call.since))

    def count(self) -> Mapping[Pool, int]:
        """How many calls are stuck now."""
        found = dict.fromkeys(Pool, 0)
        for (pool, _), calls in self._stuck.items():
            found[pool] += len(calls)
        return found

    def leave_within(self, seconds: float) -> None:
        """The process is going to end: whatever is at work then is given up."""
        loop = asyncio.get_running_loop()
        self._leave_at = loop.time() + seconds
        for call in tuple(self._at_work):
            self._set_timer(call, call.place.seconds)

    async def run(self, place: Place, what: Callable[[], str], call: Callable[[], R]) -> R:
        """What `call` returns or raises, in a thread. `what` tells people about it.

        A call that has begun cannot be taken back: a caller that is cancelled is so only after it
        has ended, or was given up.
        Raises: StillRunning when it was given up, or an earlier one of the same place is stuck;
        HostError when there is no thread for it.
        """
        self._check(place)
        lane = self._lane_of(place)
        if lane is None:
            await self._pools[place.pool].enter()
        else:
            await lane.enter()
            try:
                self._check(place)
                await self._pools[place.pool].enter()
            except BaseException:
                self._leave_lane(place)
                raise
        started: _Call[R] = _Call(place, what, self._clock.now())
        try:
            self._check(place)
            self._start(self._job(started, call))
        except BaseException as error:
            self._leave_lane(place)
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
            except asyncio.CancelledError:  # once more: somebody cannot wait
                self._write_off(call)
                raise
            if not call.answer.cancelled():
                call.answer.exception()  # seen: the one who cancelled has no use for it
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

    def _lane_of(self, place: Place) -> Lane | None:
        if not place.key:
            return None
        key = (place.pool, place.key)
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = Lane(self._limits.at_once_per_key)
        return lane

    def _leave_lane(self, place: Place) -> None:
        key = (place.pool, place.key)
        lane = self._lanes.get(key)
        if lane is not None:
            lane.leave()
            if lane.is_empty:
                del self._lanes[key]

    def _job(self, call: _Call[R], do: Callable[[], R]) -> Job:
        loop, ended = call.loop, self._ended

        def job() -> Callable[[], None]:
            call.thread, call.python_thread = threading.get_native_id(), threading.get_ident()
            result: R | None = None
            failure: BaseException | None = None
            try:
                result = do()
            except BaseException as error:  # noqa: BLE001  the caller's to judge
                failure = error

            def tell() -> None:
                with suppress(RuntimeError):  # the loop is closed: nobody waits any more
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
        elif isinstance(failure, StopIteration):  # which a future refuses
            call.answer.set_exception(RuntimeError(f"{call.what()} raised StopIteration"))
        else:
            call.answer.set_exception(failure)

    def _let_go(self, call: _Call[R]) -> None:
        """Others may have its turn."""
        self._at_work.discard(call)
        self._leave_lane(call.place)
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
            self._be_slow(call)
            return
        if not is_leaving and not call.is_late:
            call.is_late = True
            self._be_slow(call)
            call.scheduled = now
            self._set_timer(call, max(0.0, self._patience(call) - self._limits.slow_seconds))
            return
        if is_getting_on(call.scheduled, now) and not is_leaving:
            call.scheduled = now
            self._set_timer(call, self._patience(call))
            return
        self._write_off(call)

    def _be_slow(self, call: _Call[R]) -> None:
        """Others may have its turn; but not ever more of them."""
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
