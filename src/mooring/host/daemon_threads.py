"""Threads that never keep the process from ending, whatever they are stuck in."""

import threading
from collections.abc import Callable
from queue import SimpleQueue

Job = Callable[[], Callable[[], None]]
"""Does something, and returns how to tell of it; raises nothing."""

MOST_IDLE = 16  # threads that wait for the next job; making one costs a tenth of a millisecond


class DaemonThreads:
    """Runs each job at once, in a thread that is idle or new."""

    def __init__(self, most_idle: int = MOST_IDLE) -> None:
        self._most_idle = most_idle
        self._idle: list[SimpleQueue[Job]] = []  # inboxes; its methods are atomic

    def start(self, job: Job) -> None:
        """Have `job` run, then what it returned. Raises: RuntimeError when there is no thread."""
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
            tell()  # last: who hears of it finds this thread idle
