"""The verdict on a log must agree with what SQLite makes of it."""

import shutil
import sqlite3
from pathlib import Path

import pytest

from mooring.apiserver.store.wal import loses_commits

PAGE = 4096
FRAME = 24 + PAGE
COMMITS = 6


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database whose log holds six transactions of one row each, as after a crash."""
    alive = tmp_path / "alive.db"
    connection = sqlite3.connect(alive, isolation_level=None)
    for setting in ("page_size = 4096", "journal_mode = WAL", "locking_mode = EXCLUSIVE"):
        connection.execute(f"PRAGMA {setting}")
    connection.execute("CREATE TABLE rows(value)")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for value in range(COMMITS):
        connection.execute("INSERT INTO rows VALUES (?)", (str(value) * 9000,))
    copied = copy(alive, tmp_path / "crashed.db")
    connection.close()
    return copied


def copy(database: Path, to: Path) -> Path:
    shutil.copy(database, to)
    shutil.copy(log_of(database), log_of(to))
    return to


def log_of(database: Path) -> Path:
    return database.with_name(database.name + "-wal")


def rows(database: Path) -> int:
    connection = sqlite3.connect(database)
    try:
        (count,) = connection.execute("SELECT count(*) FROM rows").fetchone()
    finally:
        connection.close()
    return int(count)


def flip(path: Path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 0x10
    path.write_bytes(content)


def test_a_whole_log_loses_nothing(database: Path) -> None:
    assert not loses_commits(log_of(database))
    assert rows(database) == COMMITS


# The byte of a frame that rots, and how many transactions SQLite may drop without our notice: one,
# which may as well be torn, and the one before when the rot hides where it ended.
ROT = {
    "page number": (3, 1),
    "commit mark": (7, 2),
    "salt": (9, 2),
    "checksum": (17, 1),
    "page": (999, 1),
}


@pytest.mark.parametrize(("offset", "unnoticed"), ROT.values(), ids=ROT)
def test_rot_is_reported_unless_it_looks_like_a_torn_end(
    database: Path, tmp_path: Path, offset: int, unnoticed: int
) -> None:
    frames = (log_of(database).stat().st_size - 32) // FRAME
    verdicts = []
    for frame in range(frames):
        rotten = copy(database, tmp_path / "rotten.db")
        flip(log_of(rotten), 32 + frame * FRAME + offset)
        verdicts.append(loses_commits(log_of(rotten)))
        assert verdicts[-1] or rows(rotten) >= COMMITS - unnoticed
    assert verdicts[0]
    assert not verdicts[-1]


@pytest.mark.parametrize("position", [0, 3, 5, 10, 17, 25, 31])
def test_a_rotten_header_would_lose_everything(database: Path, position: int) -> None:
    flip(log_of(database), position)
    assert loses_commits(log_of(database))


@pytest.mark.parametrize("cut", [1, 24, 100, FRAME - 1, FRAME, FRAME + 1])
def test_a_torn_end_is_what_a_crash_leaves(database: Path, cut: int) -> None:
    content = log_of(database).read_bytes()
    log_of(database).write_bytes(content[:-cut])
    assert not loses_commits(log_of(database))
    assert rows(database) == COMMITS - 1


def test_a_last_transaction_with_its_end_but_not_its_middle_is_torn(database: Path) -> None:
    content = bytearray(log_of(database).read_bytes())
    content[-2 * FRAME : -FRAME] = bytes(FRAME)  # the disk wrote the blocks in another order
    log_of(database).write_bytes(content)
    assert not loses_commits(log_of(database))
    assert rows(database) == COMMITS - 1


@pytest.mark.parametrize("content", [b"", b"\x37\x7f", bytes(32), bytes(5000)])
def test_a_log_that_was_never_begun_loses_nothing(tmp_path: Path, content: bytes) -> None:
    log = tmp_path / "x-wal"
    assert not loses_commits(log)
    log.write_bytes(content)
    assert not loses_commits(log)


def test_frames_of_an_earlier_use_of_the_file_do_not_count(tmp_path: Path) -> None:
    alive = tmp_path / "alive.db"
    connection = sqlite3.connect(alive, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE rows(value)")
    for value in range(COMMITS):
        connection.execute("INSERT INTO rows VALUES (?)", (str(value) * 9000,))
    connection.execute("PRAGMA wal_checkpoint(RESTART)")
    connection.execute("INSERT INTO rows VALUES ('one more')")
    reused = copy(alive, tmp_path / "reused.db")
    connection.close()
    assert log_of(reused).stat().st_size > 10 * FRAME
    assert not loses_commits(log_of(reused))
    assert rows(reused) == COMMITS + 1
