"""Writes that were acknowledged and are not there any more are missed."""

import shutil
from pathlib import Path

import pytest

from mooring.apiserver.store.database import open_database
from mooring.apiserver.store.revision_mark import RevisionMark, find_mark
from mooring.errors import Damaged, Removed

FILES = ("mooring.db", "mooring.db-wal", "mooring.db-revision")


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """What is left of a server that was killed at revision 7."""
    database, _ = open_database(tmp_path / "running" / "mooring.db")
    for revision in range(2, 8):
        database.stage([], [], revision)
        database.commit()
    (tmp_path / "killed").mkdir()
    for name in FILES:
        shutil.copy(tmp_path / "running" / name, tmp_path / "killed" / name)
    database.close()
    return tmp_path / "killed" / "mooring.db"


def test_a_killed_server_goes_on_where_it_was(killed: Path) -> None:
    database, contents = open_database(killed)
    assert contents.revision == 7
    database.close()


def test_a_log_that_was_removed_is_missed(killed: Path) -> None:
    killed.with_name("mooring.db-wal").unlink()
    before = {path.name: path.read_bytes() for path in killed.parent.iterdir()}
    with pytest.raises(Damaged, match=r"ends at revision 1, but 7 was reached.*-revision to go on"):
        open_database(killed)
    after = {path.name: path.read_bytes() for path in killed.parent.iterdir()}
    after.pop("mooring.db.lock")
    assert after == before, "nothing was changed"


def test_a_directory_that_is_removed_under_a_server_takes_no_more_writes(tmp_path: Path) -> None:
    database, _ = open_database(tmp_path / "data" / "mooring.db")
    shutil.rmtree(tmp_path / "data")
    with pytest.raises(Removed, match=f"{tmp_path}/data was removed"):
        database.stage([], [], 2)
    database.close()


def test_an_emptied_log_is_missed(killed: Path) -> None:
    killed.with_name("mooring.db-wal").write_bytes(b"")
    with pytest.raises(Damaged, match="has lost writes"):
        open_database(killed)


def test_whoever_accepts_the_loss_goes_on(killed: Path) -> None:
    killed.with_name("mooring.db-wal").unlink()
    killed.with_name("mooring.db-revision").unlink()
    database, contents = open_database(killed)
    assert contents.revision == 1
    database.close()


NOTES = {
    "there is none": None,
    "an empty one": b"",
    "half of one": b"0000000000000000",
    "one whose sum is wrong": b"00000000000000000009 00000000\n",
    "something else": b"\xff" * 30,
}


@pytest.mark.parametrize("content", NOTES.values(), ids=NOTES)
def test_a_note_that_cannot_be_read_says_nothing(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "note"
    if content is not None:
        path.write_bytes(content)
    assert find_mark(path) == 0


def test_the_last_note_counts(tmp_path: Path) -> None:
    mark = RevisionMark.open(tmp_path / "note")
    for revision in (5, 123_456_789_012, 6):
        mark.note(revision)
        assert find_mark(tmp_path / "note") == revision
    mark.close()
    mark.note(9)  # a disk that refuses
    assert find_mark(tmp_path / "note") == 6
