"""Whether a volume was staged or unstaged while it was copied.

A write trace follows one device. A volume that is staged anew gets another one, and its image may
have been written to in between, or even replaced (the first staging formats a new one).
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock


class Watch:
    """`has_changed`: one of the volumes was staged or unstaged since `start`."""

    def __init__(self, volume_ids: Sequence[str]) -> None:
        self.volume_ids = frozenset(volume_ids)
        self.has_changed = False

    def start(self) -> None:
        """To be called by who holds the volumes."""
        self.has_changed = False


class Stagings:
    """The watches of all copies that are being made."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._watches: set[Watch] = set()

    def note(self, volume_id: str) -> None:
        """The volume is about to be staged or unstaged. The caller holds it."""
        with self._lock:
            for watch in self._watches:
                if volume_id in watch.volume_ids:
                    watch.has_changed = True

    @contextmanager
    def watching(self, volume_ids: Sequence[str]) -> Iterator[Watch]:
        watch = Watch(volume_ids)
        with self._lock:
            self._watches.add(watch)
        try:
            yield watch
        finally:
            with self._lock:
                self._watches.discard(watch)
