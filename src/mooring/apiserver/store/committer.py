"""A thread that waits for the disk, so that the event loop need not.

Only the commit itself runs there, because each return of a thread to Python needs the interpreter
lock, and a busy loop hardly ever gives it away: it lets go of the lock around each system call, but
takes it back before the thread, woken by that, is running. Measured: writes that waited for seconds
beside a loop that is busy all the time. So the loop stands aside on purpose, for a moment each
millisecond, while a commit is under way; with an idle loop that costs nothing.
"""

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue

_EVERY = 0.001  # seconds
_MOMENT = 0.0001  # seconds; a sleeping thread needs about half of it to wake up

Report = Callable[[Exception | None], None]


class Committer:
    """Runs one call at a time in a thread of its own."""

    def __init__(self) -> None:
        self._orders: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._running = True
        self._turn = threading.Lock()  # released by the thread when it had its turn
        self._turn.acquire()
        self._next_aside: asyncio.TimerHandle | None = None
        self._thread = threading.Thread(target=self._run, name="mooring-commit", daemon=True)
        self._thread.start()

    def start(self, commit: Callable[[], None], report: Report) -> None:
        """Run `commit`; then `report` is called on the loop with what it raised, or None."""
        loop = asyncio.get_running_loop()

        def finish(failure: Exception | None) -> None:
            if self._next_aside is not None:
                self._next_aside.cancel()
            report(failure)

        def order() -> None:
            failure: Exception | None = None
            self._had_turn()
            try:
                commit()
            except Exception as error:  # noqa: BLE001 - unreported, it would hang every writer
                failure = error
            loop.call_soon_threadsafe(finish, failure)
            self._had_turn()

        self._orders.put(order)
        self._stand_aside(loop)

    def stop(self) -> None:
        """Before: every call was reported. After: the thread is gone."""

        def order() -> None:
            self._running = False

        self._orders.put(order)
        self._thread.join()

    def _run(self) -> None:
        while self._running:
            self._orders.get()()

    def _had_turn(self) -> None:
        if self._turn.locked():  # only this thread releases it
            self._turn.release()

    def _stand_aside(self, loop: asyncio.AbstractEventLoop) -> None:
        self._turn.acquire(timeout=_MOMENT)
        self._next_aside = loop.call_later(_EVERY, self._stand_aside, loop)
