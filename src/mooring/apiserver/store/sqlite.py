"""The durable engine: SQLite, with all writes that arrive during one commit sharing the next.

A write is decided at once, on top of writes that are still on their way to the disk, and appended
to the open batch. One batch at a time is committed; when the disk has it, its changes enter the
timeline, in order, and its writers return. So no client sees a change that a crash could undo.

A disk that refuses a commit (no room, say) fails only those writes. It is tried again every few
seconds, so that readiness recovers without a client's write.
"""

import asyncio
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol, Self, cast

from mooring.apiserver.store.committer import Committer
from mooring.apiserver.store.contract import Decide, Entry, Event, Put, Remove
from mooring.apiserver.store.database import Contents, Row, open_database
from mooring.apiserver.store.history import DEFAULT_LIMITS, Limits
from mooring.apiserver.store.timeline import Timeline
from mooring.clock import Clock
from mooring.errors import DiskFull, StoreError
from mooring.log import get

log = get("mooring.store")

# A batch must not delay the writes behind it for long.
_MOST_WRITES = 1024
_MOST_BYTES = 2 << 20

# Writes that came during a commit wait a moment for company, until there are as many as were
# under way: measured 10% more writes in all.
_ENOUGH = 48
_GATHER = 0.002  # seconds

_ASK_AGAIN = 5.0  # seconds after a commit failed

_Key = tuple[str, str]


class Transactions(Protocol):
    """What the engine needs of the disk: `database.Database`, or one that fails on demand."""

    def stage(self, puts: Iterable[Row], removed: Iterable[tuple[int]], revision: int) -> None: ...

    def commit(self) -> None: ...

    def rollback(self) -> None: ...

    def close(self) -> None: ...


class _Write:
    """A change on its way to the disk, and the future of its writer."""

    __slots__ = ("_waiting", "event", "key", "row")

    def __init__(self, key: _Key, previous: Row | None, row: Row, *, deleted: bool) -> None:
        self.key = key
        self.row = row
        self.event = Event(row.revision, row, previous, deleted)
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def newest(self) -> Row | None:
        """What the next write of this key is decided on."""
        return None if self.event.deleted else self.row

    def settled(self) -> "asyncio.Future[None]":
        """Done when the change is durable and readable; StoreError when it is lost."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        return future

    async def is_kept(self) -> bool:
        try:
            await self.settled()
        except StoreError:
            return False
        return True

    def settle(self, failure: Exception | None = None) -> None:
        for future in self._waiting:
            if future.done():  # its task was cancelled
                continue
            if failure is not None:
                future.set_exception(_refusal(failure))
            else:
                future.set_result(None)


class SqliteStore(Timeline):
    def __init__(
        self,
        database: Transactions,
        contents: Contents,
        clock: Clock,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        super().__init__(clock, limits)
        self.load(contents.tables, contents.revision)
        self._database = database
        self._committer = Committer()
        self._taken = contents.revision  # the newest revision that a write was given
        self._newest: dict[_Key, _Write] = {}  # of each key, while it is not durable
        self._gathering: list[_Write] = []
        self._company: asyncio.TimerHandle | None = None  # until when writes wait for others
        self._expected = 0  # writes, for which nobody waits longer
        self._committing: list[_Write] = []
        self._failure: str | None = None  # of the last commit
        self._asking: asyncio.TimerHandle | None = None  # whether that is over
        self._idle = asyncio.Event()
        self._idle.set()

    @classmethod
    def open(cls, path: Path, clock: Clock) -> Self:
        """Open or create the database file `path`; its directory belongs to this process then.

        Raises: UsageError, Damaged.
        """
        database, contents = open_database(path)
        log.info("database opened", path=path, revision=contents.revision)
        return cls(database, contents, clock)

    @property
    def trouble(self) -> str | None:
        return super().trouble or self._failure

    async def write(self, table: str, name: str, decide: Decide) -> Entry | None:
        key = (table, name)
        while True:
            self.check_open()
            pending = self._newest.get(key)
            current = self._row(key) if pending is None else pending.newest
            try:
                change = decide(current)
            except Exception:
                # The conflict may be with a version that is not committed yet, and may never be.
                if pending is None or await pending.is_kept():
                    raise
                continue
            if change is None or (current is None and isinstance(change, Remove)):
                if pending is None or await pending.is_kept():
                    return current
                continue
            write = self._begin(key, current, change)
            await write.settled()
            return write.row

    async def close(self) -> None:
        if not self._open:
            return
        self._open = False
        if self._asking is not None:
            self._asking.cancel()
        await self._idle.wait()
        await super().close()
        closed: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()
        self._committer.start(self._database.close, closed.set_result)
        if failure := await closed:
            log.warning("database not closed in order", because=failure)
        self._committer.stop()

    def _row(self, key: _Key) -> Row | None:
        return cast("Row | None", self.get(*key))

    def _begin(self, key: _Key, current: Row | None, change: Put | Remove) -> _Write:
        """Give the change its revision and its place in the next batch."""
        self._taken = revision = self._taken + 1
        put = change if isinstance(change, Put) else change.last
        created = revision if current is None else current.created
        row = Row(*key, put.stamp(revision), revision, None, created)
        write = _Write(key, current, row, deleted=put is not change)
        self._newest[key] = write
        self._gathering.append(write)
        if self._idle.is_set():
            self._idle.clear()
            asyncio.get_running_loop().call_soon(self._flush)
        elif self._company is not None and len(self._gathering) >= self._expected:
            self._company.cancel()
            self._company = None
            asyncio.get_running_loop().call_soon(self._flush)
        return write

    def _ask_again(self) -> None:
        """Commit nothing, to see whether the disk takes it."""
        self._asking = None
        if self._failure is not None and self._idle.is_set():
            self._idle.clear()
            self._flush()

    def _flush(self) -> None:
        """Hand what was gathered to the disk."""
        self._company = None
        batch = self._committing = self._take_batch()
        # Of several writes to one row only the last matters.
        rows = {write.row.created: write for write in batch}
        try:
            self._database.stage(
                [write.row for write in rows.values() if not write.event.deleted],
                [(created,) for created, write in rows.items() if write.event.deleted],
                batch[-1].row.revision if batch else self.revision,
            )
        except Exception as error:  # noqa: BLE001 - unanswered, the writers would wait for ever
            asyncio.get_running_loop().call_soon(self._finish, error)
        else:
            self._committer.start(self._database.commit, self._finish)

    def _take_batch(self) -> list[_Write]:
        size = 0
        for count, write in enumerate(self._gathering, 1):
            size += len(write.row.value)
            if count == _MOST_WRITES or size >= _MOST_BYTES:
                batch, self._gathering = self._gathering[:count], self._gathering[count:]
                return batch
        batch, self._gathering = self._gathering, []
        return batch

    def _finish(self, failure: Exception | None) -> None:
        batch, self._committing = self._committing, []
        was, self._failure = self._failure, None if failure is None else str(failure)
        if failure is None:
            self._forget_pending(batch)
            if batch:
                self.apply([write.event for write in batch])
            for write in batch:
                write.settle()
            if was is not None:
                log.info("commits come through again")
        else:
            self._abandon(batch, failure)
            if self._asking is None and self._open:
                loop = asyncio.get_running_loop()
                self._asking = loop.call_later(_ASK_AGAIN, self._ask_again)
        if len(self._gathering) >= _ENOUGH:
            self._flush()
        elif self._gathering:
            # Whoever was just answered may come again; nobody else is known.
            self._expected = len(self._gathering) + len(batch)
            self._company = asyncio.get_running_loop().call_later(_GATHER, self._flush)
        else:
            self._idle.set()

    def _abandon(self, batch: list[_Write], failure: Exception) -> None:
        """Fail the batch, and every later write that was decided on top of it."""
        log.warning("commit failed", writes=len(batch), because=failure)
        try:
            self._database.rollback()
        except sqlite3.Error as error:  # staging tries again
            log.warning("rollback failed", because=error)
        lost = {write.key for write in batch}
        batch = batch + [write for write in self._gathering if write.key in lost]
        self._gathering = [write for write in self._gathering if write.key not in lost]
        self._forget_pending(batch)
        for write in batch:
            write.settle(failure)

    def _forget_pending(self, batch: list[_Write]) -> None:
        for write in batch:
            if self._newest.get(write.key) is write:
                del self._newest[write.key]


def _refusal(failure: Exception) -> StoreError:
    """In words that name a remedy, where there is one."""
    if isinstance(failure, StoreError):
        return failure
    if getattr(failure, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
        return DiskFull()
    return StoreError(f"the database could not be written: {failure}")
