"""The SQLite engine alone, and the alternatives that were measured before it was chosen."""

import asyncio
import os
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import msgspec
import uvloop

from mooring.apiserver.store.contract import Change, Entry, Put
from mooring.apiserver.store.database import Contents
from mooring.apiserver.store.memory import MemoryStore
from mooring.apiserver.store.sqlite import SqliteStore
from mooring.clock import RealClock

Row = tuple[str, str, str]

WRITERS = 64
OBJECTS = 20_000
SECONDS = 2.0
VALUE = Put(b"x" * 745, b"x" * 745)  # 1.5 KB with the revision in its middle
TABLE = "persistentvolumeclaims"

SCHEMAS = {
    "row by creation": "CREATE TABLE o(id INTEGER PRIMARY KEY, t, n, r, c, v)",
    "row and index by name": "CREATE TABLE o(id, t, n, r, c, v, UNIQUE(t, n))",
    "clustered by name": "CREATE TABLE o(id, t, n, r, c, v, PRIMARY KEY(t, n)) WITHOUT ROWID",
}


class Load(msgspec.Struct):
    """What the writers do, and what else the loop has to do."""

    writers: int = WRITERS
    updates: bool = False
    busy: bool = False
    watchers: int = 0


class Measured(msgspec.Struct):
    rate: float
    p50_ms: float
    p99_ms: float

    def row(self, measure: str, note: str = "") -> Row:
        latency = f"p50 {self.p50_ms:.1f} ms, p99 {self.p99_ms:.1f} ms"
        return measure, f"{self.rate:,.0f}/s", f"{latency}; {note}" if note else latency


def _always(_: Entry | None) -> Change:
    return VALUE


async def _fill(store: SqliteStore | MemoryStore) -> None:
    await asyncio.gather(*(store.write(TABLE, f"a/{i}", _always) for i in range(OBJECTS)))


async def _spin(stop: asyncio.Event) -> None:
    """Work in small pieces, without rest, as a server under load has."""
    while not stop.is_set():
        sum(range(10_000))
        turn = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(turn.set_result, None)
        await turn


async def _measure(store: SqliteStore | MemoryStore, load: Load) -> Measured:
    rng = Random(1)  # noqa: S311 - repeatable, not secret
    latencies: list[float] = []
    if load.updates:
        await _fill(store)
    watches = [store.watch(TABLE, store.revision, _unheard) for _ in range(load.watchers)]
    stop = asyncio.Event()
    spinning = asyncio.ensure_future(_spin(stop)) if load.busy else None
    began = time.perf_counter()

    async def write() -> None:
        while (start := time.perf_counter()) < began + SECONDS:
            number = rng.randrange(OBJECTS) if load.updates else rng.getrandbits(40)
            await store.write(TABLE, f"a/{number}", _always)
            latencies.append(time.perf_counter() - start)

    await asyncio.gather(*(write() for _ in range(load.writers)))
    took = time.perf_counter() - began
    stop.set()
    if spinning:
        await spinning
    for watch in watches:
        watch.close()
    await store.close()
    latencies.sort()
    p50, p99 = latencies[len(latencies) // 2], latencies[len(latencies) * 99 // 100]
    return Measured(len(latencies) / took, p50 * 1000, p99 * 1000)


def _unheard() -> None:
    """A watcher that costs nothing itself."""


@contextmanager
def _directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="mooring-bench-") as name:
        yield Path(name)


def _sqlite(load: Load) -> Measured:
    async def measure(path: Path) -> Measured:
        return await _measure(SqliteStore.open(path, RealClock()), load)

    with _directory() as directory:
        return uvloop.run(measure(directory / "mooring.db"))


class _NoDisk:
    """What is left of a write when the disk is taken away."""

    def stage(self, puts: object, removed: object, revision: int) -> None:
        pass

    def commit(self) -> None:
        pass

    def rollback(self) -> None:
        pass

    def close(self) -> None:
        pass


def _without_disk() -> Measured:
    async def measure() -> Measured:
        return await _measure(SqliteStore(_NoDisk(), Contents({}, 1), RealClock()), Load())

    return uvloop.run(measure())


def _start() -> Row:
    async def fill(path: Path) -> None:
        store = SqliteStore.open(path, RealClock())
        await _fill(store)
        await store.close()

    with _directory() as directory:
        uvloop.run(fill(directory / "mooring.db"))
        began = time.perf_counter()
        store = SqliteStore.open(directory / "mooring.db", RealClock())
        took = time.perf_counter() - began
        count = store.count(TABLE)
        asyncio.run(store.close())
    return f"open, check and load {count:,} objects", f"{took:.3f} s", "target 0.3 s"


def _lists() -> list[Row]:
    async def measure() -> list[Row]:
        store = MemoryStore(RealClock())
        await _fill(store)
        then = store.revision
        for i in range(1000):
            await store.write(TABLE, f"a/{i}", _always)
        rows = []
        for measure, revision in (("now", 0), ("1,000 changes ago", then)):
            began = time.perf_counter()
            page = store.range(TABLE, revision=revision)
            took = (time.perf_counter() - began) * 1000
            rows.append((f"list {len(page.entries):,}, {measure}", f"{took:.1f} ms", ""))
        return rows

    return uvloop.run(measure())


def _sync() -> Row:
    with _directory() as directory:
        descriptor = os.open(directory / "file", os.O_RDWR | os.O_CREAT)
        times = []
        for i in range(200):
            os.pwrite(descriptor, b"x" * 16384, i * 16384)
            began = time.perf_counter()
            os.fdatasync(descriptor)
            times.append(time.perf_counter() - began)
        os.close(descriptor)
    return (
        "fdatasync of 16 KiB",
        f"{sorted(times)[100] * 1000:.2f} ms",
        "median; the floor of a commit",
    )


def _schema(create: str) -> float:
    """Rows per second in transactions of 64, names in no order."""
    rng = Random(1)  # noqa: S311 - repeatable, not secret
    with _directory() as directory:
        connection = sqlite3.connect(directory / "x.db", isolation_level=None)
        for setting in ("locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = FULL"):
            connection.execute(f"PRAGMA {setting}")
        connection.execute(create)
        value, count, began = b"x" * 1500, 0, time.perf_counter()
        while time.perf_counter() < began + SECONDS:
            names = [f"a/{rng.getrandbits(40)}" for _ in range(WRITERS)]
            connection.execute("BEGIN")
            connection.executemany(
                "INSERT OR REPLACE INTO o VALUES (?, ?, ?, ?, ?, ?)",
                [(count + i, TABLE, name, count + i, 0, value) for i, name in enumerate(names)],
            )
            connection.commit()
            count += WRITERS
        took = time.perf_counter() - began
        connection.close()
    return count / took


def run() -> list[Row]:
    rows = [
        _sync(),
        _sqlite(Load()).row(f"durable creates, {WRITERS} writers, 1.5 KB", "target 20,000/s"),
        _sqlite(Load(updates=True)).row(f"durable updates of {OBJECTS:,}, {WRITERS} writers"),
        _sqlite(Load(writers=1)).row("durable creates, 1 writer"),
        _sqlite(Load(busy=True)).row(f"durable creates, {WRITERS} writers, loop never idle"),
        _sqlite(Load(watchers=1000)).row(f"durable creates, {WRITERS} writers, 1,000 watches"),
        _without_disk().row("the same engine with a disk that does nothing"),
        uvloop.run(_measure(MemoryStore(RealClock()), Load())).row("memory engine"),
        _start(),
        *_lists(),
    ]
    for name, create in SCHEMAS.items():
        chosen = "chosen" if name == "row by creation" else ""
        rows.append((f"SQLite alone, {name}", f"{_schema(create):,.0f}/s", chosen))
    return rows
