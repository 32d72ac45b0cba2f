"""Waiting for a container to end."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from mooring.oci.contract import Containers, Found, State


class Endings:
    """Wakes each waiting request once; it is the runtime's only listener."""

    def __init__(self, containers: Containers) -> None:
        self._containers = containers
        self._waiting: dict[str, set[asyncio.Event]] = {}
        containers.on_change(self._on_change)

    @contextmanager
    def expected(self, id: str) -> Iterator[asyncio.Event]:
        """An event that is set when the container has ended, or is not there any more."""
        ended = asyncio.Event()
        waiting = self._waiting.setdefault(id, set())
        waiting.add(ended)
        try:
            self._tell(self._containers.find(id), id)
            yield ended
        finally:
            waiting.discard(ended)
            if not waiting:
                self._waiting.pop(id, None)

    def _on_change(self, found: Found) -> None:
        self._tell(found, found.id)

    def _tell(self, found: Found | None, id: str) -> None:
        if found is None or found.state is State.EXITED:
            for event in self._waiting.get(id, ()):
                event.set()
