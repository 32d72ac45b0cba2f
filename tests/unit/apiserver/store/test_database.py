"""Opening: what is refused, in which words, and that a refusal touches nothing."""

import asyncio
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from mooring.apiserver.store.database import Row, open_database
from mooring.apiserver.store.sqlite import SqliteStore
from mooring.errors import Damaged, UsageError
from tests.fakes.clock import VirtualClock
from tests.unit.apiserver.store.engines import CLAIMS, remove, stored

COUNT = 60


async def fill(path: Path) -> None:
    """Sixty claims of a kilobyte, and some removed again."""
    store = SqliteStore.open(path, VirtualClock())
    for i in range(COUNT):
        await stored(store, CLAIMS, f"a/{i}", f"<{i}>" * 300)
    await asyncio.gather(*(store.write(CLAIMS, f"a/{i}", remove()) for i in range(0, COUNT, 7)))
    copy = path.parent / "crashed"
    copy.mkdir()
    for name in (path.name, log_of(path).name):
        shutil.copy(path.parent / name, copy / name)
    await store.close()


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database that was closed in order; in `crashed` beside it, the same with its log."""
    path = tmp_path_factory.mktemp("filled") / "mooring.db"
    asyncio.run(fill(path))
    return path


@pytest.fixture
def closed(filled: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(filled, tmp_path / "mooring.db"))


@pytest.fixture
def crashed(filled: Path, tmp_path: Path) -> Path:
    shutil.copytree(filled.parent / "crashed", tmp_path, dirs_exist_ok=True)
    return tmp_path / "mooring.db"


def log_of(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def on_disk(directory: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in directory.iterdir() if p.suffix != ".lock"}


def contents(path: Path) -> dict[str, tuple[int, bytes]]:
    """What is read; the counter under the name of none."""
    database, found = open_database(path)
    database.close()
    claims = found.tables[CLAIMS].values()
    return {"": (found.revision, b"")} | {c.name: (c.revision, c.value) for c in claims}


def flip(path: Path, position: int, bit: int = 0x10) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= bit
    path.write_bytes(content)


def change_a_value(path: Path) -> None:
    flip(path, path.read_bytes().index(b"<33><33><33>"))


def change_a_revision(path: Path) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("UPDATE objects SET revision = revision - 1 WHERE name = 'a/33'")
    connection.close()


def put_a_value_in_the_wrong_row(path: Path) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(
        "UPDATE objects SET (value, checksum) ="
        " (SELECT value, checksum FROM objects WHERE name = 'a/34') WHERE name = 'a/33'"
    )
    connection.close()


def double_a_row(path: Path) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(
        "INSERT INTO objects SELECT 9999, tbl, name, revision, checksum, value"
        " FROM objects WHERE name = 'a/33'"
    )
    connection.close()


def set_the_revision_back(path: Path) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("UPDATE meta SET revision = revision - 1")
    connection.close()


def fall_behind_the_rows(path: Path) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    checksum = zlib.crc32(b"1", zlib.crc32(b"meta  9"))
    connection.execute("UPDATE meta SET revision = 9, checksum = ?", (checksum,))
    connection.close()


def garble_the_schema(path: Path) -> None:
    flip(path, path.read_bytes().index(b"NULL"), 0x80)


def forget_the_revision(path: Path) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("DELETE FROM meta")
    connection.close()


def make_a_stranger(path: Path) -> None:
    path.unlink()
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("CREATE TABLE recipes(cake)")
    connection.close()


def lose_the_file(path: Path) -> None:
    log_of(path).write_bytes(b"what was written last")
    path.unlink()


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "not a database": (lambda p: p.write_bytes(b"shopping list\n" * 500), "not a database"),
    "empty": (lambda p: p.write_bytes(b""), "no such table"),
    "cut in half": (lambda p: os.truncate(p, p.stat().st_size // 2), ""),
    "the last page gone": (lambda p: os.truncate(p, p.stat().st_size - 4096), ""),
    "a page of zeros": (lambda p: p.write_bytes(p.read_bytes()[:8192] + bytes(4096)), ""),
    "a bit of a value": (change_a_value, "the value of persistentvolumeclaims a/33"),
    "another revision in a row": (change_a_revision, "a/33 is not what was written"),
    "a value in the wrong row": (put_a_value_in_the_wrong_row, "a/33 is not what was written"),
    "a row twice": (double_a_row, "a/33 contradicts other rows"),
    "another counter": (set_the_revision_back, "its revision is not what was written"),
    "a counter behind its rows": (fall_behind_the_rows, "contradicts other rows"),
    "a schema that is no text": (garble_the_schema, ""),
    "no counter": (forget_the_revision, "its revision is not what was written"),
    "a database of something else": (make_a_stranger, "no such table"),
    "a log without its database": (lose_the_file, "missing, but its log mooring.db-wal is there"),
}


@pytest.mark.parametrize(("damage", "finding"), DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_database_is_refused_and_left_as_it_is(
    closed: Path, damage: Callable[[Path], object], finding: str
) -> None:
    damage(closed)
    before = on_disk(closed.parent)
    with pytest.raises(Damaged) as refused:
        open_database(closed)
    assert on_disk(closed.parent) == before
    text = str(refused.value)
    assert finding in text
    assert str(closed) in text
    assert "Nothing was changed. Restore" in text
    assert "\n" not in text


def test_rot_anywhere_is_found_or_harmless(closed: Path, tmp_path: Path) -> None:
    """Whatever bit flips: either the very same contents, or Damaged; never something else."""
    whole, rng = contents(closed), Random(5)  # noqa: S311 - repeatable, not secret
    pristine, found = closed.read_bytes(), 0
    pages = len(pristine) // 4096
    for attempt in range(150):
        closed.write_bytes(pristine)
        within_page = rng.randrange(40 if attempt % 2 else 4096)  # where the structure is dense
        flip(closed, rng.randrange(pages) * 4096 + within_page, 1 << rng.randrange(8))
        before = on_disk(tmp_path)
        try:
            assert contents(closed) == whole
        except Damaged:
            assert on_disk(tmp_path) == before
            found += 1
    assert found > 60


def test_rot_in_the_log_loses_no_acknowledged_write_silently(crashed: Path) -> None:
    """As above, except that the last commit may be taken for one that a crash tore."""
    pristine = on_disk(crashed.parent)
    whole, rng, found = contents(crashed), Random(6), 0  # noqa: S311 - repeatable, not secret
    removed_last = {f"a/{i}" for i in range(0, COUNT, 7)}
    for _ in range(30):
        for name, content in pristine.items():
            (crashed.parent / name).write_bytes(content)
        flip(log_of(crashed), rng.randrange(len(pristine[log_of(crashed).name])))
        before = on_disk(crashed.parent)
        try:
            read = contents(crashed)
        except Damaged as error:
            assert "log" in str(error)  # noqa: PT017 - one of two legal outcomes
            assert on_disk(crashed.parent) == before
            found += 1
        else:
            assert {k: v for k, v in read.items() if k not in removed_last} | {
                "": whole[""]
            } == whole
    assert found > 15


def test_after_a_crash_the_log_is_replayed(crashed: Path, filled: Path) -> None:
    assert log_of(crashed).stat().st_size > 0
    assert contents(crashed) == contents(filled)
    assert len(contents(crashed)) == 1 + COUNT - len(range(0, COUNT, 7))


def test_another_format_is_named(closed: Path) -> None:
    connection = sqlite3.connect(closed, isolation_level=None)
    checksum = zlib.crc32(b"7", zlib.crc32(b"meta  70"))
    connection.execute("UPDATE meta SET format = 7, checksum = ? WHERE revision = 70", (checksum,))
    connection.close()
    with pytest.raises(UsageError, match=r"mooring\.db has format 7, not 1; use"):
        open_database(closed)


def test_a_second_opener_is_told_who_has_it(tmp_path: Path) -> None:
    first, _ = open_database(tmp_path / "mooring.db")
    with pytest.raises(UsageError) as refused:
        open_database(tmp_path / "mooring.db")
    assert str(refused.value) == (
        f"{tmp_path} is in use by another mooring (pid {os.getpid()}); "
        "stop it or choose another --data-dir"
    )
    first.close()
    second, _ = open_database(tmp_path / "mooring.db")
    second.close()


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    first, _ = open_database(tmp_path / "mooring.db")
    code = (
        "import sys, pathlib; from mooring.apiserver.store.database import open_database\n"
        "open_database(pathlib.Path(sys.argv[1]))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "mooring.db")]
    second = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own
    assert second.returncode != 0
    assert f"is in use by another mooring (pid {os.getpid()})" in second.stderr
    first.close()


def test_another_program_with_the_file_open_is_told_apart_from_damage(closed: Path) -> None:
    other = sqlite3.connect(closed, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(UsageError, match="database is locked; end the program that has it open"):
        open_database(closed)
    other.close()
    open_database(closed)[0].close()


def a_file_as_directory(tmp_path: Path) -> Path:
    (tmp_path / "file").write_text("in the way")
    return tmp_path / "file" / "mooring.db"


def a_directory_as_file(tmp_path: Path) -> Path:
    (tmp_path / "mooring.db").mkdir()
    return tmp_path / "mooring.db"


def a_place_without_files(_: Path) -> Path:
    return Path("/proc/mooring/mooring.db")


@pytest.mark.parametrize("place", [a_file_as_directory, a_directory_as_file, a_place_without_files])
def test_an_unusable_place_is_refused_in_one_line(
    tmp_path: Path, place: Callable[[Path], Path]
) -> None:
    path = place(tmp_path)
    with pytest.raises(UsageError) as refused:
        open_database(path)
    text = str(refused.value)
    assert text.startswith(f"{path.parent} cannot be used: ")
    assert text.endswith("; choose another --data-dir")
    assert "\n" not in text


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
@pytest.mark.parametrize("what", ["directory", "file"])
def test_missing_permissions_are_refused(closed: Path, what: str) -> None:
    (closed.parent if what == "directory" else closed).chmod(0o500)
    with pytest.raises(UsageError, match="cannot be used: Permission denied"):
        open_database(closed)
    closed.parent.chmod(0o700)


def test_all_is_private_to_the_user(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        database, _ = open_database(tmp_path / "data" / "mooring.db")
        database.stage([], [], 2)
        database.commit()
        modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / "data").iterdir()}
        database.close()
    finally:
        os.umask(before)
    names = ("mooring.db", "mooring.db-wal", "mooring.db.lock", "mooring.db-revision")
    assert modes == dict.fromkeys(names, 0o600)
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700


def test_a_creation_that_was_cut_short_is_begun_again(tmp_path: Path) -> None:
    for suffix in ("", "-journal", "-wal", "-shm"):
        (tmp_path / f"mooring.db.new{suffix}").write_bytes(b"half a database")
    database, found = open_database(tmp_path / "mooring.db")
    database.close()
    assert found.tables == {}
    assert set(on_disk(tmp_path)) == {"mooring.db"}


def test_a_commit_waits_for_the_disk(tmp_path: Path) -> None:
    """No test can pull the plug; this one sees to it that the setting that matters stays."""
    database, _ = open_database(tmp_path / "mooring.db")
    settings = [
        database._connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("journal_mode", "synchronous", "locking_mode")
    ]
    database.close()
    assert settings == ["wal", 2, "exclusive"]


def test_a_rollback_leaves_nothing_in_the_log_that_could_pass_for_a_commit(closed: Path) -> None:
    database, _ = open_database(closed)
    database.stage([], [], 1000)
    database.commit()
    database.stage([], [], 1001)
    database.rollback()
    assert log_of(closed).read_bytes() == b""
    database.stage([], [], 1002)
    database.commit()
    database.close()
    assert contents(closed)[""] == (1002, b"")


def test_closing_leaves_one_file(closed: Path) -> None:
    database, _ = open_database(closed)
    database.stage([], [], 1000)
    database.commit()
    database.close()
    assert set(on_disk(closed.parent)) == {"mooring.db"}


def test_the_log_does_not_grow_without_end(tmp_path: Path) -> None:
    database, _ = open_database(tmp_path / "mooring.db")
    value, written = b"x" * 4000, 0
    for batch in range(60):
        first = 2 + 100 * batch
        rows = [Row(CLAIMS, str(i), value, i, None, i) for i in range(first, first + 100)]
        database.stage(rows, [], first + 99)
        database.commit()
        written += 100 * len(value)
        assert log_of(tmp_path / "mooring.db").stat().st_size < 8 << 20
    assert written > 16 << 20
    database.close()
