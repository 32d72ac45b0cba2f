"""Threads that do not keep the process from ending, even when stuck in a system call."""

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue

Job = Callable[[], Callable[[], None]]
"""Does the work, and returns the function that reports its result; raises nothing."""

MOST_IDLE = 16  # threads that wait for the next job; making one costs a tenth of a millisecond


class DaemonThreads:
    """Runs each job at once, in a thread that is idle or new."""

    def __init__(self, most_idle: int = MOST_IDLE) -> None:
        self._most_idle = most_idle
        self._idle: list[SimpleQueue[Job]] = []  # inboxes; its methods are atomic
        os.register_at_fork(after_in_child=self._idle.clear)  # a fork has none of the threads

    def start(self, job: Job) -> None:
        """Run `job`, then the function it returns. Raises: RuntimeError without a thread for it."""
        try:
            inbox = self._idle.pop()
        except IndexError:
            inbox = SimpleQueue()
            threading.Thread(
                target=self._serve, args=(inbox,), name="blocking", daemon=True
            ).start()
        inbox.put(job)

    def _serve(self, inbox: SimpleQueue[Job]) -> None:
        is_kept = True
        while is_kept:
            tell = inbox.get()()
            is_kept = len(self._idle) < self._most_idle
            if is_kept:
                self._idle.append(inbox)
            tell()  # last: by the time the result is seen, this thread is idle
