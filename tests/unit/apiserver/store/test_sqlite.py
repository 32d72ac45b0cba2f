"""What is special to the durable engine: batches, waiting for the disk, and a disk that refuses."""

import asyncio
import resource
import sqlite3
import threading
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mooring.apiserver.store import sqlite
from mooring.apiserver.store.contract import Change, Entry
from mooring.apiserver.store.database import Contents, Row
from mooring.apiserver.store.sqlite import SqliteStore
from mooring.errors import Compacted, DiskFull, StoreError
from tests.fakes.clock import VirtualClock, settle
from tests.fakes.waiting import until
from tests.unit.apiserver.store.engines import (
    CLAIMS,
    VOLUMES,
    Refusal,
    a_put,
    create,
    keep,
    put,
    remove,
    stored,
)

FULL = sqlite3.OperationalError("database or disk is full")


class Disk:
    """Transactions that are committed when the test says so, or refused."""

    def __init__(self) -> None:
        self.rows: dict[int, Row] = {}
        self.commits: list[int] = []  # how many rows each one touched
        self.revision = 1
        self.refuse_staging = self.refuse_rollback = False
        self.refuse_commit = 0  # so many times
        self.closed = False
        self._staged: tuple[list[Row], list[tuple[int]], int] | None = None
        self._open = threading.Event()
        self._open.set()
        self._reached = threading.Semaphore(0)

    def stage(self, puts: Iterable[Row], removed: Iterable[tuple[int]], revision: int) -> None:
        if self.refuse_staging:
            raise FULL
        self._staged = (list(puts), list(removed), revision)

    def commit(self) -> None:
        self._reached.release()
        assert self._open.wait(10)
        if self.refuse_commit:
            self.refuse_commit -= 1
            raise FULL
        assert self._staged is not None
        puts, removed, self.revision = self._staged
        self.commits.append(len(puts) + len(removed))
        for row in puts:
            self.rows[row.created] = row
        for (created,) in removed:
            self.rows.pop(created, None)

    def rollback(self) -> None:
        self._staged = None
        if self.refuse_rollback:
            raise FULL

    def close(self) -> None:
        self.closed = True

    def hold(self) -> None:
        """Let no commit end."""
        self._open.clear()

    def let_go(self) -> None:
        self._open.set()

    async def reached(self) -> None:
        """Return when a commit is under way."""
        assert await asyncio.to_thread(self._reached.acquire, timeout=10)


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
async def store(disk: Disk) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore(disk, Contents({}, 1), VirtualClock())
    yield opened
    disk.let_go()
    await opened.close()
    assert disk.closed


async def pending(store: SqliteStore, disk: Disk, name: str, text: str) -> asyncio.Task[Entry]:
    """A write that has reached the disk, which does not answer."""
    disk.hold()
    task = asyncio.ensure_future(stored(store, CLAIMS, name, text))
    await disk.reached()
    return task


class TestBatches:
    async def test_nothing_is_shown_before_the_disk_has_it(
        self, store: SqliteStore, disk: Disk
    ) -> None:
        calls: list[int] = []
        watch = store.watch(CLAIMS, store.revision, lambda: calls.append(store.revision))
        before = store.revision
        write = await pending(store, disk, "a/x", "v")
        waiter = asyncio.ensure_future(store.wait_for(before + 1))
        await settle()
        assert store.get(CLAIMS, "a/x") is None
        assert store.range(CLAIMS).entries == []
        assert (store.revision, watch.revision) == (before, before)
        assert not any((watch.poll(), calls, write.done(), waiter.done()))
        disk.let_go()
        entry = await write
        await waiter
        assert store.get(CLAIMS, "a/x") is entry
        assert calls == [entry.revision]

    async def test_writes_that_come_during_a_commit_share_the_next(
        self, store: SqliteStore, disk: Disk
    ) -> None:
        first = await pending(store, disk, "a/0", "v")
        others = [asyncio.ensure_future(stored(store, CLAIMS, f"a/{i}", "v")) for i in range(1, 9)]
        await settle()
        disk.let_go()
        await asyncio.gather(first, *others)
        assert disk.commits == [1, 8]

    async def test_writes_of_one_loop_turn_share_a_commit(
        self, store: SqliteStore, disk: Disk
    ) -> None:
        calls: list[int] = []
        store.watch(CLAIMS, store.revision, lambda: calls.append(store.revision))
        await asyncio.gather(*(stored(store, CLAIMS, str(i), "v") for i in range(100)))
        assert disk.commits == [100]
        assert calls == [101]

    async def test_of_several_writes_to_one_object_the_disk_gets_the_last(
        self, store: SqliteStore, disk: Disk
    ) -> None:
        watch = store.watch(CLAIMS, store.revision, lambda: None)
        await asyncio.gather(*(stored(store, CLAIMS, "a/x", str(i)) for i in range(10)))
        assert disk.commits == [1]
        assert [row.value for row in disk.rows.values()] == [b"9 at 11"]
        assert len(watch.poll()) == 10

    async def test_created_and_removed_in_one_batch_leaves_no_row_but_its_events(
        self, store: SqliteStore, disk: Disk
    ) -> None:
        watch = store.watch(CLAIMS, store.revision, lambda: None)
        steps = (put("one"), remove("last"), create("two"), remove("last"), create("three"))
        await asyncio.gather(*(store.write(CLAIMS, "a/x", step) for step in steps))
        assert [row.value for row in disk.rows.values()] == [b"three at 6"]
        assert [event.deleted for event in watch.poll()] == [False, True, False, True, False]
        assert disk.revision == 6

    async def test_a_batch_is_bounded_in_writes_and_bytes(
        self, store: SqliteStore, disk: Disk
    ) -> None:
        await asyncio.gather(*(stored(store, CLAIMS, str(i), "v") for i in range(2500)))
        assert disk.commits == [1024, 1024, 452]
        disk.commits.clear()
        await asyncio.gather(*(stored(store, CLAIMS, str(i), "v" * 999_990) for i in range(5)))
        assert disk.commits == [3, 2]
        assert store.count(CLAIMS) == 2500

    async def test_nobody_waits_for_company_that_cannot_come(
        self, store: SqliteStore, disk: Disk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sqlite, "_GATHER", 3600.0)
        first = await pending(store, disk, "0", "v")
        others = [asyncio.ensure_future(stored(store, CLAIMS, str(n), "v")) for n in (1, 2)]
        await settle()
        disk.let_go()
        await first
        await settle()
        assert disk.commits == [1], "the one who was answered may come again"
        await asyncio.gather(stored(store, CLAIMS, "0", "again"), *others)
        assert disk.commits == [1, 3]

    async def test_who_writes_alone_waits_for_nobody(
        self, store: SqliteStore, disk: Disk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sqlite, "_GATHER", 3600.0)
        for number in range(20):
            await stored(store, CLAIMS, str(number), "v")
        assert disk.commits == [1] * 20

    async def test_a_cancelled_writer_does_not_take_its_write_back(
        self, store: SqliteStore, disk: Disk
    ) -> None:
        write = await pending(store, disk, "a/x", "v")
        write.cancel()
        await settle()
        disk.let_go()
        await stored(store, CLAIMS, "a/y", "v")
        assert [entry.name for entry in store.range(CLAIMS).entries] == ["a/x", "a/y"]

    async def test_closing_waits_for_the_disk(self, disk: Disk) -> None:
        store = SqliteStore(disk, Contents({}, 1), VirtualClock())
        first = await pending(store, disk, "a/x", "v")
        second = asyncio.ensure_future(stored(store, CLAIMS, "a/y", "v"))
        await settle()
        closing = asyncio.ensure_future(store.close())
        await settle()
        assert not closing.done()
        with pytest.raises(StoreError, match="closed"):
            await stored(store, CLAIMS, "a/z", "v")
        disk.let_go()
        await asyncio.gather(first, second, closing)
        assert disk.closed
        assert {row.name for row in disk.rows.values()} == {"a/x", "a/y"}


class TestDecidingOnWhatIsPending:
    async def test_a_write_is_decided_on_the_pending_version(
        self, store: SqliteStore, disk: Disk
    ) -> None:
        first = await pending(store, disk, "a/x", "one")
        seen: list[bytes] = []

        def decide(current: Entry | None) -> Change:
            assert current is not None
            seen.append(current.value)
            return a_put("two")

        second = asyncio.ensure_future(store.write(CLAIMS, "a/x", decide))
        await settle()
        disk.let_go()
        assert seen == [(await first).value]
        entry = await second
        assert entry is not None
        assert entry.value == b"two at 3"

    async def test_a_pending_removal_is_decided_on_as_nothing(
        self, store: SqliteStore, disk: Disk
    ) -> None:
        await stored(store, CLAIMS, "a/x", "one")
        disk.hold()
        removing = asyncio.ensure_future(store.write(CLAIMS, "a/x", remove()))
        creating = asyncio.ensure_future(store.write(CLAIMS, "a/x", create("two")))
        await settle()
        assert store.get(CLAIMS, "a/x") is not None
        disk.let_go()
        await asyncio.gather(removing, creating)
        assert [row.value for row in disk.rows.values()] == [b"two at 4"]

    @pytest.mark.parametrize("refuses", [False, True], ids=["keeping", "refusing"])
    async def test_an_answer_about_a_pending_version_waits_until_it_is_durable(
        self, store: SqliteStore, disk: Disk, *, refuses: bool
    ) -> None:
        first = await pending(store, disk, "a/x", "one")
        decide = create("two") if refuses else keep
        answer = asyncio.ensure_future(store.write(CLAIMS, "a/x", decide))
        await settle()
        assert not answer.done()
        disk.let_go()
        if refuses:
            with pytest.raises(Refusal):
                await answer
            assert store.get(CLAIMS, "a/x") is await first
        else:
            assert await answer is await first

    async def test_an_answer_about_a_version_that_was_lost_is_asked_for_again(
        self, store: SqliteStore, disk: Disk
    ) -> None:
        first = await pending(store, disk, "a/x", "one")
        kept = asyncio.ensure_future(store.write(CLAIMS, "a/x", keep))
        created = asyncio.ensure_future(store.write(CLAIMS, "a/x", create("two")))
        await settle()
        disk.refuse_commit = 1
        disk.let_go()
        with pytest.raises(StoreError):
            await first
        assert await kept is None
        entry = await created
        assert entry is not None
        assert entry.value.startswith(b"two")


REFUSALS = ("refuse_staging", "refuse_commit")


class TestARefusingDisk:
    @pytest.mark.parametrize("refusal", REFUSALS)
    async def test_a_failed_batch_fails_all_its_writers_and_shows_nothing(
        self, store: SqliteStore, disk: Disk, refusal: str
    ) -> None:
        before = await stored(store, CLAIMS, "a/0", "old")
        watch = store.watch(CLAIMS, store.revision, lambda: None)
        setattr(disk, refusal, 1)
        outcomes = await asyncio.gather(
            *(stored(store, CLAIMS, f"a/{i}", "new") for i in range(5)), return_exceptions=True
        )
        assert [type(outcome) for outcome in outcomes] == [StoreError] * 5
        text = "the database could not be written: database or disk is full"
        assert {str(outcome) for outcome in outcomes} == {text}
        assert store.range(CLAIMS).entries == [before]
        assert store.revision == before.revision
        assert not watch.poll()

    async def test_trouble_is_told_until_a_write_succeeds(
        self, store: SqliteStore, disk: Disk
    ) -> None:
        assert store.trouble is None
        disk.refuse_commit = 1
        with pytest.raises(StoreError):
            await stored(store, CLAIMS, "a/x", "lost")
        assert store.trouble == "database or disk is full"
        await stored(store, CLAIMS, "a/x", "kept")
        assert store.trouble is None

    async def test_a_full_disk_is_told_with_its_remedy(
        self, store: SqliteStore, disk: Disk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(FULL, "sqlite_errorcode", sqlite3.SQLITE_FULL, raising=False)
        disk.refuse_commit = 1
        with pytest.raises(DiskFull, match="free some there"):
            await stored(store, CLAIMS, "a/x", "lost")

    async def test_the_disk_is_asked_whether_the_trouble_is_over(
        self, store: SqliteStore, disk: Disk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sqlite, "_ASK_AGAIN", 0.01)
        before = await stored(store, CLAIMS, "a/x", "kept")
        disk.refuse_commit = 3
        with pytest.raises(StoreError):
            await stored(store, CLAIMS, "a/x", "lost")
        await until(lambda: store.trouble is None)
        assert (store.revision, disk.revision) == (before.revision, before.revision)
        assert disk.commits == [1, 0]
        assert store.get(CLAIMS, "a/x") is before

    async def test_a_closed_store_says_so(self, store: SqliteStore) -> None:
        await store.close()
        assert store.trouble == "the store is closed"

    @pytest.mark.parametrize("refusal", REFUSALS)
    @pytest.mark.parametrize("refuse_rollback", [False, True])
    async def test_when_the_disk_recovers_writes_go_on_with_higher_revisions(
        self, store: SqliteStore, disk: Disk, refusal: str, *, refuse_rollback: bool
    ) -> None:
        first = await stored(store, CLAIMS, "a/x", "one")
        setattr(disk, refusal, 1)
        disk.refuse_rollback = refuse_rollback
        with pytest.raises(StoreError):
            await stored(store, CLAIMS, "a/x", "lost")
        setattr(disk, refusal, 0)
        second = await stored(store, CLAIMS, "a/x", "two")
        assert second.revision > first.revision + 1
        found = store.get(CLAIMS, "a/x")
        assert found is second
        assert [row.value for row in disk.rows.values()] == [second.value]

    async def test_what_was_decided_on_a_lost_write_is_lost_and_nothing_else(
        self, store: SqliteStore, disk: Disk
    ) -> None:
        doomed = await pending(store, disk, "a/x", "one")
        on_top = [asyncio.ensure_future(stored(store, CLAIMS, "a/x", str(i))) for i in range(3)]
        beside = [
            asyncio.ensure_future(stored(store, CLAIMS, "a/y", "v")),
            asyncio.ensure_future(stored(store, VOLUMES, "a/x", "v")),
        ]
        await settle()
        disk.refuse_commit = 1
        disk.let_go()
        for write in (doomed, *on_top):
            with pytest.raises(StoreError, match="disk is full"):
                await write
        await asyncio.gather(*beside)
        assert store.get(CLAIMS, "a/x") is None
        assert disk.commits == [2]

    async def test_a_dead_disk_answers_every_writer(self, store: SqliteStore, disk: Disk) -> None:
        disk.refuse_staging = disk.refuse_rollback = True
        outcomes = await asyncio.gather(
            *(stored(store, CLAIMS, str(i), "v") for i in range(3000)), return_exceptions=True
        )
        assert {type(outcome) for outcome in outcomes} == {StoreError}

    async def test_closing_over_a_failing_commit_ends(self, disk: Disk) -> None:
        store = SqliteStore(disk, Contents({}, 1), VirtualClock())
        write = await pending(store, disk, "a/x", "v")
        disk.refuse_commit = 1
        closing = asyncio.ensure_future(store.close())
        await settle()
        disk.let_go()
        await closing
        with pytest.raises(StoreError):
            await write


@contextmanager
def files_no_larger_than(size: int) -> Iterator[None]:
    """The kernel refuses to write beyond `size`, in any file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def reopened(store: SqliteStore, path: Path) -> SqliteStore:
    await store.close()
    return SqliteStore.open(path, VirtualClock())


class TestOnARealDisk:
    async def test_a_restart_finds_everything_and_starts_a_new_history(
        self, tmp_path: Path
    ) -> None:
        path = tmp_path / "mooring.db"
        store = SqliteStore.open(path, VirtualClock())
        for i in range(20):
            await stored(store, CLAIMS, f"a/{i}", str(i))
            await stored(store, VOLUMES, f"v{i}", str(i))
        await store.write(CLAIMS, "a/3", remove())
        await stored(store, CLAIMS, "a/4", "changed")
        before = {
            table: [(e.name, e.value, e.revision) for e in store.range(table).entries]
            for table in store.tables()
        }
        revision = store.revision
        store = await reopened(store, path)
        assert before == {
            table: [(e.name, e.value, e.revision) for e in store.range(table).entries]
            for table in store.tables()
        }
        assert store.revision == store.oldest == revision
        with pytest.raises(Compacted):
            store.watch(CLAIMS, revision - 1, lambda: None)
        store.watch(CLAIMS, revision, lambda: None)
        await store.close()

    async def test_revisions_go_on_even_when_all_was_removed(self, tmp_path: Path) -> None:
        path = tmp_path / "mooring.db"
        store = SqliteStore.open(path, VirtualClock())
        for i in range(5):
            await stored(store, CLAIMS, str(i), "v")
        for i in range(5):
            await store.write(CLAIMS, str(i), remove())
        last = store.revision
        store = await reopened(store, path)
        assert store.revision == last
        assert (await stored(store, CLAIMS, "0", "again")).revision > last
        await store.close()

    async def test_objects_can_be_changed_after_a_restart(self, tmp_path: Path) -> None:
        path = tmp_path / "mooring.db"
        store = SqliteStore.open(path, VirtualClock())
        await stored(store, CLAIMS, "a/x", "one")
        await stored(store, CLAIMS, "a/y", "one")
        store = await reopened(store, path)
        await stored(store, CLAIMS, "a/x", "two")
        await store.write(CLAIMS, "a/y", remove())
        await stored(store, CLAIMS, "a/y", "again")
        store = await reopened(store, path)
        texts = [entry.value.split()[0] for entry in store.range(CLAIMS).entries]
        assert texts == [b"two", b"again"]
        await store.close()

    async def test_a_full_disk_fails_writes_until_there_is_room_again(self, tmp_path: Path) -> None:
        path = tmp_path / "mooring.db"
        store = SqliteStore.open(path, VirtualClock())
        kept = await stored(store, CLAIMS, "a/0", "kept" * 1000)
        failed = 0
        with files_no_larger_than(100_000):
            for i in range(1, 50):
                try:
                    kept = await stored(store, CLAIMS, f"a/{i}", "v" * 20_000)
                except StoreError as error:
                    assert "the database could not be written: disk I/O error" in str(error)  # noqa: PT017 - it may work some times
                    failed += 1
        assert failed > 10
        assert store.revision == kept.revision
        shown = [(entry.name, entry.value) for entry in store.range(CLAIMS).entries]
        assert len(shown) == 50 - failed
        after = await stored(store, CLAIMS, "b/0", "there is room")
        store = await reopened(store, path)
        assert store.revision == after.revision
        assert [(e.name, e.value) for e in store.range(CLAIMS, "a/").entries] == shown
        await store.close()

    async def test_revisions_are_taken_in_the_order_of_the_calls(self, tmp_path: Path) -> None:
        store = SqliteStore.open(tmp_path / "mooring.db", VirtualClock())
        entries = await asyncio.gather(*(stored(store, CLAIMS, str(i), "v") for i in range(100)))
        revisions = [entry.revision for entry in entries]
        assert revisions == sorted(set(revisions))
        assert store.revision == revisions[-1]
        await store.close()
