"""Informers that the roles of one process share: a kind is listed, watched and decoded once.

Each role gets a share of its own, with indexes and handlers that go when the role does, while the
reflector behind it goes on for the others.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Hashable, Iterable, Sequence
from random import Random
from typing import Any, Final, Generic

import msgspec
from prometheus_client.registry import Collector

from mooring.client.contract import EVERYTHING, Client, Scope, T
from mooring.clock import Clock
from mooring.model.keys import Key
from mooring.reconcile.cache import Cache, Handler, Listener
from mooring.reconcile.informer import Informer
from mooring.reconcile.metrics import LoopMetrics
from mooring.reconcile.reflector import AT_ONCE, Reflector

ValuesOf = Callable[[T], Iterable[Hashable]]
Spawn = Callable[[Coroutine[None, None, None]], object]
"""Runs it as a task of whoever runs the informers."""


class Selection(msgspec.Struct, Generic[T], frozen=True):
    """Some objects of a kind: as a server selects them, and as an object shows it."""

    scope: Scope
    holds: Callable[[T], bool]


class SharedInformer(Generic[T]):
    """`Informer`; the share of one role. `close` takes its handlers and indexes back."""

    def __init__(
        self, reflector: Reflector[T], users: "Counter[ValuesOf[T]]", spawn: "Spawn | None" = None
    ) -> None:
        self._reflector = reflector
        self._spawn = spawn
        self._seeding = 0  # handlers that are being told of what was there before them
        self._seeded = asyncio.Event()
        self._users = users  # of each index: roles that name the same function share it
        self._indexes: dict[str, ValuesOf[T]] = {}
        self._handlers: list[Handler[T]] = []

    @property
    def synced(self) -> asyncio.Event:
        return self._seeded if self._seeding else self._reflector.synced

    @property
    def is_catching_up(self) -> bool:
        return self._reflector.is_catching_up

    @property
    def unread(self) -> Collection[Key]:
        return self._reflector.unread

    def __len__(self) -> int:
        return len(self._reflector)

    def get(self, key: Key) -> T | None:
        return self._reflector.get(key)

    def all(self) -> Collection[T]:
        return self._reflector.all()

    def by_index(self, name: str, value: Hashable) -> Sequence[T]:
        return self._reflector.by_index(self._indexes[name], value)

    def add_index(self, name: str, values_of: ValuesOf[T]) -> None:
        if not self._users[values_of]:
            self._reflector.add_index(values_of, values_of)
        self._users[values_of] += 1
        replaced = self._indexes.get(name)
        self._indexes[name] = values_of
        if replaced is not None:
            self._drop_index(replaced)

    def on_change(self, handler: Handler[T]) -> None:
        self._handlers.append(handler)
        if self._spawn is None or len(self._reflector) <= AT_ONCE:
            self._reflector.on_change(handler)
            return
        listener = self._reflector.on_change_in_slices(handler)
        self._seeding += 1
        self._seeded.clear()
        self._spawn(self._seed(listener))

    async def _seed(self, listener: Listener[T]) -> None:
        """A role that comes late hears of all that is there, while the others work."""
        await self._reflector.seed(listener)
        await self._reflector.synced.wait()  # what is there may be half of a first list
        self._seeding -= 1
        if not self._seeding:
            self._seeded.set()

    def fold(self, written: T) -> None:
        self._reflector.fold(written)

    def close(self) -> None:
        for handler in self._handlers:
            self._reflector.remove_handler(handler)
        self._handlers.clear()
        for values_of in self._indexes.values():
            self._drop_index(values_of)
        self._indexes.clear()

    def _drop_index(self, values_of: ValuesOf[T]) -> None:
        self._users[values_of] -= 1
        if not self._users[values_of]:
            del self._users[values_of]
            self._reflector.remove_index(values_of)


class SelectedInformer(Generic[T]):
    """`Informer` of some objects of a shared one; one that ceases to be selected is deleted here.

    While handlers are called with a list, indexes show it up to there: look at others after it.
    """

    def __init__(self, whole: SharedInformer[T], holds: Callable[[T], bool]) -> None:
        self._whole = whole
        self._holds = holds
        self._part: Cache[T] = Cache()
        whole.on_change(self._follow)

    @property
    def synced(self) -> asyncio.Event:
        return self._whole.synced

    @property
    def is_catching_up(self) -> bool:
        return self._whole.is_catching_up

    @property
    def unread(self) -> Collection[Key]:
        return self._whole.unread

    def __len__(self) -> int:
        return len(self._part)

    def get(self, key: Key) -> T | None:
        held = self._whole.get(key)
        return held if held is not None and self._holds(held) else None

    def all(self) -> Collection[T]:
        return self._part.all()

    def by_index(self, name: str, value: Hashable) -> Sequence[T]:
        return self._part.by_index(name, value)

    def add_index(self, name: str, values_of: ValuesOf[T]) -> None:
        self._part.add_index(name, values_of)

    def on_change(self, handler: Handler[T]) -> None:
        self._part.on_change(handler)

    def fold(self, written: T) -> None:
        self._whole.fold(written)

    def close(self) -> None:
        self._whole.close()

    def _follow(self, old: T | None, new: T | None) -> None:
        known = old if new is None else new
        if known is not None:
            self._part.show(known.key, new if new is not None and self._holds(new) else None)


class SharedInformers:
    """`Role`: the informers of a process, or of a single role.

    `whole_kinds`: several roles use a kind, so all of it is watched once, and each role's selector
    is applied here; else the server applies it, and sends less.
    """

    name: Final = "informers"

    def __init__(
        self, client: Client, clock: Clock, rng: Random, *, whole_kinds: bool = True
    ) -> None:
        self._client = client
        self._clock = clock
        self._rng = rng
        self._whole_kinds = whole_kinds
        self._metrics = LoopMetrics()
        self._reflectors: dict[tuple[type, Scope], Reflector[Any]] = {}
        self._users: dict[tuple[type, Scope], Counter[ValuesOf[Any]]] = {}
        self._tasks: asyncio.TaskGroup | None = None

    def share(
        self, kind: type[T], selection: Selection[T] | None = None
    ) -> SharedInformer[T] | SelectedInformer[T]:
        """One role's informer of the kind; its reflector starts with the first of them."""
        if selection is None:
            return self._share(kind, EVERYTHING)
        if self._whole_kinds:
            return SelectedInformer(self._share(kind, EVERYTHING), selection.holds)
        return self._share(kind, selection.scope)

    async def run(self) -> None:
        """Run them until cancelled, and those that are asked for meanwhile."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            try:
                for reflector in self._reflectors.values():
                    tasks.create_task(reflector.run())
                await asyncio.Event().wait()
            finally:
                self._tasks = None

    async def relist(self) -> None:
        """List every kind anew, for a role that must not miss what others have just written."""
        async with asyncio.TaskGroup() as tasks:
            for reflector in self._reflectors.values():
                tasks.create_task(reflector.relist())

    async def caught_up(self, version: int) -> None:
        """Return when all that was written before this version is known here.

        A kind of which nothing that new has come is listed anew: its watch may be behind.
        """
        async with asyncio.TaskGroup() as tasks:
            for reflector in self._reflectors.values():
                if reflector.seen < version:
                    tasks.create_task(reflector.relist())

    async def synced(self) -> None:
        for reflector in list(self._reflectors.values()):
            await reflector.synced.wait()

    def collectors(self) -> Iterable[Collector]:
        return (self._metrics,)

    def _share(self, kind: type[T], scope: Scope) -> SharedInformer[T]:
        known = kind, scope
        reflector: Reflector[T] | None = self._reflectors.get(known)
        if reflector is None:
            reflector = Reflector(self._client, kind, scope, self._clock, self._rng)
            self._reflectors[known], self._users[known] = reflector, Counter()
            self._metrics.add_informer(kind.resource.plural, reflector.counts)
            if self._tasks is not None:
                self._tasks.create_task(reflector.run())
        spawn = None if self._tasks is None else self._tasks.create_task
        return SharedInformer(reflector, self._users[known], spawn)


def _are_informers(
    shared: SharedInformer[T], selected: SelectedInformer[T], own: Reflector[T]
) -> Iterable[Informer[T]]:
    """The type checker holds all three to the contract here."""
    return shared, selected, own
