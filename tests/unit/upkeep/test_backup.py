"""A backup and what is restored of it, without a server."""

import io
import os
import socket
import stat
import tarfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from mooring.apiserver.store.database import Row, open_database, read_contents
from mooring.clock import RealClock
from mooring.errors import Damaged, UsageError
from mooring.upkeep.backup import BackedUp, back_up
from mooring.upkeep.manifest import seal_of
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
    assert any("contents of 1 volume of the bundled driver are not in it" in line for line in told)
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


def rewrite(file: Path, change: Callable[[list[tuple[tarfile.TarInfo, bytes]]], None]) -> None:
    """Make the archive anew with other members, and a manifest and a seal that fit."""
    with tarfile.open(file) as old:
        members = [(one, (old.extractfile(one) or io.BytesIO()).read()) for one in old]
    change(members)
    with tarfile.open(file, "w", format=tarfile.PAX_FORMAT) as new:
        for info, content in members:
            new.addfile(info, io.BytesIO(content))


def find(members: list[tuple[tarfile.TarInfo, bytes]], name: str) -> tarfile.TarInfo:
    return next(info for info, _ in members if info.name.endswith(name))


def a_huge_user(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    find(members, "/second").uid = 1 << 40


def a_negative_group(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    find(members, "/second").gid = -5


def a_name_with_a_nul(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    find(members, "/second").pax_headers = {"path": "data/volumes/a\0b"}


def a_link_with_a_nul(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    find(members, "/up").pax_headers = {"linkpath": "a\0b"}


def a_huge_file(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    find(members, "ca.key").pax_headers = {"size": str(1 << 63)}


def a_map(content: bytes) -> Callable[[list[tuple[tarfile.TarInfo, bytes]]], None]:
    def change(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
        for number, (info, _) in enumerate(members):
            if info.name.endswith("/image.map"):
                info.size = len(content)
                members[number] = (info, content)

    return change


def a_device(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    info = tarfile.TarInfo("data/volumes/null")
    info.type, info.devmajor, info.devminor = tarfile.CHRTYPE, 1, 3
    members.insert(0, (info, b""))


def a_path_out(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    find(members, "ca.key").name = "data/pki/../../../out"


def a_file_twice(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    members.insert(0, next(one for one in members if one[0].name.endswith("ca.key")))


HOSTILE = {
    "a user that cannot be": a_huge_user,
    "a group that cannot be": a_negative_group,
    "a name with a NUL": a_name_with_a_nul,
    "a link with a NUL": a_link_with_a_nul,
    "a size of 2^63": a_huge_file,
    "an image of 2^63 bytes": a_map(b'{"size":9223372036854775808,"pieces":[]}'),
    "pieces at 2^63": a_map(b'{"size":9,"pieces":[[9223372036854775807,9]]}'),
    "pieces before the beginning": a_map(b'{"size":9,"pieces":[[-9,9]]}'),
    "pieces upon each other": a_map(b'{"size":9,"pieces":[[0,9],[3,2]]}'),
    "a map that is none": a_map(b"[]"),
    "a device": a_device,
    "a path out of it": a_path_out,
    "a file twice": a_file_twice,
}


@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_backup_is_refused_in_one_line_and_nothing_is_left(
    data: Path, tmp_path: Path, change: Callable[[list[tuple[tarfile.TarInfo, bytes]]], None]
) -> None:
    kept(data, tmp_path / "one.tar", with_volumes=True)
    rewrite(tmp_path / "one.tar", change)
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(UsageError) as told:
        restore(tmp_path / "one.tar", tmp_path / "restored")
    assert "\n" not in str(told.value)
    assert str(told.value).isprintable()
    assert sorted(os.listdir(tmp_path)) == before


def test_only_volumes_keep_owners_and_modes(data: Path, tmp_path: Path) -> None:
    def open_up(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
        find(members, "ca.key").mode = 0o4777
        next(one for one, _ in members if one.size == len("text") and one.isreg()).mode = 0o4755

    kept(data, tmp_path / "one.tar", with_volumes=True)
    rewrite(tmp_path / "one.tar", open_up)
    restore(tmp_path / "one.tar", tmp_path / "restored")
    key = tmp_path / "restored" / "pki" / "ca.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o700
    file = tmp_path / "restored" / "volumes" / "pvc-1" / "a" / "b" / "file"
    assert stat.S_IMODE(file.stat().st_mode) == 0o4755


@pytest.mark.parametrize("revision", [(1 << 63) - 1, 0], ids=["2^63-1", "0"])
def test_a_revision_that_cannot_be_is_refused(data: Path, tmp_path: Path, revision: int) -> None:
    (data / "mooring.db").unlink()
    database, _ = open_database(data / "mooring.db")
    database.stage((), (), revision)
    database.commit()
    database.close()
    kept(data, tmp_path / "one.tar")
    with pytest.raises(UsageError, match="cannot have reached revision"):
        restore(tmp_path / "one.tar", tmp_path / "restored")
    assert not (tmp_path / "restored").exists()


def test_a_manifest_of_the_future_is_told_on_one_line(data: Path, tmp_path: Path) -> None:
    def alter(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
        (manifest, content), (seal, _) = members[-2:]
        doc = msgspec.json.decode(content)
        doc.update(format=2, version="9\n\x1b[31m")
        content = msgspec.json.encode(doc)
        manifest.size = len(content)
        members[-2:] = [(manifest, content), (seal, seal_of(content))]

    kept(data, tmp_path / "one.tar")
    rewrite(tmp_path / "one.tar", alter)
    with pytest.raises(UsageError, match=r"has format 2, not 1: use mooring 9\?\?\[31m$"):
        restore(tmp_path / "one.tar", tmp_path / "restored")


def test_what_is_no_file_is_not_replaced_by_a_backup(data: Path, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    (tmp_path / "link").symlink_to(fifo)
    for target in (fifo, tmp_path / "link", tmp_path, Path("/dev/null")):
        with pytest.raises(UsageError, match="is no plain file"):
            kept(data, target)
    assert stat.S_ISFIFO(fifo.lstat().st_mode)
    assert stat.S_ISCHR(Path("/dev/null").lstat().st_mode)


def test_what_cannot_be_kept_is_named(data: Path, tmp_path: Path) -> None:
    files = data / "volumes" / "pvc-1"
    os.mkfifo(files / "fifo")
    with socket.socket(socket.AF_UNIX) as opened:
        directory = os.open(files, os.O_RDONLY)
        opened.bind(f"/proc/self/fd/{directory}/socket")
        os.close(directory)
    made = kept(data, tmp_path / "one.tar", with_volumes=True)
    assert sorted(made.left_out) == ["data/volumes/pvc-1/fifo", "data/volumes/pvc-1/socket"]
    assert kept(data, tmp_path / "two.tar").left_out == ()
    restore(tmp_path / "one.tar", tmp_path / "restored")
