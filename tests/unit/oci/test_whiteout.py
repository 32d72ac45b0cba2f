"""Odd names that speak of the layers below."""

import pytest

from mooring.oci.entry import Entry, Kind
from mooring.oci.refused import ImageRefused
from mooring.oci.whiteout import read_as_layer

READ = {
    "a file": ("a/b", ("a/b", Kind.FILE)),
    "a whiteout": ("a/.wh.b", ("a/b", Kind.WHITEOUT)),
    "a whiteout at the root": (".wh.b", ("b", Kind.WHITEOUT)),
    "a whiteout of a hidden file": (".wh..b", (".b", Kind.WHITEOUT)),
    "an opaque directory": ("a/.wh..wh..opq", ("a", Kind.OPAQUE)),
    "an opaque root": (".wh..wh..opq", ("", Kind.OPAQUE)),
    "a name with .wh. in the middle": ("a.wh.b", ("a.wh.b", Kind.FILE)),
    "a file in an oddly named directory": (".wh.d/x", (".wh.d/x", Kind.FILE)),
    "what AUFS kept for itself": (".wh..wh.plnk", None),
}


@pytest.mark.parametrize(("name", "read"), READ.values(), ids=READ)
def test_read(name: str, read: tuple[str, Kind] | None) -> None:
    entries = read_as_layer([Entry(tuple(name.split("/")), Kind.FILE)])
    assert [("/".join(entry.parts), entry.kind) for entry in entries] == ([read] if read else [])


def test_the_root_itself() -> None:
    assert [entry.kind for entry in read_as_layer([Entry((), Kind.DIRECTORY)])] == [Kind.DIRECTORY]


@pytest.mark.parametrize("name", [".wh.", ".wh..", ".wh..."])
def test_nothing_that_has_a_name(name: str) -> None:
    with pytest.raises(ImageRefused, match="hides nothing"):
        list(read_as_layer([Entry(("a", name), Kind.FILE)]))
