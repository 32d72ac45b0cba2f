"""The engines that must keep the store's contract, and the words the tests of stores share."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from mooring.apiserver.store.contract import Change, Decide, Entry, Event, Put, Remove, Store
from mooring.apiserver.store.etcd.cluster import Cluster
from mooring.apiserver.store.etcd.store import EtcdStore
from mooring.apiserver.store.memory import MemoryStore
from mooring.apiserver.store.sqlite import SqliteStore
from mooring.clock import Clock
from tests.fakes.etcd.data import Data
from tests.fakes.etcd.member import FakeMember
from tests.fakes.etcd.plain_layout import PlainLayout


async def _memory(_: Path, clock: Clock) -> MemoryStore:
    return MemoryStore(clock)


async def _sqlite(directory: Path, clock: Clock) -> SqliteStore:
    return SqliteStore.open(directory / "mooring.db", clock)


async def _etcd(_: Path, clock: Clock) -> EtcdStore:
    cluster = Cluster([FakeMember(Data())], clock)
    return await EtcdStore.open(cluster, PlainLayout(), clock, compaction_interval=0)


ENGINES: dict[str, Callable[[Path, Clock], Awaitable[Store]]] = {
    "memory": _memory,
    "sqlite": _sqlite,
    "etcd": _etcd,
}

CLAIMS = "persistentvolumeclaims"
VOLUMES = "persistentvolumes"


def a_put(text: str) -> Put:
    """Stores `<text> at <revision>`."""
    return Put(f"{text} at ".encode(), b"")


def put(text: str) -> Decide:
    return lambda _: a_put(text)


def remove(text: str = "gone") -> Decide:
    return lambda _: Remove(a_put(text))


def keep(_: Entry | None) -> Change:
    return None


class Refusal(Exception):
    """What a decision raises in these tests."""


def create(text: str) -> Decide:
    """Refuses when there is one already."""

    def decide(current: Entry | None) -> Change:
        if current is not None:
            raise Refusal(current.value.decode())
        return a_put(text)

    return decide


def update(text: str, seen: int) -> Decide:
    """Refuses when another version than `seen` is there."""

    def decide(current: Entry | None) -> Change:
        if current is None or current.revision != seen:
            raise Refusal
        return a_put(text)

    return decide


async def stored(store: Store, table: str, name: str, text: str) -> Entry:
    entry = await store.write(table, name, put(text))
    assert entry is not None
    return entry


class Follower:
    """A watch, and the patience to wait for its events."""

    def __init__(self, store: Store, table: str, after: int) -> None:
        self._changed = asyncio.Event()
        self.watch = store.watch(table, after, self._changed.set)
        self.seen: list[Event] = []

    async def take(self, count: int, most: int = 1000) -> list[Event]:
        """Wait for the next `count` events, and fail when there are more."""
        taken: list[Event] = []
        while len(taken) < count:
            if events := self.watch.poll(most):
                taken += events
            else:
                await self._changed.wait()
                self._changed.clear()
        assert len(taken) == count
        assert not self.watch.poll()
        self.seen += taken
        return taken
