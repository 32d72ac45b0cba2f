"""The file behind the SQLite engine: checked, read whole at the start, then only written.

A row's key is the revision that created the object: rows of new objects go to the end of the table,
which writes half the pages that an index over names would, and memory knows the names anyway.
Everything is read through a connection that cannot write, so a damaged file stays as it was found.
"""

import os
import sqlite3
import sys
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable
from errno import EACCES
from pathlib import Path
from typing import TypeVar

import msgspec

from mooring.apiserver.store.contract import FIRST_REVISION, Entry
from mooring.apiserver.store.revision_mark import RevisionMark, find_mark
from mooring.apiserver.store.wal import loses_commits
from mooring.errors import Damaged, UsageError
from mooring.host.directory_lock import DirectoryLock

FORMAT = 1

R = TypeVar("R")
_Rows = Iterable[tuple[str, str, bytes, int, int, int]]

_SCHEMA = (
    "PRAGMA journal_mode = WAL",
    "BEGIN",
    "CREATE TABLE meta(id INTEGER PRIMARY KEY, format INTEGER NOT NULL, revision INTEGER NOT NULL,"
    " checksum INTEGER NOT NULL)",
    "CREATE TABLE objects(created INTEGER PRIMARY KEY, tbl TEXT NOT NULL, name TEXT NOT NULL,"
    " revision INTEGER NOT NULL, checksum INTEGER NOT NULL, value BLOB NOT NULL)",
)

NOTE_REVISION = "INSERT OR REPLACE INTO meta VALUES (1, ?, ?, ?)"

_LOG_PAGES = 1000  # the log is copied into the database when it is this long: 4 MB

_SETTINGS = (
    "PRAGMA locking_mode = EXCLUSIVE",  # also: no shared memory file, fewer system calls
    "PRAGMA synchronous = FULL",
    "PRAGMA cache_size = -1024",  # KiB; reads are served from our memory, not from SQLite's
    "PRAGMA secure_delete = ON",  # a deleted Secret is gone; measured: costs nothing
    f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}",
    f"PRAGMA journal_size_limit = {2 * _LOG_PAGES * 4096}",
)


class Row(Entry, gc=False):
    """An entry that knows its row."""

    created: int = 0


class Contents(msgspec.Struct):
    tables: dict[str, dict[str, Entry]]
    revision: int


class Summary(msgspec.Struct, frozen=True):
    """Of contents that were checked and not kept."""

    names: dict[str, set[str]]  # by table
    revision: int


class Database:
    """The one connection that writes. A transaction is staged, then committed or rolled back."""

    def __init__(
        self, connection: sqlite3.Connection, lock: DirectoryLock, mark: RevisionMark
    ) -> None:
        self._connection = connection
        self._lock = lock
        self._mark = mark
        self._staged = 0  # the revision that the staged transaction reaches

    def stage(self, puts: Iterable[Row], removed: Iterable[tuple[int]], revision: int) -> None:
        """Begin a transaction that stores `puts`, removes rows, and notes the revision reached.

        Raises: sqlite3.Error, Removed.
        """
        self._mark.check_there()  # not in the thread that commits: each call there costs a turn
        if self._connection.in_transaction:  # the disk refused even the last rollback
            self._connection.rollback()
        execute = self._connection.execute
        execute("BEGIN IMMEDIATE")
        self._connection.executemany(
            "INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?, ?, ?)", map(_to_columns, puts)
        )
        self._connection.executemany("DELETE FROM objects WHERE created = ?", removed)
        execute(NOTE_REVISION, to_meta(FORMAT, revision))
        self._staged = revision

    def commit(self) -> None:
        """Return when the staged transaction is on disk. May be called from another thread."""
        self._connection.commit()
        self._mark.note(self._staged)

    def rollback(self) -> None:
        self._connection.rollback()
        # What the failed commit left in the log must not look like later commits (see wal.py).
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        try:
            self._connection.close()
            self._mark.remove()  # all data is in one file now, which cannot lose a part
        finally:
            self._mark.close()
            self._lock.release()


def open_database(path: Path) -> tuple[Database, Contents]:
    """Take the directory for this process, check and read what is there, or begin empty.

    Raises: UsageError when it cannot be used; Damaged when it cannot be trusted, and then nothing
    of it has been changed.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.access(path.parent, os.W_OK):  # the log is a new file at every start
            raise PermissionError(EACCES, os.strerror(EACCES))
        lock = DirectoryLock.take(path.with_name(path.name + ".lock"))
    except OSError as error:
        raise _unusable(path, error) from error
    try:
        if not path.exists():
            _create(path)
        with path.open("r+b"):  # refuses more clearly than SQLite does
            pass
        contents = read_contents(path)
        _check_mark(path, contents.revision)
        connection = _connect(path)
        return Database(connection, lock, RevisionMark.open(mark_of(path))), contents
    except OSError as error:
        lock.release()
        raise _unusable(path, error) from error
    except BaseException:
        lock.release()
        raise


def _create(path: Path) -> None:
    """Make an empty database under another name first: a crash midway leaves none."""
    log = log_of(path)
    if log.exists() and log.stat().st_size:
        raise _damaged(path, f"{path.name} is missing, but its log {log.name} is there")
    unfinished = path.with_name(path.name + ".new")
    for suffix in ("", "-journal", "-wal", "-shm"):
        unfinished.with_name(unfinished.name + suffix).unlink(missing_ok=True)
    os.close(os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    connection = sqlite3.connect(unfinished, isolation_level=None)
    try:
        for statement in _SCHEMA:
            connection.execute(statement)
        connection.execute(NOTE_REVISION, to_meta(FORMAT, FIRST_REVISION))
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise UsageError(f"{path.parent} cannot be written: {error}; free some space") from error
    finally:
        connection.close()
    unfinished.rename(path)
    directory = os.open(path.parent, os.O_RDONLY)
    os.fsync(directory)
    os.close(directory)


def read_contents(path: Path) -> Contents:
    """All of it, checked. Nobody else writes to it meanwhile. Raises: Damaged, UsageError."""
    return _read(path, _to_contents)


def read_summary(path: Path) -> Summary:
    """All of it is read and checked likewise, and only names are kept. Raises: as above."""
    return _read(path, _to_summary)


def _read(path: Path, take: Callable[[Path, _Rows, int], R]) -> R:
    log = log_of(path)
    if loses_commits(log):
        raise _damaged(path, f"its log {log.name} has a hole")
    had_log = log.exists()
    # No locks (the directory is ours) and no shared memory file: reading leaves no trace.
    uri = f"{path.absolute().as_uri()}?mode=ro&vfs=unix-none"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA cell_size_check = ON")
        (finding,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if finding != "ok":
            raise _damaged(path, " ".join(finding.split()))
        meta = connection.execute("SELECT format, revision, checksum FROM meta").fetchone()
        if meta is None or meta != to_meta(*meta[:2]):
            raise _damaged(path, "its revision is not what was written")
        form, revision, _ = meta
        if form != FORMAT:
            raise UsageError(f"{path} has format {form}, not {FORMAT}; use the mooring it is of")
        rows = connection.execute(
            "SELECT tbl, name, value, revision, created, checksum FROM objects"
        )
        return take(path, rows, revision)
    except (sqlite3.Error, TypeError, ValueError) as error:
        # Rot may also turn up as a value of another type, or as a text that is not UTF-8.
        raise _damaged(path, str(error)) from error
    finally:
        connection.close()
        if not had_log:  # SQLite makes an empty one even for reading
            log.unlink(missing_ok=True)


def _check_mark(path: Path, revision: int) -> None:
    mark = mark_of(path)
    noted = find_mark(mark)
    if noted > revision:
        raise Damaged(
            f"{path} has lost writes: it ends at revision {revision}, but {noted} was reached. "
            f"Its log {log_of(path).name} was removed or replaced, or an older copy of it was put "
            f"back. Nothing was changed. Put the file back, restore {path.parent} from a backup, "
            f"or remove {mark.name} to go on without those writes"
        )


def _to_contents(path: Path, rows: _Rows, revision: int) -> Contents:
    tables: dict[str, dict[str, Entry]] = {}
    for table, name, value, written, created, checksum in rows:
        if checksum != _checksum(table, name, written, value):
            raise _damaged(path, f"the value of {table} {name} is not what was written")
        entries = tables.setdefault(table, {})
        if name in entries or written > revision:
            raise _damaged(path, f"{table} {name} contradicts other rows")
        entries[name] = Row(sys.intern(table), name, value, written, None, created)
    return Contents(tables, revision)


def _to_summary(path: Path, rows: _Rows, revision: int) -> Summary:
    names: defaultdict[str, set[str]] = defaultdict(set)
    count = 0
    for table, name, value, written, _, checksum in rows:
        count += 1
        if checksum != _checksum(table, name, written, value):
            raise _damaged(path, f"the value of {table} {name} is not what was written")
        if written > revision:
            raise _damaged(path, f"{table} {name} contradicts other rows")
        names[table].add(name)
    if sum(map(len, names.values())) != count:
        raise _damaged(path, "some of its rows contradict others")
    return Summary(dict(names), revision)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        for setting in _SETTINGS:
            connection.execute(setting)
        connection.execute("BEGIN IMMEDIATE")  # takes the file's lock, for as long as we run
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        connection.close()
        raise UsageError(
            f"{path} cannot be opened for writing: {error}; end the program that has it open"
        ) from error
    return connection


def _to_columns(row: Row) -> tuple[int, str, str, int, int, bytes]:
    checksum = _checksum(row.table, row.name, row.revision, row.value)
    return row.created, row.table, row.name, row.revision, checksum, row.value


def to_meta(form: int, revision: int) -> tuple[int, int, int]:
    return form, revision, _checksum("meta", "", revision, b"%d" % form)


def _checksum(table: str, name: str, revision: int, value: bytes) -> int:
    """Of all that a row says, so that a value in the wrong row is found too."""
    return zlib.crc32(value, zlib.crc32(f"{table} {name} {revision}".encode()))


def log_of(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def mark_of(path: Path) -> Path:
    return path.with_name(path.name + "-revision")


def _unusable(path: Path, error: OSError) -> UsageError:
    return UsageError(
        f"{path.parent} cannot be used: {error.strerror or error}; choose another --data-dir"
    )


def _damaged(path: Path, finding: str) -> Damaged:
    return Damaged(
        f"{path} is damaged: {finding}. Nothing was changed. Restore {path.parent} from a backup,"
        " or move it away to begin empty"
    )
