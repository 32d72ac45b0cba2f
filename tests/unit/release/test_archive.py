import hashlib
import io
import tarfile
from pathlib import Path

from release import checksums
from release.archive import Entry, below, compressed, directory, entries_of, link, tar

ENTRIES = [Entry("a/b", b"text", 0o755), directory("a"), link("c", "a/b")]


def test_an_archive_does_not_depend_on_the_order_of_files() -> None:
    assert tar(ENTRIES, 7) == tar(ENTRIES[::-1], 7)
    assert compressed(tar(ENTRIES, 7)) == compressed(tar(ENTRIES, 7))


def test_every_time_stamp_is_the_one_of_the_sources_and_every_owner_is_root() -> None:
    with tarfile.open(fileobj=io.BytesIO(tar(ENTRIES, 7))) as archive:
        assert {(one.mtime, one.uid, one.gid, one.uname) for one in archive} == {(7, 0, 0, "")}


def test_what_was_written_is_read_again() -> None:
    assert sorted(entries_of(io.BytesIO(tar(ENTRIES, 7))), key=lambda one: one.name) == [
        directory("a"),
        Entry("a/b", b"text", 0o755),
        link("c", "a/b"),
    ]


def test_compiled_python_is_left_out(tmp_path: Path) -> None:
    for name in ("pkg/x.py", "pkg/__pycache__/x.pyc"):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text("")
    assert sorted(one.name for one in below(tmp_path, "to/")) == ["to/pkg", "to/pkg/x.py"]


def test_sums_are_of_every_file_but_their_own(tmp_path: Path) -> None:
    (tmp_path / "b.whl").write_bytes(b"b")
    checksums.write(tmp_path)
    checksums.write(tmp_path)
    text = (tmp_path / checksums.NAME).read_text()
    assert text == f"{hashlib.sha256(b'b').hexdigest()}  b.whl\n"
