"""The archive of images is the same for the same files, and Mooring's own importer reads it."""

from pathlib import Path

import pytest

from mooring.oci.reference import parse
from mooring.oci.source import Wish, opened
from release.archive import Entry, directory, link
from release.image import Image, write_archive
from release.root import ARCHITECTURES, USER, Architecture, Root

EPOCH = 1_700_000_000


def a_root(architecture: Architecture) -> Root:
    system = (directory("usr"), Entry("usr/hello", b"hello", 0o755), link("lib", "usr/lib"))
    return Root(architecture, system, (Entry("lib.py"),), (Entry("own.py", b"1"),), (), ())


def written(file: Path) -> bytes:
    images = [Image(a_root(architecture), "1.2.3", EPOCH) for architecture in ARCHITECTURES]
    write_archive(images, file, "1.2.3", EPOCH)
    return file.read_bytes()


def test_the_same_files_make_the_same_archive(tmp_path: Path) -> None:
    assert written(tmp_path / "one.tar") == written(tmp_path / "two.tar")


@pytest.mark.parametrize("architecture", ["amd64", "arm64"])
def test_the_importer_finds_the_image_of_its_architecture(
    tmp_path: Path, architecture: str
) -> None:
    written(tmp_path / "mooring.tar")
    wish = Wish(parse("mooring:1.2.3"), architecture, tmp_path / "scratch", lambda _: None)
    with opened(tmp_path / "mooring.tar", wish) as found:
        assert len(found.layers) == 3
        config = found.configuration.to_run()
        assert config.entrypoint == ("mooring",)
        assert config.user == f"{USER}:{USER}"
