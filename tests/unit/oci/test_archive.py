"""Files by name, out of a directory or a tar: nothing outside is ever found."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.oci.archive import (
    MOST_DOCUMENT,
    Blob,
    DirectoryFiles,
    Files,
    TarFiles,
    find_file,
    get_document,
)
from mooring.oci.refused import ImageRefused
from tests.fakes.image_archives import a_directory, a_file, a_link, a_tar

LINKS = {
    "link": "d/file",
    "d/back": "../file",
    "chain": "link",
    "hard": "file",
    "rooted": "/d/file",
    "circle": "circle",
    "out": "../secret",
    "far": "/etc/passwd",
    "dangling": "none",
}


@pytest.fixture(params=["directory", "tar"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Files]:
    (tmp_path / "secret").write_text("secret")
    root = tmp_path / "root"
    if request.param == "directory":
        (root / "d").mkdir(parents=True)
        (root / "file").write_text("one")
        (root / "d" / "file").write_text("two")
        for name, target in LINKS.items():
            (root / name).symlink_to(target)
        (root / "above").symlink_to("..")
        os.mkfifo(root / "fifo")
        descriptor = os.open(root, os.O_RDONLY)
        yield DirectoryFiles(descriptor)
    else:
        links = [a_link(name, target) for name, target in LINKS.items()]
        root.write_bytes(
            a_tar(a_file("./file", "one"), a_directory("d/"), a_file("d/file", "two"), *links)
        )
        descriptor = os.open(root, os.O_RDONLY)
        yield TarFiles(descriptor)
    os.close(descriptor)


FOUND = {
    "a file": ("file", "one"),
    "a file in a folder": ("d/file", "two"),
    "a name that is written oddly": ("./d/..//d/./file", "two"),
    "a name that begins with a slash": ("//file", "one"),
    "a name that would lead out": ("../../file", "one"),
    "through a link": ("link", "two"),
    "through a link out of a folder": ("d/back", "one"),
    "through two links": ("chain", "two"),
    "through a link that begins with a slash": ("rooted", "two"),
    "no folder": ("d", None),
    "nothing": ("none", None),
    "nothing in what is no folder": ("file/x", None),
    "no end of a circle": ("circle", None),
    "nothing outside": ("out", None),
    "nothing of the machine": ("far", None),
    "nothing above": ("../secret", None),
    "nothing through a folder that is a link": ("above/secret", None),
    "no fifo": ("fifo", None),
    "nothing of a link that leads nowhere": ("dangling", None),
}


@pytest.mark.parametrize(("name", "content"), FOUND.values(), ids=FOUND)
def test_found(files: Files, name: str, content: str | None) -> None:
    found = find_file(files, name)
    assert (b"".join(found.chunks()).decode() if found else None) == content


def test_documents_are_small() -> None:
    class Large:
        def find(self, name: str) -> Blob | str | None:
            return Blob(lambda: -1, 0, MOST_DOCUMENT + 1)

    with pytest.raises(ImageRefused, match="too many for a document"):
        get_document(Large(), "x")


def test_a_missing_document_is_named(files: Files) -> None:
    with pytest.raises(ImageRefused, match="none is missing in it"):
        get_document(files, "none")
