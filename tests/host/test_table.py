"""The mount table of this kernel, with names as odd as they get."""

import os
from pathlib import Path

import pytest

from mooring.host.mount import Mounts

NAMES = {
    "a blank": b"a b",
    "a blank at the end": b"a ",
    "a newline": b"a\nb",
    "a tab": b"a\tb",
    "a carriage return": b"a\rb",
    "a backslash and digits": b"a\\040b",
    "a hash": b"#a",
    "like a separator": b"a - b",
    "commas and quotes": b'a,"b',
    "other letters": "häfen⚓".encode(),
    "no letters at all": b"\xff\xfe",
    "like a removed one": b"a (deleted)",
    "like a removed one, in the table": b"a//deleted".replace(b"/", b"_"),
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_name(mounts: Mounts, place: Path, name: bytes) -> None:
    source, target = (place / f"{kind}-{os.fsdecode(name)}" for kind in ("source", "target"))
    source.mkdir()
    target.mkdir()
    mounts.bind(source, target)
    entry = mounts.table().find(target)
    assert entry is not None
    assert entry.mount_point == target
    assert mounts.table().references(source) == (target,)
    mounts.unmount(target)
    assert mounts.table().find(target) is None


def test_a_mount_without_a_source_name(mounts: Mounts, target: Path) -> None:
    mounts.mount("", target, "tmpfs")
    entry = mounts.table().find(target)
    assert entry is not None
    assert (entry.source, entry.fs_type) == ("", "tmpfs")


def test_the_source_of_a_bind_was_removed(mounts: Mounts, place: Path, target: Path) -> None:
    source = place / "source"
    source.mkdir()
    mounts.bind(source, target)
    source.rmdir()
    source.mkdir()
    table = mounts.table()
    assert table.references(source) == ()
    entry = table.find(target)
    assert entry is not None
    assert entry.root.endswith("/source//deleted")
    mounts.unmount(target)
    assert not mounts.is_mount_point(target)


def test_references_across_mounts(mounts: Mounts, place: Path, target: Path) -> None:
    others = [place / name for name in ("one", "two")]
    mounts.mount("tmpfs", target, "tmpfs")
    (target / "inner").mkdir()
    for other in others:
        other.mkdir()
    mounts.bind(target, others[0])
    mounts.bind(target / "inner", others[1])
    table = mounts.table()
    assert table.references(target) == (others[0],)
    assert table.references(others[0]) == (target,)
    assert table.references(target / "inner") == (others[1],)
    assert table.references(others[0] / "inner") == (others[1],)
