"""Layers become files as overlay wants them; hostile ones touch nothing else."""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mooring.oci import tar
from mooring.oci.directory import DirectoryEntries
from mooring.oci.entry import EntryType, LayerEntry
from mooring.oci.refused import ImageRefused
from mooring.oci.stream import Stream
from mooring.oci.unpack import OPAQUE, Unpacked, unpack
from mooring.oci.whiteout import read_as_layer
from tests.fakes.image_archives import Member, a_directory, a_file, a_link, a_tar

Unpack = Callable[..., Unpacked]
SECRET = "kept from images"


@pytest.fixture
def layer(needs_root: None, tmp_path: Path) -> Path:
    path = tmp_path / "store" / "layer"
    path.mkdir(parents=True)
    return path


@pytest.fixture
def outside(layer: Path) -> Iterator[Path]:
    """A directory that no layer may touch, three levels up and down from the layer's root."""
    path = layer.parent.parent / "outside"
    path.mkdir(mode=0o700)
    (path / "file").write_text(SECRET)
    before = snapshot(path)
    yield path
    assert snapshot(path) == before


@pytest.fixture
def made(layer: Path) -> Unpack:
    def make(*members: Member) -> Unpacked:
        return unpack(read_as_layer(tar.entries(Stream([a_tar(*members)]))), layer, lambda _: None)

    return make


def snapshot(directory: Path) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    for path in (directory, *sorted(directory.rglob("*"))):
        seen = path.lstat()
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        found.append(
            (path.name, seen.st_mode, seen.st_uid, seen.st_nlink, seen.st_mtime_ns, content)
        )
    return found


def kind_of(path: Path) -> str:
    """As overlay sees it."""
    seen = path.lstat()
    if stat.S_ISCHR(seen.st_mode) and seen.st_rdev == 0:
        return "whiteout"
    if path.is_dir():
        return "opaque" if is_opaque(path) else "directory"
    return "file"


def is_opaque(path: Path) -> bool:
    return OPAQUE in os.listxattr(path)


def test_owners_modes_times_links_and_attributes(layer: Path, made: Unpack) -> None:
    result = made(
        a_directory(".", 0o711, mtime=111),
        a_directory("d", 0o1777, uid=7, gid=8, mtime=222),
        a_file("d/f", "text", mode=0o6751, uid=1000, gid=1001, mtime=333,
               pax={"SCHILY.xattr.user.note": "hello"}),
        Member("d/h", "hardlink", target="d/f"),
        a_link("d/l", "/nowhere"),
        Member("p", "fifo", mode=0o622, uid=3, gid=4),
        a_file("new\nline", "odd"),
    )  # fmt: skip
    assert result == Unpacked(size=7, devices=0, hides_below=False)
    file = (layer / "d" / "f").stat()
    assert (stat.S_IMODE(file.st_mode), file.st_uid, file.st_gid) == (0o6751, 1000, 1001)
    assert (file.st_mtime, file.st_nlink) == (333, 2)
    assert os.getxattr(layer / "d" / "f", "user.note") == b"hello"
    directory = (layer / "d").stat()
    assert (stat.S_IMODE(directory.st_mode), directory.st_uid, directory.st_gid) == (0o1777, 7, 8)
    assert directory.st_mtime == 222
    assert (stat.S_IMODE(layer.stat().st_mode), layer.stat().st_mtime) == (0o711, 111)
    assert (layer / "d" / "l").readlink() == Path("/nowhere")
    pipe = (layer / "p").stat()
    assert (stat.S_IMODE(pipe.st_mode), pipe.st_uid, stat.S_ISFIFO(pipe.st_mode)) == (
        0o622,
        3,
        True,
    )
    assert (layer / "new\nline").read_text() == "odd"


def test_file_capabilities_are_kept_and_orders_to_overlay_are_not(
    layer: Path, made: Unpack
) -> None:
    capability = b"\1\0\0\2\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0".decode("latin-1")  # net_bind_service
    made(
        a_file("ping", mode=0o755, pax={"SCHILY.xattr.security.capability": capability}),
        a_directory("d", pax={
            "SCHILY.xattr.trusted.overlay.opaque": "y",
            "SCHILY.xattr.trusted.overlay.redirect": "/etc",
            "SCHILY.xattr.user.overlay.opaque": "y",
            "SCHILY.xattr.security.selinux": "x",
            "SCHILY.xattr.user.kept": "y",
        }),
    )  # fmt: skip
    assert os.getxattr(layer / "ping", "security.capability") == capability.encode("latin-1")
    assert os.listxattr(layer / "d") == ["user.kept"]


def test_missing_parents_are_made_whatever_the_umask(layer: Path, made: Unpack) -> None:
    before = os.umask(0o077)
    try:
        made(a_file("a/b/c"))
    finally:
        os.umask(before)
    assert stat.S_IMODE((layer / "a" / "b").stat().st_mode) == 0o755


WHITEOUTS = {
    "a whiteout": ((a_file(".wh.x"),), "whiteout"),
    "a whiteout in a directory that is not there": ((a_file("d/e/.wh.x"),), "whiteout"),
    "a file takes the place of a whiteout": ((a_file(".wh.x"), a_file("x")), "file"),
    "a whiteout does not take the place of a file": ((a_file("x"), a_file(".wh.x")), "file"),
    "a directory after its whiteout is opaque": ((a_file(".wh.x"), a_directory("x")), "opaque"),
    "a directory before its whiteout is opaque": ((a_directory("x"), a_file(".wh.x")), "opaque"),
    "a directory made for a file is opaque": ((a_file(".wh.x"), a_file("x/y")), "opaque"),
    "an opaque directory": ((a_directory("x"), a_file("x/.wh..wh..opq")), "opaque"),
    "an opaque directory that is told later": (
        (a_file("x/.wh..wh..opq"), a_directory("x")),
        "opaque",
    ),
    "a plain directory": ((a_directory("x"),), "directory"),
}


@pytest.mark.parametrize(("members", "told"), WHITEOUTS.values(), ids=WHITEOUTS)
def test_whiteouts(layer: Path, made: Unpack, members: tuple[Member, ...], told: str) -> None:
    assert made(*members).hides_below is False
    assert kind_of(next(layer.rglob("x"))) == told


def test_an_opaque_root_is_told(layer: Path, made: Unpack) -> None:
    assert made(a_file(".wh..wh..opq"), a_file("x")).hides_below is True
    assert not is_opaque(layer)


REPLACED = {
    "a file by a file": ((a_file("x", "old"), a_file("x", "new")), "new"),
    "a file by a file, through a hard link": (
        (a_file("keep", "old"), Member("x", "hardlink", target="keep"), a_file("x", "new")),
        "new",
    ),
    "a full directory by a file": ((a_file("x/y/z", "old"), a_file("x", "new")), "new"),
    "a link by a file": ((a_link("x", "y"), a_file("x", "new")), "new"),
    "a link to a file by a file": ((a_file("y", "y"), a_link("x", "y"), a_file("x", "new")), "new"),
    "a file by a directory": ((a_file("x", "old"), a_directory("x")), None),
    "a file by a directory for a file": ((a_file("x", "old"), a_file("x/y", "new")), None),
    "a link by a directory": ((a_link("x", "y"), a_directory("y"), a_directory("x")), None),
}


@pytest.mark.parametrize(("members", "content"), REPLACED.values(), ids=REPLACED)
def test_the_last_entry_of_a_name_wins(
    layer: Path, made: Unpack, members: tuple[Member, ...], content: str | None
) -> None:
    made(*members)
    found = layer / "x"
    assert not found.is_symlink()
    assert (found.read_text() if found.is_file() else None) == content
    if (layer / "keep").exists():
        assert (layer / "keep").read_text() == "old"


def test_a_directory_said_twice_keeps_its_files(layer: Path, made: Unpack) -> None:
    made(a_directory("d", 0o700), a_file("d/f"), a_directory("d", 0o750))
    assert stat.S_IMODE((layer / "d").stat().st_mode) == 0o750
    assert (layer / "d" / "f").exists()


HOSTILE = {
    "an absolute link, written through": (a_link("x", "{outside}"), a_file("x/file", "bad")),
    "a link up, written through": (
        a_link("x", "../../outside"), a_file("x/file", "bad"),
    ),
    "a link through a link": (
        a_link("a", "../.."), a_link("b", "a/outside"), a_file("b/file", "bad"),
    ),
    "a directory swapped for a link": (
        a_directory("x"), a_file("x/y"), a_link("x", "{outside}"), a_file("x/file", "bad"),
    ),
    "a link that is the file itself": (a_link("x", "{outside}/file"), a_file("x", "bad")),
    "a directory where a link is": (a_link("x", "{outside}"), a_directory("x", 0o777, uid=5)),
    "a link as the parent of a directory": (
        a_link("x", "{outside}"), a_directory("x/new", 0o777),
    ),
    "a whiteout through a link": (a_link("x", "{outside}"), a_file("x/.wh.file")),
    "an opaque directory through a link": (a_link("x", "{outside}"), a_file("x/.wh..wh..opq")),
    "a fifo through a link": (a_link("x", "{outside}"), Member("x/p", "fifo")),
    "a link through a link, to be": (a_link("x", "{outside}"), a_link("x/l", "/")),
    "a name that begins with a slash": (a_file("/{outside}/file", "bad"),),
    "an absolute link with ways up": (
        a_link("x", "/../../../..{outside}"), a_file("x/file", "bad"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("members", HOSTILE.values(), ids=HOSTILE)
def test_hostile_entries_stay_inside(
    layer: Path, outside: Path, made: Unpack, members: tuple[Member, ...]
) -> None:
    made(*(_aimed(member, outside) for member in members))
    for path in layer.rglob("file"):
        assert not path.is_symlink()
        assert not path.is_file() or path.read_text() == "bad"


def _aimed(member: Member, outside: Path) -> Member:
    def aim(text: str) -> str:
        return text.replace("{outside}", str(outside))

    return Member(
        aim(member.name), member.type, member.data, aim(member.target), member.mode, member.uid
    )


def test_a_link_on_the_way_is_followed_as_in_a_container(layer: Path, made: Unpack) -> None:
    made(
        a_link("lib", "usr/lib"),
        a_file("lib/a", "relative"),
        a_link("usr/sbin", "/usr/bin"),
        a_file("usr/sbin/b", "absolute"),
        a_link("up", "../../etc"),
        a_file("up/c", "clamped"),
        Member("d", "hardlink", target="lib/a"),
    )
    assert (layer / "usr" / "lib" / "a").read_text() == "relative"
    assert (layer / "usr" / "bin" / "b").read_text() == "absolute"
    assert (layer / "etc" / "c").read_text() == "clamped"
    assert (layer / "d").read_text() == "relative"
    assert (layer / "lib").is_symlink()


REFUSED = {
    "links in a circle": ((a_link("x", "y"), a_link("y", "x"), a_file("x/f")), "symbolic links"),
    "a hard link out of the layer": (
        (Member("x", "hardlink", target="/../../outside/file"),),
        "leads out of its root",
    ),
    "a hard link to what is not there": (
        (Member("x", "hardlink", target="outside/file"),),
        "not in its layer",
    ),
    "a hard link through a link out of the layer": (
        (a_link("l", "../../outside"), Member("x", "hardlink", target="l/file")),
        "not in its layer",
    ),
    "a hard link to the root": ((Member("x", "hardlink", target="."),), "hard link to the root"),
    "a hard link to a directory": (
        (a_directory("d"), Member("x", "hardlink", target="d")),
        "cannot unpack x",
    ),
    "the root replaced by a link": ((a_link(".", "/etc"),), "place of the root"),
    "the root replaced by a file": ((a_file("./", "x"), a_file(".", "x")), "place of the root"),
    "a link to nothing": ((Member("x", "symlink", target=""),), "cannot unpack x"),
    "a name longer than names can be": ((a_file("x" * 300),), "too long"),
}


@pytest.mark.parametrize(("members", "why"), REFUSED.values(), ids=REFUSED)
def test_refused(outside: Path, made: Unpack, members: tuple[Member, ...], why: str) -> None:
    with pytest.raises(ImageRefused, match=why) as refused:
        made(*members)
    assert "\n" not in str(refused.value)


def test_a_hard_link_to_a_link_is_one_and_not_to_its_target(
    layer: Path, outside: Path, made: Unpack
) -> None:
    made(a_link("l", str(outside / "file")), Member("x", "hardlink", target="l"))
    assert (layer / "x").is_symlink()


def test_a_hard_link_to_itself_is_nothing(layer: Path, made: Unpack) -> None:
    made(a_file("x", "text"), Member("x", "hardlink", target="x"))
    assert (layer / "x").read_text() == "text"


def test_devices_are_left_out_and_counted(layer: Path, made: Unpack) -> None:
    result = made(
        Member("dev/sda", "block", device=(8, 0)),
        Member("dev/null", "character", device=(1, 3)),
        Member("dev/also", "hardlink", target="dev/null"),
        Member("whiteout", "character", device=(0, 0)),
        a_file("dev/file"),
    )
    assert result.devices == 4
    assert sorted(path.name for path in layer.rglob("*")) == ["dev", "file"]


def test_a_huge_file_of_holes_takes_no_room(layer: Path) -> None:
    huge = LayerEntry(("sparse",), EntryType.FILE, 0o644, size=1 << 40, body=iter([(4096, b"end")]))
    assert unpack([huge], layer, lambda _: None).size == 3
    found = (layer / "sparse").stat()
    assert (found.st_size, found.st_blocks < 100) == (1 << 40, True)


def test_a_file_larger_than_any_is_refused(layer: Path) -> None:
    with pytest.raises(ImageRefused, match="cannot unpack sparse: file too large"):
        unpack([LayerEntry(("sparse",), EntryType.FILE, size=2**63 - 1)], layer, lambda _: None)


def test_more_directories_than_are_kept_open(layer: Path, made: Unpack) -> None:
    names = [f"d{number % 200}/e{number % 150}/f{number}" for number in range(1000)]
    before = len(os.listdir("/proc/self/fd"))
    made(a_file("source", "x"), *(Member(name, "hardlink", target="source") for name in names))
    assert (layer / "source").stat().st_nlink == 1001
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_directory_is_copied_as_it_is(layer: Path, tmp_path: Path) -> None:
    source = tmp_path / "rootfs"
    (source / "bin").mkdir(parents=True)
    (source / "bin" / "tool").write_text("tool")
    (source / "bin" / "tool").chmod(0o4755)
    os.link(source / "bin" / "tool", source / "bin" / "twin")
    (source / "bin" / ".wh.kept").write_text("no whiteout here")
    (source / "out").symlink_to("/etc")
    os.setxattr(source / "bin" / "tool", "user.note", b"hello")
    os.setxattr(source / "bin", OPAQUE, b"y")
    with (source / "sparse").open("wb") as file:
        file.truncate(1 << 30)
        file.seek(1 << 29)
        file.write(b"middle")
    os.mknod(source / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    os.chown(source / "bin", 7, 8)
    os.utime(source / "bin", (5, 5))
    first, second = copied(source, layer), copied(source, tmp_path / "again")
    assert first == second
    assert (layer / "bin" / "tool").stat().st_nlink == 2
    assert stat.S_IMODE((layer / "bin" / "twin").stat().st_mode) == 0o4755
    assert os.getxattr(layer / "bin" / "tool", "user.note") == b"hello"
    assert not is_opaque(layer / "bin")
    assert ((layer / "bin").stat().st_uid, (layer / "bin").stat().st_mtime) == (7, 5)
    assert (layer / "bin" / ".wh.kept").read_text() == "no whiteout here"
    assert (layer / "out").readlink() == Path("/etc")
    assert (layer / "sparse").stat().st_blocks < 1000
    with (layer / "sparse").open("rb") as file:
        file.seek(1 << 29)
        assert file.read(6) == b"middle"
    assert not (layer / "null").exists()
    (source / "bin" / "tool").write_text("Tool")
    assert copied(source, tmp_path / "other") != first


def copied(source: Path, to: Path) -> str:
    """Its digest."""
    to.mkdir(exist_ok=True)
    root = os.open(source, os.O_RDONLY)
    try:
        found = DirectoryEntries(root)
        unpack(found, to, lambda _: None)
        return found.digest
    finally:
        os.close(root)
