"""The mount table: what the kernel prints, and what it means."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.errors import HostError
from mooring.host.mountinfo import MountEntry, MountTable, parse, read_table, split_options

ROOT = "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard"


def table(*lines: str) -> MountTable:
    return parse("".join(f"{line}\n" for line in (ROOT, *lines)).encode())


def test_every_field_of_a_line() -> None:
    line = (
        r"36 27 98:0 /mnt1 /mnt\0402 ro,noatime master:1 propagate_from:2 - "
        'ext3 /dev/root rw,errors=continue,context="a:b,c"'
    )
    assert table(line).entries[-1] == MountEntry(
        id=36,
        parent=27,
        device=(98, 0),
        root="/mnt1",
        at="/mnt 2",
        options=("ro", "noatime"),
        tags=("master:1", "propagate_from:2"),
        fs_type="ext3",
        source="/dev/root",
        super_options=("rw", "errors=continue", 'context="a:b,c"'),
    )


def test_shared_and_read_only_are_told_by_the_entry() -> None:
    top, lower = table("36 27 98:0 / /a ro - ext3 /dev/b rw").entries
    assert (top.is_shared, top.is_read_only) == (True, False)
    assert (lower.is_shared, lower.is_read_only) == (False, True)


ODD = {
    "no source at all": ("36 27 0:39 / /a rw - tmpfs  rw", "", ("rw",)),
    "blanks in the options of a driver": ("36 27 0:39 / /a rw - x y a b", "y", ("a b",)),
    "a hash sign": (r"36 27 0:39 / /a rw - tmpfs \043x rw", "#x", ("rw",)),
}


@pytest.mark.parametrize(("line", "source", "super_options"), ODD.values(), ids=ODD)
def test_odd_lines(line: str, source: str, super_options: tuple[str, ...]) -> None:
    entry = table(line).entries[-1]
    assert (entry.source, entry.super_options) == (source, super_options)


BAD = {
    "too short": "36 27 98:0 / /a rw",
    "no separator": "36 27 98:0 / /a rw shared:1 ext4 /dev/b rw",
    "no number": "x 27 98:0 / /a rw - ext4 /dev/b rw",
    "no device number": "36 27 98 / /a rw - ext4 /dev/b rw",
    "a secret is not told": "36 27 98:0 / /a rw - cifs password=hunter2",
}


@pytest.mark.parametrize("line", BAD.values(), ids=BAD)
def test_a_line_that_is_none(line: str) -> None:
    with pytest.raises(HostError, match="a line that describes no mount") as error:
        table(line)
    assert "hunter2" not in str(error.value)


NAMES = st.binary(min_size=1).filter(lambda name: not set(b"\0/") & set(name) and name != b".")


@given(NAMES)
def test_any_name_survives_the_way_through_the_table(name: bytes) -> None:
    escaped = name
    for char in b"\\ \t\n":  # the backslash first
        escaped = escaped.replace(bytes([char]), b"\\%03o" % char)
    parsed = parse(b"36 27 98:0 / /d/%s rw - ext4 /dev/b rw\n" % escaped)
    assert bytes(parsed.entries[0].mount_point) == b"/d/" + name


OPTIONS = {
    "plain": ("rw,size=1", ("rw", "size=1")),
    "a comma in quotes": ('context="a,b",rw', ('context="a,b"', "rw")),
    "an open quote takes the rest": ('a="b,c', ('a="b,c',)),
    "empty ones are dropped": (",rw,,ro,", ("rw", "ro")),
    "none": ("", ()),
}


@pytest.mark.parametrize(("text", "options"), OPTIONS.values(), ids=OPTIONS)
def test_splitting_options(text: str, options: tuple[str, ...]) -> None:
    assert split_options(text) == options


COVERING = {
    "the root covers all": ((), "/any", 27),
    "the mount itself": (("30 27 0:1 / /a rw - t s rw",), "/a", 30),
    "a path below": (("30 27 0:1 / /a rw - t s rw",), "/a/b", 30),
    "a name that only begins alike": (("30 27 0:1 / /a rw - t s rw",), "/ab", 27),
    "the inner of two": (
        ("30 27 0:1 / /a rw - t s rw", "31 30 0:2 / /a/b rw - t s rw"),
        "/a/b/c",
        31,
    ),
    "the upper of two at one place": (
        ("30 27 0:1 / /a rw - t s rw", "31 30 0:2 / /a rw - t s rw"),
        "/a",
        31,
    ),
    "a mount hidden by a later one above it": (
        ("30 27 0:1 / /a/b rw - t s rw", "31 27 0:2 / /a rw - t s rw"),
        "/a/b",
        31,
    ),
    "an older mount, moved into a newer": (
        ("30 31 0:1 / /y/z rw - t s rw", "31 27 0:2 / /y rw - t s rw"),
        "/y/z/file",
        30,
    ),
}


@pytest.mark.parametrize(("lines", "path", "mount"), COVERING.values(), ids=COVERING)
def test_the_mount_a_path_lies_on(lines: tuple[str, ...], path: str, mount: int) -> None:
    entry = table(*lines).covering(Path(path))
    assert entry is not None
    assert entry.id == mount


def test_finding_is_exact() -> None:
    mounts = table("30 27 0:1 / /a rw - t s rw")
    assert mounts.find(Path("/a")) == mounts.entries[-1]
    assert mounts.find(Path("/a/b")) is None
    assert mounts.find(Path("/b")) is None


def test_without_a_root_there_may_be_nothing() -> None:
    mounts = parse(b"30 27 0:1 / /a rw - t s rw\n")
    assert mounts.covering(Path("/b")) is None
    assert mounts.references(Path("/b")) == ()


REFERENCES = {
    "nothing refers to it": ((), "/srv/data", ()),
    "a bind of a plain directory": (
        ("30 27 254:0 /srv/data /pods/1 rw - ext4 /dev/vda rw",),
        "/srv/data",
        ("/pods/1",),
    ),
    "from the bind to the others, not to the directory": (
        (
            "30 27 254:0 /srv/data /pods/1 rw - ext4 /dev/vda rw",
            "31 27 254:0 /srv/data /pods/2 rw - ext4 /dev/vda rw",
        ),
        "/pods/1",
        ("/pods/2",),
    ),
    "a device mount and its binds": (
        (
            "30 27 7:0 / /global rw - ext4 /dev/loop0 rw",
            "31 27 7:0 / /pods/1 rw - ext4 /dev/loop0 rw",
            "32 27 7:0 /sub /pods/2 rw - ext4 /dev/loop0 rw",
        ),
        "/global",
        ("/pods/1",),
    ),
    "a directory inside a device mount": (
        (
            "30 27 7:0 / /global rw - ext4 /dev/loop0 rw",
            "31 27 7:0 /sub /pods/1 rw - ext4 /dev/loop0 rw",
        ),
        "/global/sub",
        ("/pods/1",),
    ),
    "the same directory of another device": (
        (
            "30 27 7:0 / /global rw - ext4 /dev/loop0 rw",
            "31 27 7:1 / /pods/1 rw - ext4 /dev/loop1 rw",
        ),
        "/global",
        (),
    ),
    "a removed directory is not the new one of its name": (
        ("30 27 254:0 /srv/data//deleted /pods/1 rw - ext4 /dev/vda rw",),
        "/srv/data",
        (),
    ),
    "binds of one removed directory still refer to each other": (
        (
            "30 27 254:0 /srv/data//deleted /pods/1 rw - ext4 /dev/vda rw",
            "31 27 254:0 /srv/data//deleted /pods/2 rw - ext4 /dev/vda rw",
        ),
        "/pods/1",
        ("/pods/2",),
    ),
}


@pytest.mark.parametrize(("lines", "path", "paths"), REFERENCES.values(), ids=REFERENCES)
def test_references(lines: tuple[str, ...], path: str, paths: tuple[str, ...]) -> None:
    assert tuple(map(str, table(*lines).references(Path(path)))) == paths


def test_what_is_mounted_below() -> None:
    mounts = table(
        "30 27 0:1 / /a rw - t s rw", "31 30 0:2 / /a/b rw - t s rw", "32 27 0:3 / /ab rw - t s rw"
    )
    assert [entry.id for entry in mounts.below(Path("/a"))] == [30, 31]


def test_reading_where_there_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="cannot read the mount table"):
        read_table(tmp_path / "mountinfo")


def test_our_own_table_can_be_read() -> None:
    assert read_table().covering(Path("/proc/self")) is not None
