"""Memory as a disk for images, so that nobody waits for the real one; and a small one at that."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from mooring.oci.store import ImageStore
from tests.fakes.image_archives import digest

WriteImage = Callable[[bytes], Path]


@pytest.fixture
def memory_disk(place: Path) -> Path:
    path = place / "disk"
    path.mkdir()
    argv = ("mount", "-t", "tmpfs", "-o", "size=16m,mode=755", "disk", str(path))
    subprocess.run(argv, check=True, capture_output=True)  # noqa: S603  a test's own words
    return path


@pytest.fixture
def image_root(memory_disk: Path) -> Path:
    return memory_disk / "node" / "images"


@pytest.fixture
def image_store(image_root: Path) -> ImageStore:
    return ImageStore(image_root, image_root.parent / "containers")


@pytest.fixture
def written_image(memory_disk: Path) -> WriteImage:
    """Puts a source for an import on the disk."""

    def write(data: bytes) -> Path:
        path = memory_disk / f"source-{digest(data)[7:19]}"
        path.write_bytes(data)
        return path

    return write


def left_in(root: Path) -> tuple[set[str], set[str]]:
    """Layers, and rubbish."""
    layers = {path.name for path in (root / "layers").iterdir()}
    return layers, {path.name for path in (root / "tmp").iterdir()}


def said(_: str) -> None:
    """Lines of progress that nobody listens to."""
