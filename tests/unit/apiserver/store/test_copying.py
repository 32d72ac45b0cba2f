"""A copy of a database that another process writes to as fast as it can."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mooring.apiserver.store import copying
from mooring.apiserver.store.copying import copy_database, raise_revision
from mooring.apiserver.store.database import Row, open_database, read_contents
from mooring.apiserver.store.revision_mark import RevisionMark
from mooring.errors import Damaged, StoreError

WRITER = """
import sys
from pathlib import Path
from mooring.apiserver.store.database import Row, open_database
database, contents = open_database(Path(sys.argv[1]))
revision = contents.revision
while True:
    revision += 1
    value = b"%d " % revision * 3000
    rows = [Row("t", name, value, revision, None, key) for key, name in ((2, "a"), (3, "b"))]
    rows += [Row("t", f"other-{revision % 50}", value, revision, None, 10 + revision % 50)]
    database.stage(rows, (), revision)
    database.commit()
    sys.stdout.write(f"{revision}\\n")
    sys.stdout.flush()
"""  # 90 kB each time: the log begins anew after every 44 of them


@contextmanager
def written(path: Path) -> "Iterator[subprocess.Popen[str]]":
    with subprocess.Popen(  # noqa: S603  our own interpreter
        [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_each_copy_is_of_one_moment_and_has_what_was_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "mooring.db"
    with written(path) as writer:
        assert writer.stdout is not None
        newest = 0
        for number in range(40):
            acknowledged = int(writer.stdout.readline())
            copy = tmp_path / f"copy-{number}"
            contents = copy_database(path, copy, read_contents, is_written=True)
            one, other = (contents.tables["t"][name] for name in "ab")
            assert one.value == other.value
            assert one.revision == contents.revision >= max(newest, acknowledged)
            newest = contents.revision
            assert sorted(each.name for each in tmp_path.glob(f"{copy.name}*")) == [copy.name]


def filled(path: Path) -> None:
    database, contents = open_database(path)
    revision = contents.revision + 1
    database.stage([Row("t", "a", b"1", revision, None, revision)], (), revision)
    database.commit()
    database.close()


def test_one_that_is_written_to_all_the_time_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mooring.db"
    filled(path)
    headers = iter(range(1000))
    monkeypatch.setattr(copying, "_log_header", lambda _: b"%d" % next(headers))
    with pytest.raises(StoreError, match="written to faster than it can be copied"):
        copy_database(path, tmp_path / "copy", read_contents, is_written=True)


def test_a_copy_that_lost_its_log_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mooring.db"
    filled(path)
    mark = RevisionMark.open(path.with_name("mooring.db-revision"))
    mark.note(99)
    mark.close()
    with pytest.raises(Damaged, match="has lost writes: it ends at revision 2, but 99"):
        copy_database(path, tmp_path / "copy", read_contents, is_written=False)


def test_a_damaged_one_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mooring.db"
    path.write_bytes(b"no database" * 1000)
    with pytest.raises(Damaged):
        copy_database(path, tmp_path / "copy", read_contents, is_written=False)


def test_a_raised_revision_is_where_the_next_write_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "mooring.db"
    filled(path)
    raise_revision(path, 5000)
    assert read_contents(path).revision == 5000
    assert list(read_contents(path).tables["t"]) == ["a"]
