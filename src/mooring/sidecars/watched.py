"""A cache that many drivers look at: each is told of changes for as long as it is served."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Generic

from mooring.client.contract import T
from mooring.reconcile.cache import Handler
from mooring.reconcile.reflector import Reflector


class Watched(Generic[T]):
    """Somebody else runs the informer."""

    def __init__(self, cache: Reflector[T]) -> None:
        self.cache = cache
        self._handlers: list[Handler[T]] = []
        cache.on_change(self._tell)

    @contextmanager
    def telling(self, handler: Handler[T]) -> Iterator[None]:
        """Tell `handler` of all that is there and of every change, inside this block."""
        self._handlers.append(handler)
        try:
            for held in list(self.cache.all()):
                handler(None, held)
            yield
        finally:
            self._handlers.remove(handler)

    def _tell(self, before: T | None, after: T | None) -> None:
        for handler in self._handlers:
            handler(before, after)
