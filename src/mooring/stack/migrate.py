"""Bringing all objects from the database of a data directory into etcd, or back.

Offline: no API server runs on either. Everything is read back and compared before it is done; a run
that was interrupted is finished by the next one. Nothing is deleted: the source stays as it was,
the database under another name, so that no server takes it for the newest.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import msgspec

from mooring.apiserver.documents.document import HEAD
from mooring.apiserver.kinds.registry import builtin
from mooring.apiserver.store.contract import Change, Entry, Put
from mooring.apiserver.store.database import Row, open_database
from mooring.apiserver.store.etcd.cluster import Cluster
from mooring.apiserver.store.etcd.failure import Failed
from mooring.apiserver.store.etcd.layout import Layout
from mooring.apiserver.store.etcd.loading import load
from mooring.apiserver.store.etcd.store import EtcdStore
from mooring.apiserver.store.etcd.wire import found_instead, put_if_unchanged
from mooring.clock import Clock
from mooring.errors import Damaged, EtcdError, HostError, UsageError
from mooring.host.tree import remove_path
from mooring.stack.config import EtcdSettings
from mooring.stack.etcd import connect, layout_of, take_data_dir
from mooring.stack.etcd_prefix import check_prefix, forget_prefix, remember_prefix
from mooring.upkeep.place import DATABASE, ETCD_REVISION, MIGRATED

UNFINISHED = "migrating"  # a directory for a database that is not complete
AT_ONCE = 64  # writes under way
RAISED_KEY = b"mooring_migrated/%d"  # some, written until etcd has come as far as the database
DEFINITIONS = "apiextensions.k8s.io/customresourcedefinitions"

Tables = Mapping[str, Mapping[str, Entry]]


class Migrated(msgspec.Struct, frozen=True):
    objects: int
    revision: int  # that the new store is at
    kept: Path | None = None  # where the old database is now


async def to_etcd(data_dir: Path, settings: EtcdSettings, clock: Clock) -> Migrated:
    """Objects get new resourceVersions, higher than any of before.

    Raises: UsageError, Damaged, EtcdError.
    """
    path = data_dir / DATABASE
    if not path.exists():
        raise UsageError(f"{path} is missing: there is nothing to migrate")
    kept = path.with_name(MIGRATED)
    if kept.exists():
        raise UsageError(f"{kept} is there, of an earlier migration: move it away first")
    database, contents = open_database(path)
    try:
        tables = contents.tables
        definitions = tables.get(DEFINITIONS, {}).values()
        layout = layout_of(builtin(), settings.prefix, dict(_defined(definitions)))
        async with _connected(settings, clock) as cluster:
            found = await load(cluster, layout)
            _check_subset(found.tables, tables, settings.prefix)
            await _raise_revision(cluster, contents.revision - found.revision)
        revision = await _copy(tables, layout, settings, clock)
        async with _connected(settings, clock) as cluster:
            _check_same(tables, (await load(cluster, layout)).tables)
    finally:
        database.close()
    remember_prefix(data_dir, settings.prefix)
    path.rename(kept)
    return Migrated(_count(tables), revision, kept)


async def to_sqlite(data_dir: Path, settings: EtcdSettings, clock: Clock) -> Migrated:
    """Objects keep their resourceVersions. Raises: UsageError, Damaged, EtcdError.

    The database gets its name when it is complete: a server would begin with what is there.
    """
    path = data_dir / DATABASE
    if path.exists():
        raise UsageError(f"{path} is there: choose a --data-dir without one, or move it away first")
    lock = take_data_dir(data_dir)
    unfinished = data_dir / UNFINISHED
    try:
        check_prefix(data_dir, settings.prefix)
        _remove(unfinished)  # of a run that was killed
        made = await _fill(unfinished / DATABASE, settings, clock)
        (unfinished / DATABASE).rename(path)
        (data_dir / ETCD_REVISION).unlink(missing_ok=True)
        forget_prefix(data_dir)
        return made
    finally:
        _remove(unfinished)
        lock.release()


def _remove(directory: Path) -> None:
    with suppress(HostError):  # it need not be there
        remove_path(directory)


async def _fill(path: Path, settings: EtcdSettings, clock: Clock) -> Migrated:
    """A new database with all that is in etcd. Raises: UsageError, Damaged, EtcdError."""
    layout = layout_of(builtin(), settings.prefix)
    async with _connected(settings, clock) as cluster:
        loaded = await load(cluster, layout)
        if not loaded.tables:
            raise UsageError(f"etcd holds nothing under {settings.prefix}: nothing is migrated")
        database, _ = open_database(path)
        try:
            database.stage(_rows(loaded.tables), (), loaded.revision)
            database.commit()
        finally:
            database.close()
        again = await load(cluster, layout)
        if again.revision != loaded.revision:
            raise UsageError("etcd is written to: stop every API server on it, then try again")
    database, contents = open_database(path)
    database.close()
    _check_same(loaded.tables, contents.tables)
    return Migrated(_count(loaded.tables), contents.revision)


def _defined(definitions: Iterable[Entry]) -> Iterator[tuple[str, tuple[str, str]]]:
    """The tables of custom kinds, and the kind and apiVersion of what is stored in them."""
    for entry in definitions:
        spec = msgspec.json.decode(entry.value)["spec"]
        stored = next(version["name"] for version in spec["versions"] if version["storage"])
        group, names = spec["group"], spec["names"]
        yield f"{group}/{names['plural']}", (names["kind"], f"{group}/{stored}")


@asynccontextmanager
async def _connected(settings: EtcdSettings, clock: Clock) -> AsyncIterator[Cluster]:
    cluster = await connect(settings, clock)
    try:
        yield cluster
    finally:
        await cluster.close()


async def _copy(tables: Tables, layout: Layout, settings: EtcdSettings, clock: Clock) -> int:
    """Write what is not there; returns the revision reached."""
    cluster = await connect(settings, clock)
    store = await EtcdStore.open(cluster, layout, clock, compaction_interval=0)
    try:
        entries = [entry for table in tables.values() for entry in table.values()]
        for start in range(0, len(entries), AT_ONCE):
            some = entries[start : start + AT_ONCE]
            await asyncio.gather(*(_write(store, entry) for entry in some))
        return store.revision
    finally:
        await store.close()


async def _write(store: EtcdStore, entry: Entry) -> None:
    tail = _tail(entry)

    def decide(found: Entry | None) -> Change:
        if found is None:
            return Put(HEAD, tail)
        if _tail(found) != tail:
            raise _is_taken(found)
        return None

    try:
        await store.write(entry.table, entry.name, decide)
    except EtcdError as error:
        raise EtcdError(f"{entry.table} {entry.name}: {error}") from error


async def _raise_revision(cluster: Cluster, by: int) -> None:
    """So that no resourceVersion that a client may know comes again. Raises: EtcdError."""
    keys = min(AT_ONCE, max(by, 0))
    try:
        await asyncio.gather(
            *(_write_often(cluster, RAISED_KEY % number, -(-by // keys)) for number in range(keys))
        )
    except Failed as failed:
        raise failed.as_error() from None


async def _write_often(cluster: Cluster, key: bytes, times: int) -> None:
    """One after the other, each guarded: kine takes no others. Raises: Failed."""
    guard = 0
    while times:
        response = await cluster.transact(put_if_unchanged(key, guard, b"%d" % times))
        if response.succeeded:
            guard = response.header.revision
            times -= 1
        else:  # an interrupted run has written it
            found = found_instead(response)
            guard = 0 if found is None else found.mod_revision


def _check_subset(found: Tables, wanted: Tables, prefix: str) -> None:
    """In etcd is nothing, or what an interrupted run has brought there. Raises: UsageError."""
    for table, entries in found.items():
        for name, entry in entries.items():
            source = wanted.get(table, {}).get(name)
            if source is None or _tail(source) != _tail(entry):
                raise UsageError(
                    f"{prefix} in etcd holds other objects ({table} {name}): choose another "
                    f"--etcd-prefix, or remove them with `etcdctl del --prefix {prefix}/`"
                )


def _check_same(one: Tables, other: Tables) -> None:
    """Raises: Damaged."""
    here, there = _by_place(one), _by_place(other)
    for place in here.keys() | there.keys():
        if here.get(place) != there.get(place):
            raise Damaged(f"the copy differs from its source at {' '.join(place)}: try again")


def _by_place(tables: Tables) -> dict[tuple[str, str], bytes]:
    return {
        (table, name): _tail(entry)
        for table, entries in tables.items()
        for name, entry in entries.items()
    }


def _tail(entry: Entry) -> bytes:
    """The document behind its resourceVersion."""
    return entry.value[len(HEAD) :].lstrip(b"0123456789")


def _rows(tables: Tables) -> list[Row]:
    """Numbered from 1: whatever is created later has a revision beyond all of these."""
    entries = [entry for table in tables.values() for entry in table.values()]
    return [
        Row(entry.table, entry.name, entry.value, entry.revision, None, number)
        for number, entry in enumerate(sorted(entries, key=lambda entry: entry.revision), 1)
    ]


def _count(tables: Tables) -> int:
    return sum(map(len, tables.values()))


def _is_taken(found: Entry) -> UsageError:
    return UsageError(f"{found.table} {found.name} was written to etcd meanwhile: stop all servers")
