"""Claims and volumes as they will be: decided, and not written yet.

An assumption holds for as long as the object is the one it was made of. What the API shows of it
afterwards, the write itself included, is the truth, and the assumption is forgotten.
"""

from collections.abc import Callable
from typing import Generic

from mooring.client.contract import T
from mooring.model.keys import Key
from mooring.reconcile.informer import Informer


class Assumed(Generic[T]):
    """`on_change` is called with every object that looks different now, assumed or not."""

    def __init__(self, cache: Informer[T], on_change: Callable[[T], None]) -> None:
        self._cache = cache
        self._objects: dict[Key, T] = {}
        self._on_change = on_change
        cache.on_change(self._learn)

    def get(self, key: Key) -> T | None:
        return self._objects.get(key) or self._cache.get(key)

    def assume(self, wanted: T) -> None:
        """It will be so. `wanted` must be made of what `get` gives."""
        self._objects[wanted.key] = wanted
        self._on_change(wanted)

    def restore(self, key: Key) -> T | None:
        """It will not be so: how it is then. None: it is so already, or it is gone."""
        if self._objects.pop(key, None) is None:
            return None
        known = self._cache.get(key)
        if known is not None:
            self._on_change(known)
        return known

    def _learn(self, old: T | None, new: T | None) -> None:
        known = new or old
        if known is not None:
            self._objects.pop(known.key, None)
        if new is not None:
            self._on_change(new)
