"""A backup and what is restored of it, without a server."""

import os
import tarfile
from pathlib import Path

import pytest

from mooring.apiserver.store.database import Row, open_database, read_contents
from mooring.clock import RealClock
from mooring.errors import Damaged, UsageError
from mooring.upkeep.backup import BackedUp, back_up
from mooring.upkeep.restore import HEADROOM, restore

SIZE = 8 << 20
PIECE = 1 << 20


@pytest.fixture
def data(tmp_path: Path) -> Path:
    directory = tmp_path / "data"
    database, contents = open_database(directory / "mooring.db")
    revision = contents.revision + 1
    database.stage([Row("nodes", "n1", b"{}", revision, None, revision)], (), revision)
    database.commit()
    database.close()
    (directory / "pki").mkdir()
    (directory / "pki" / "ca.key").write_text("secret")
    (directory / "pki" / "ca.key").chmod(0o600)
    (directory / "tokens.json").write_text("{}")
    volume = directory / "driver" / "volumes" / "v1"
    volume.mkdir(parents=True)
    (volume / "record.json").write_text("{}")
    with (volume / "image").open("wb") as image:
        image.truncate(SIZE)
        image.seek(PIECE)
        image.write(b"x" * PIECE)
    files = directory / "volumes" / "pvc-1"
    (files / "a" / "b").mkdir(parents=True)
    (files / "a" / "b" / "file").write_text("text")
    (files / "a" / "up").symlink_to("../..")
    os.link(files / "a" / "b" / "file", files / "second")
    return directory


def kept(data: Path, file: Path, *, with_volumes: bool = False) -> BackedUp:
    return back_up(data, file, RealClock(), with_volumes=with_volumes)


def test_all_comes_back_sparse_files_and_links_included(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "one.tar"
    made = kept(data, file, with_volumes=True)
    assert (made.objects, made.volumes_in_use) == (1, 0)
    assert file.stat().st_size < SIZE // 2

    restored = tmp_path / "restored"
    manifest = restore(file, restored).manifest
    assert manifest.nodes == ("n1",)
    contents = read_contents(restored / "mooring.db")
    assert contents.revision == made.revision + HEADROOM
    assert list(contents.tables["nodes"]) == ["n1"]
    image = Path("driver", "volumes", "v1", "image")
    assert (restored / image).read_bytes() == (data / image).read_bytes()
    assert (restored / image).stat().st_blocks * 512 < SIZE // 2
    files = restored / "volumes" / "pvc-1"
    assert (files / "a" / "b" / "file").read_text() == "text"
    assert (files / "second").stat().st_nlink == 2
    assert (files / "a" / "up").readlink() == Path("../..")
    assert (restored / "pki" / "ca.key").stat().st_mode & 0o777 == 0o600
    assert restored.stat().st_mode & 0o777 == 0o700


def test_contents_are_left_out_unless_asked_for(data: Path, tmp_path: Path) -> None:
    kept(data, tmp_path / "one.tar")
    told = restore(tmp_path / "one.tar", tmp_path / "restored").differences
    assert any("contents of 1 volumes of the bundled driver are not in it" in line for line in told)
    assert os.listdir(tmp_path / "restored" / "driver" / "volumes" / "v1") == ["record.json"]


def test_every_cut_is_refused_and_nothing_is_left(data: Path, tmp_path: Path) -> None:
    whole = tmp_path / "one.tar"
    kept(data, whole)
    content = whole.read_bytes()
    cut = tmp_path / "cut.tar"
    before = {"cut.tar", *os.listdir(tmp_path)}
    sealed = content.rindex(b"  manifest.json\n")
    for length in (*range(0, sealed, 1501), sealed):
        cut.write_bytes(content[:length])
        with pytest.raises((UsageError, Damaged)):
            restore(cut, tmp_path / "restored")
        assert set(os.listdir(tmp_path)) == before


def test_no_changed_byte_of_a_part_goes_unseen(data: Path, tmp_path: Path) -> None:
    whole = tmp_path / "one.tar"
    kept(data, whole)
    content = whole.read_bytes()
    changed = tmp_path / "changed.tar"
    for secret in (b"secret", b'"version"', b"SQLite format 3"):
        at = content.index(secret)
        changed.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        with pytest.raises((UsageError, Damaged)):
            restore(changed, tmp_path / "restored")
        assert not (tmp_path / "restored").exists()


def test_an_empty_directory_will_do_and_another_one_not(data: Path, tmp_path: Path) -> None:
    kept(data, tmp_path / "one.tar")
    place = tmp_path / "place"
    place.mkdir()
    restore(tmp_path / "one.tar", place)
    with pytest.raises(UsageError, match="is a data directory already"):
        restore(tmp_path / "one.tar", place)


def test_files_of_users_with_names_of_the_sparse_format_come_back(
    data: Path, tmp_path: Path
) -> None:
    files = data / "volumes" / "pvc-1"
    contents = {"app.js.map": '{"version":3}', "table.data": "payload", "empty.data": ""}
    for name, content in contents.items():
        (files / name).write_text(content)
    kept(data, tmp_path / "one.tar", with_volumes=True)
    restore(tmp_path / "one.tar", tmp_path / "restored")
    again = tmp_path / "restored" / "volumes" / "pvc-1"
    assert {name: (again / name).read_text() for name in contents} == contents


def test_a_name_that_cannot_be_kept_is_told(data: Path, tmp_path: Path) -> None:
    (data / "volumes" / "pvc-1" / os.fsdecode(b"\xff")).touch()
    with pytest.raises(UsageError, match="its name is not UTF-8"):
        kept(data, tmp_path / "one.tar", with_volumes=True)


def test_a_link_in_place_of_the_database_is_refused(data: Path, tmp_path: Path) -> None:
    """Somebody made the archive anew, with a link and a manifest that fits."""
    kept(data, tmp_path / "one.tar")
    victim = tmp_path / "victim.db"
    victim.write_bytes((data / "mooring.db").read_bytes())
    before = victim.read_bytes()
    with tarfile.open(tmp_path / "one.tar") as old, tarfile.open(tmp_path / "two.tar", "w") as new:
        for info in old:
            if info.name.endswith("/mooring.db"):
                info.type, info.linkname, info.size = tarfile.SYMTYPE, str(victim), 0
                new.addfile(info)
            else:
                new.addfile(info, old.extractfile(info) if info.isreg() else None)
    with pytest.raises(UsageError, match="may not be a link"):
        restore(tmp_path / "two.tar", tmp_path / "restored")
    assert victim.read_bytes() == before
    assert not (tmp_path / "restored").exists()
