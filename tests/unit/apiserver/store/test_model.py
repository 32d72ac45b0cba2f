"""Every engine against the plainest model there is: a copy of all tables per revision."""

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from mooring.apiserver.store.contract import Change, Decide, Entry, Store, Watch
from mooring.errors import Compacted, FutureRevision
from tests.fakes.clock import VirtualClock
from tests.unit.apiserver.store.engines import ENGINES, keep, put, remove

TABLES = ("claims", "volumes")
NAMES = ("a-b/x", "a/x", "a/y", "a/z", "b/x", "b", "c")

State = dict[str, dict[str, bytes]]

tables = st.sampled_from(TABLES)
names = st.sampled_from(NAMES)
decisions = st.sampled_from([put("new"), put("other"), remove(), keep])


class StoreMachine(RuleBasedStateMachine):
    engine: str

    @initialize()
    def begin(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.directory = Path(tempfile.mkdtemp())
        self.clock = VirtualClock()
        self.store = self.opened()
        began = (self.store.oldest, self.store.revision)
        self.states: dict[int, State] = {at: {table: {} for table in TABLES} for at in began}
        self.oldest = self.store.oldest
        self.watches: list[tuple[str, Watch, dict[str, bytes]]] = []

    def opened(self) -> Store:
        async def opening() -> Store:
            return await ENGINES[self.engine](self.directory, self.clock)

        return self.loop.run_until_complete(opening())

    def run(self, coroutine: Coroutine[Any, Any, Entry | None]) -> Entry | None:
        return self.loop.run_until_complete(coroutine)

    @property
    def now(self) -> State:
        return self.states[max(self.states)]

    def record(self, table: str, name: str, entry: Entry, *, deleted: bool) -> None:
        state = {table: dict(rows) for table, rows in self.now.items()}
        if deleted:
            del state[table][name]
        else:
            state[table][name] = entry.value
        assert entry.revision > max(self.states)
        self.states[entry.revision] = state

    @rule(table=tables, name=names, decide=decisions)
    def write(self, table: str, name: str, decide: Decide) -> None:
        seen: list[bytes | None] = []

        def looking(current: Entry | None) -> Change:
            seen.append(None if current is None else current.value)
            return decide(current)

        before = self.now[table].get(name)
        entry = self.run(self.store.write(table, name, looking))
        assert seen == [before]
        if decide is keep or (before is None and entry is None):
            assert (None if entry is None else entry.value) == before
        else:
            assert entry is not None
            self.record(table, name, entry, deleted=entry.value.startswith(b"gone"))

    @rule(table=tables, writes=st.lists(st.tuples(names, decisions), min_size=2, max_size=8))
    def write_together(self, table: str, writes: list[tuple[str, Decide]]) -> None:
        async def together() -> None:
            entries = await asyncio.gather(*(self.store.write(table, n, d) for n, d in writes))
            changed = [
                (name, entry)
                for (name, decide), entry in zip(writes, entries, strict=True)
                if decide is not keep and entry is not None
            ]
            for name, entry in sorted(changed, key=lambda change: change[1].revision):
                self.record(table, name, entry, deleted=entry.value.startswith(b"gone"))

        self.loop.run_until_complete(together())

    @rule(
        table=tables,
        prefix=st.sampled_from(["", "a", "a/", "b", "x"]),
        after=st.sampled_from(["", "a/x", "a/xx", "b"]),
        limit=st.integers(0, 4),
        back=st.integers(-1, 20),
    )
    def read(self, table: str, prefix: str, after: str, limit: int, back: int) -> None:
        revision = max(1, self.store.revision - back)  # 0 would mean now
        if revision > self.store.revision:
            with pytest.raises(FutureRevision):
                self.store.range(table, revision=revision)
        elif revision < self.oldest:
            with pytest.raises(Compacted):
                self.store.range(table, revision=revision)
        else:
            state = self.states[max(known for known in self.states if known <= revision)][table]
            expected = sorted(n for n in state if n.startswith(prefix) and n > after)
            page = self.store.range(table, prefix, after=after, limit=limit, revision=revision)
            count = min(limit, len(expected)) if limit else len(expected)
            assert [(e.name, e.value) for e in page.entries] == [
                (n, state[n]) for n in expected[:count]
            ]
            assert (page.remaining, page.more) == (len(expected) - count, len(expected) > count)

    @rule(table=tables, back=st.integers(0, 10))
    def watch(self, table: str, back: int) -> None:
        after = self.store.revision - back
        if after < self.oldest:
            with pytest.raises(Compacted):
                self.store.watch(table, after, lambda: None)
        else:
            state = self.states[max(known for known in self.states if known <= after)][table]
            watch = self.store.watch(table, after, lambda: None)
            self.watches.append((table, watch, dict(state)))

    @rule(most=st.sampled_from([1, 3, 1000]))
    def follow(self, most: int) -> None:
        """Replayed, the events of a watch lead from its state to the state it says it is at."""
        for table, watch, state in list(self.watches):
            try:
                events = watch.poll(most)
            except Compacted:
                assert watch.revision < self.oldest
                self.watches.remove((table, watch, state))
                continue
            for event in events:
                previous = None if event.previous is None else event.previous.value
                assert state.get(event.entry.name) == previous
                if event.deleted:
                    del state[event.entry.name]
                else:
                    state[event.entry.name] = event.entry.value
            reached = max(known for known in self.states if known <= watch.revision)
            assert state == self.states[reached][table]

    @rule(back=st.integers(0, 10))
    def compact(self, back: int) -> None:
        revision = self.store.revision - back
        self.loop.run_until_complete(self.store.compact(revision))
        self.oldest = max(self.oldest, revision)

    @rule(back=st.integers(1, 200))
    def let_time_pass(self, back: int) -> None:
        self.loop.run_until_complete(self.clock.advance(back))

    @invariant()
    def newest_state_agrees(self) -> None:
        if not hasattr(self, "store"):
            return
        assert self.store.revision == max(self.states)
        assert self.store.oldest >= self.oldest
        self.oldest = self.store.oldest
        for table in TABLES:
            rows = {name: entry.value for name, entry in _entries(self.store, table).items()}
            assert rows == self.now[table]
            assert self.store.count(table) == len(rows)
        assert list(self.store.tables()) == [table for table in TABLES if self.now[table]]

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.loop.run_until_complete(self.store.close())
            self.loop.close()
            shutil.rmtree(self.directory)


def _entries(store: Store, table: str) -> dict[str, Entry]:
    found = {name: store.get(table, name) for name in NAMES}
    return {name: entry for name, entry in found.items() if entry is not None}


class MemoryMachine(StoreMachine):
    engine = "memory"


class SqliteMachine(StoreMachine):
    """Restarts too: then everything is there, and history begins anew."""

    engine = "sqlite"

    @rule()
    def restart(self) -> None:
        self.loop.run_until_complete(self.store.close())
        self.store = self.opened()
        self.watches.clear()
        self.oldest = max(self.states)
        assert self.store.oldest == self.oldest


class EtcdMachine(StoreMachine):
    engine = "etcd"


TestMemory = MemoryMachine.TestCase
TestMemory.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestSqlite = SqliteMachine.TestCase
TestSqlite.settings = settings(
    max_examples=25,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestEtcd = EtcdMachine.TestCase
TestEtcd.settings = settings(
    max_examples=12,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
