"""Telling a pod that giving its volume to its group takes long."""

import asyncio
from pathlib import Path

from mooring.clock import Clock
from mooring.host import ownership
from mooring.model.event import EventType
from mooring.plugins.contract import Tell


class SlowWalk:
    """Gets the number of finished files from the walking thread; records events when it is slow."""

    def __init__(self, tell: Tell, clock: Clock, path: Path, pod_uid: str) -> None:
        self._tell = tell
        self._clock = clock
        self._path = path
        self._pod_uid = pod_uid
        self._loop = asyncio.get_running_loop()
        self._next = clock.monotonic() + ownership.FIRST_REPORT_SECONDS
        self._has_told = False

    def __call__(self, entries: int) -> None:
        now = self._clock.monotonic()
        if now < self._next:
            return
        self._next = now + ownership.NEXT_REPORT_SECONDS
        if self._has_told:
            text = ownership.progress_text(self._path, self._pod_uid, entries)
        else:
            text = ownership.slow_text(self._path, self._pod_uid)
        self._has_told = True
        self._loop.call_soon_threadsafe(self._tell, EventType.WARNING, ownership.IN_PROGRESS, text)
