"""A copy of the database, also while another process writes to it.

The process that has the database holds it exclusively, so no second connection can read it. Its
files can: SQLite writes to the database file only when it copies pages out of the log, and the log
is written from its beginning again only when all of it was copied. So the database file, copied
first, and the log, copied after it, together are what a crash in that moment would have left,
provided that the log was not begun anew in between: its header tells, and then both are copied
again. What a commit acknowledged before the copy began is in it; the writer notices nothing.

Only from another process than the writer's: closing a file lets go of all locks that a process has
on it.
"""

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from mooring.apiserver.store.database import (
    FORMAT,
    NOTE_REVISION,
    Contents,
    Summary,
    log_of,
    mark_of,
    to_meta,
)
from mooring.apiserver.store.revision_mark import find_mark
from mooring.apiserver.store.wal import loses_commits
from mooring.errors import Damaged, StoreError

R = TypeVar("R", Contents, Summary)

ATTEMPTS = 50
_LOG_HEADER = 32  # bytes: two salts among them, which are others each time the log begins anew
_PIECE = 1 << 26


def copy_database(path: Path, target: Path, read: Callable[[Path], R], *, is_written: bool) -> R:
    """Make `target`, a new file, a copy of the database `path`; what `read` finds in it, checked.

    `is_written`: another process may be writing to it just now.
    Raises: Damaged, UsageError; StoreError when it is written to faster than it can be copied;
    OSError, sqlite3.Error when there is no room.
    """
    noted = find_mark(mark_of(path))
    _copy_files(path, target)
    if not is_written and loses_commits(log_of(target)):
        raise Damaged(f"{path} is damaged: its log {log_of(path).name} has a hole")
    _join_log(target)
    contents = read(target)
    if contents.revision < noted:
        raise Damaged(
            f"{path} has lost writes: it ends at revision {contents.revision}, but {noted} was "
            "reached"
        )
    return contents


def raise_revision(path: Path, revision: int) -> None:
    """Let a database that nobody has open go on from `revision`, which it has not reached.

    So that no version is given twice: clients may know later ones than a backup does.
    Raises: sqlite3.Error.
    """
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute(NOTE_REVISION, to_meta(FORMAT, revision))
    finally:
        connection.close()


def _copy_files(path: Path, target: Path) -> None:
    log = log_of(path)
    for _ in range(ATTEMPTS):
        before = _log_header(log)
        log_of(target).unlink(missing_ok=True)  # of an earlier attempt
        _copy(path, target)
        if before is not None:
            _copy(log, log_of(target))
        if _log_header(log) == before:
            return
    raise StoreError(
        f"{path} is written to faster than it can be copied: try again when there is less to do, "
        "or stop mooring first"
    )


def _log_header(log: Path) -> bytes | None:
    """None: there is no log."""
    try:
        with log.open("rb") as file:
            return file.read(_LOG_HEADER)
    except FileNotFoundError:
        return None


def _copy(source: Path, target: Path) -> None:
    how = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    try:
        read = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:  # a log that has just gone: its header tells
        return
    try:
        written = os.open(target, how, 0o600)
        try:
            while os.sendfile(written, read, None, _PIECE):
                pass
        finally:
            os.close(written)
    finally:
        os.close(read)


def _join_log(path: Path) -> None:
    """Bring what is in the log into the one file. Raises: Damaged, sqlite3.OperationalError."""
    try:
        connection = sqlite3.connect(path, isolation_level=None)
        try:
            connection.execute("PRAGMA synchronous = OFF")  # whoever keeps the copy flushes it
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        finally:
            connection.close()
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError as error:
        raise Damaged(f"{path} is damaged: {error}") from error
