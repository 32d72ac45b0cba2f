"""The informer protocol: the objects of one kind, indexes over them, and every change of them.

`Reflector` is an informer of a single role, which must be run; `SharedInformer` is one role's view
of a reflector that several roles of a process share.
"""

import asyncio
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import Protocol

from mooring.client.contract import T
from mooring.model.keys import Key
from mooring.reconcile.cache import Handler


class Informer(Protocol[T]):
    """The contract is that of `Cache`, where each of these is described."""

    @property
    def synced(self) -> asyncio.Event:
        """Set as soon as handlers were called with everything that was there at the start."""
        ...

    @property
    def is_catching_up(self) -> bool: ...

    @property
    def unread(self) -> Collection[Key]: ...

    def __len__(self) -> int: ...

    def get(self, key: Key) -> T | None: ...

    def all(self) -> Collection[T]: ...

    def by_index(self, name: str, value: Hashable) -> Sequence[T]: ...

    def add_index(self, name: str, values_of: Callable[[T], Iterable[Hashable]]) -> None: ...

    def on_change(self, handler: Handler[T]) -> None: ...

    def fold(self, written: T) -> None: ...
