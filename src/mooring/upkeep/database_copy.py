"""The contents of a database, read from a copy of it, also while a server writes to it."""

import sqlite3
import tempfile
from pathlib import Path

from mooring.apiserver.store.copying import copy_database
from mooring.apiserver.store.database import Contents, read_contents
from mooring.errors import Damaged, StoreError, UsageError
from mooring.upkeep.scratch import scratch_directory

PREFIX = "mooring-check-"
COPY = "copy.db"
_SCRATCH = frozenset((COPY, f"{COPY}-wal", f"{COPY}-shm"))


class CannotCopy(UsageError):
    """There is no room for a copy, or the files may not be read."""


def read_copy(database: Path, *, is_written: bool) -> Contents:
    """Checked, as a start would. `is_written`: another process may be writing to it just now.

    Raises: Damaged, StoreError, UsageError, CannotCopy.
    """
    try:
        with scratch_directory(Path(tempfile.gettempdir()), PREFIX, _SCRATCH) as directory:
            copy = directory / COPY
            try:
                return copy_database(database, copy, read_contents, is_written=is_written)
            except (StoreError, UsageError) as error:
                told = str(error).replace(str(copy), str(database))
                raise (Damaged if isinstance(error, Damaged) else UsageError)(told) from error
    except (OSError, sqlite3.Error) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise CannotCopy(f"cannot copy {database} to look at it: {why}") from error
