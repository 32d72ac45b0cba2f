"""Calls to the operating system that may never return: several at once, each with a time limit."""

import threading
import time
from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import Generic, TypeVar

from mooring.errors import MooringError

R = TypeVar("R")

AT_ONCE = 8


class Unfinished(Enum):
    """What became of a call that was given up."""

    HUNG = auto()


class _Calls(Generic[R]):
    def __init__(self, calls: Sequence[Callable[[], R]]) -> None:
        self.calls = calls
        self.results: dict[int, R | MooringError | Unfinished] = {}
        self.began: dict[int, float] = {}
        self.next = 0
        self.changed = threading.Condition()
        self.broken: BaseException | None = None

    def work(self) -> None:
        """Take one call after the other; who was given up takes no more."""
        while True:
            with self.changed:
                if self.next >= len(self.calls) or self.broken is not None:
                    return
                number, self.next = self.next, self.next + 1
                self.began[number] = time.monotonic()
            if not self._run(number):
                return

    def _run(self, number: int) -> bool:
        result: R | MooringError
        try:
            result = self.calls[number]()
        except MooringError as error:
            result = error
        except BaseException as error:  # noqa: BLE001  raised again where it was asked for
            with self.changed:
                self.broken = error
                self.changed.notify()
            return False
        with self.changed:
            was_given_up = number in self.results
            if not was_given_up:
                self.results[number] = result
                del self.began[number]
            self.changed.notify()
        return not was_given_up


def each_within(
    seconds: float, calls: Sequence[Callable[[], R]], at_once: int = AT_ONCE
) -> list[R | MooringError | Unfinished]:
    """What each returned, or raised on purpose, or that it has not returned in `seconds`.

    One that was given up goes on in a daemon thread, which holds up neither others nor the end of
    the process.
    """
    work = _Calls(calls)
    for _ in range(min(at_once, len(calls))):
        threading.Thread(target=work.work, daemon=True).start()
    with work.changed:
        while len(work.results) < len(calls):
            if work.broken is not None:
                raise work.broken
            oldest = min(work.began.values(), default=time.monotonic())
            work.changed.wait(max(0.0, oldest + seconds - time.monotonic()) or 0.001)
            for number in [n for n, began in work.began.items() if _is_over(began, seconds)]:
                del work.began[number]
                work.results[number] = Unfinished.HUNG
                threading.Thread(target=work.work, daemon=True).start()
        return [work.results[number] for number in range(len(calls))]


def _is_over(began: float, seconds: float) -> bool:
    return time.monotonic() - began >= seconds
