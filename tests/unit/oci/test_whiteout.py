"""Odd names that speak of the layers below."""

import pytest

from mooring.oci.entry import EntryType, LayerEntry
from mooring.oci.refused import ImageRefused
from mooring.oci.whiteout import read_as_layer

READ = {
    "a file": ("a/b", ("a/b", EntryType.FILE)),
    "a whiteout": ("a/.wh.b", ("a/b", EntryType.WHITEOUT)),
    "a whiteout at the root": (".wh.b", ("b", EntryType.WHITEOUT)),
    "a whiteout of a hidden file": (".wh..b", (".b", EntryType.WHITEOUT)),
    "an opaque directory": ("a/.wh..wh..opq", ("a", EntryType.OPAQUE)),
    "an opaque root": (".wh..wh..opq", ("", EntryType.OPAQUE)),
    "a name with .wh. in the middle": ("a.wh.b", ("a.wh.b", EntryType.FILE)),
    "a file in an oddly named directory": (".wh.d/x", (".wh.d/x", EntryType.FILE)),
    "what AUFS kept for itself": (".wh..wh.plnk", None),
}


@pytest.mark.parametrize(("name", "read"), READ.values(), ids=READ)
def test_read(name: str, read: tuple[str, EntryType] | None) -> None:
    entries = read_as_layer([LayerEntry(tuple(name.split("/")), EntryType.FILE)])
    assert [("/".join(entry.parts), entry.kind) for entry in entries] == ([read] if read else [])


def test_the_root_itself() -> None:
    assert [entry.kind for entry in read_as_layer([LayerEntry((), EntryType.DIRECTORY)])] == [
        EntryType.DIRECTORY
    ]


@pytest.mark.parametrize("name", [".wh.", ".wh..", ".wh..."])
def test_nothing_that_has_a_name(name: str) -> None:
    with pytest.raises(ImageRefused, match="hides nothing"):
        list(read_as_layer([LayerEntry(("a", name), EntryType.FILE)]))
