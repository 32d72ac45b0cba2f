"""A watchdog for the event loop: how late it is, and whether a system call blocks it.

A thread schedules a callback on the loop now and then. Until the callback has run, it looks at the
loop's thread: one that computes, or waits for a processor or the interpreter lock, is late; one
that waits in a system call is blocked, which is always a bug in Mooring.
"""

import asyncio
import platform
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from prometheus_client import Counter, Histogram, Metric
from prometheus_client.registry import Collector

from mooring import log
from mooring.host.thread_activity import stack_of, times_scheduled

ASK_SECONDS = 0.5
ALARM_SECONDS = 0.1
SAMPLE_SECONDS = 0.02
BOUNDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

# System calls by which a loop waits for its next event, or a thread for the interpreter lock.
_WAITING = {
    "x86_64": frozenset(b"202 232 281 441 7 271 449".split()),
    "aarch64": frozenset(b"98 22 441 73 449".split()),
}

_log = log.get("mooring.loop")


class LoopWatch(Collector):
    """Watches the running loop inside its `with`."""

    def __init__(self, ask_seconds: float = ASK_SECONDS) -> None:
        self.longest_blocked = 0.0  # seconds
        self.where = ""  # the lines of code that blocked it
        self._ask_seconds = ask_seconds
        self._stop = threading.Event()
        self._lags = Histogram(
            "mooring_loop_lag_seconds",
            "How long the event loop let a sign of life wait.",
            buckets=BOUNDS,
            registry=None,
        )
        self._blocked = Counter(
            "mooring_loop_blocked_seconds",
            "For how long system calls have kept the event loop from its work.",
            registry=None,
        )

    def __enter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._thread, self._python_thread = threading.get_native_id(), threading.get_ident()
        self._watcher = threading.Thread(target=self._watch, name="loop watch", daemon=True)
        self._watcher.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()

    def collect(self) -> Iterator[Metric]:
        yield from self._lags.collect()
        yield from self._blocked.collect()

    def _watch(self) -> None:
        while not self._stop.wait(self._ask_seconds):
            heard, asked = threading.Event(), time.monotonic()
            try:
                self._loop.call_soon_threadsafe(heard.set)
            except RuntimeError:
                return  # the loop is closed
            if not heard.wait(SAMPLE_SECONDS):
                self._look_after(heard)
            self._lags.observe(time.monotonic() - asked)

    def _look_after(self, heard: threading.Event) -> None:
        """Wait until the callback has run; log where the loop is once it counts as blocked."""
        blocked, before, is_told = 0.0, -1, False
        since = time.monotonic()
        while not heard.wait(SAMPLE_SECONDS) and not self._stop.is_set():
            now, scheduled = time.monotonic(), times_scheduled(self._thread)
            if scheduled == before and is_waiting_in_a_call(self._thread):
                blocked += now - since
            since, before = now, scheduled
            if blocked > self.longest_blocked:
                self.longest_blocked = blocked
                self.where = stack_of(self._python_thread)
            if blocked >= ALARM_SECONDS and not is_told:
                is_told = True
                _log.warning("the event loop is blocked", at=stack_of(self._python_thread))
        self._blocked.inc(blocked)


def is_waiting_in_a_call(thread: int) -> bool:
    """Whether a thread (by its kernel id) waits in a system call not made for waiting.

    False where the kernel does not say.
    """
    try:
        told = Path(f"/proc/self/task/{thread}/syscall").read_bytes()
    except OSError:
        return False
    number = told.partition(b" ")[0].strip()
    waiting = _WAITING.get(platform.machine())
    return number.isdigit() and waiting is not None and number not in waiting
