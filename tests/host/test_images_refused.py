"""Images that are not taken: the store is as it was before, and one line says why."""

import gzip
import os
from pathlib import Path

import pytest

from mooring.oci.refused import ImageRefused
from mooring.oci.store import ImageStore
from tests.fakes.image_archives import (
    a_configuration,
    a_file,
    a_tar,
    as_directory,
    as_tar,
    blob_path,
    digest,
    docker_files,
    oci_files,
)
from tests.host.image_disk import WriteImage, left_in, said

BASE = a_tar(a_file("etc/gone", "below"))
TOP = a_tar(a_file("etc/.wh.gone"), a_file("etc/new", "above"))
LAYERS = (BASE, TOP)
OCI, DOCKER = oci_files(LAYERS), docker_files(LAYERS)


def damaged(files: dict[str, bytes], path: str, data: bytes) -> bytes:
    assert path in files
    return as_tar(files | {path: data})


GZIPPED = gzip.compress(TOP, 1, mtime=0)
OTHER_GZIPPED = GZIPPED[:9] + b"\x07" + GZIPPED[10:]  # the same, packed on another system
REFUSED = {
    "a layer that is not what its configuration says": (
        as_tar(docker_files(LAYERS, a_configuration((BASE, TOP + b"x")))), "a layer is sha256",
    ),
    "a blob that is not what its manifest says": (
        damaged(OCI, blob_path(GZIPPED), OTHER_GZIPPED), f"instead of {digest(GZIPPED)}",
    ),
    "a blob of another size": (
        damaged(OCI, blob_path(GZIPPED), GZIPPED + b"x"), "bytes instead of",
    ),
    "a blob with something after it": (
        as_tar(oci_files(LAYERS, stored=(BASE, GZIPPED + b"\0" + GZIPPED))), "a layer is sha256",
    ),
    "a missing layer": (
        as_tar({name: data for name, data in OCI.items() if name != blob_path(GZIPPED)}),
        "is missing in it",
    ),
    "a configuration that is not what its manifest says": (
        damaged(OCI, blob_path(a_configuration(LAYERS)), a_configuration((BASE,))),
        "not what its name says",
    ),
    "a docker archive without its configuration": (
        as_tar({"manifest.json": b'[{"Config":"../etc/shadow","Layers":[]}]'}), "is missing in it",
    ),
    "a layer that is no archive": (as_tar(docker_files([b"x" * 600])), "no tar archive"),
    "a hostile second layer": (
        as_tar(docker_files([BASE, a_tar(a_file("../../evil"))])), "leads out of its root",
    ),
    "no layers": (as_tar(docker_files([])), "no layers"),
    "no archive": (b"hello", "ends in the middle"),
    "a cut archive": (as_tar(DOCKER)[:3000], "ends in the middle"),
    "a cut compressed archive": (gzip.compress(as_tar(DOCKER))[:300], "ends in the middle"),
    "two images, and none of this name": (
        as_tar(DOCKER | {"manifest.json": b'[{"Config":"a","RepoTags":["a:1"],"Layers":[]},'
                         b'{"Config":"b","RepoTags":["b:1"],"Layers":[]}]'}), "a:1, b:1",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("source", "why"), REFUSED.values(), ids=REFUSED)
def test_refused_and_the_store_is_as_before(
    image_store: ImageStore, image_root: Path, written_image: WriteImage, source: bytes, why: str
) -> None:
    before = image_store.import_image("x", written_image(a_tar(a_file("f"))), said)
    path = written_image(source)
    with pytest.raises(ImageRefused, match=f"cannot import {path}: .*({why})") as refused:
        image_store.import_image("x", path, said)
    assert "\n" not in str(refused.value)
    assert list(image_store.list()) == [before]
    assert left_in(image_root) == ({before.layers[0].name}, set())


def test_a_source_that_is_none(
    image_store: ImageStore, memory_disk: Path, image_root: Path
) -> None:
    os.mkfifo(memory_disk / "fifo")
    with pytest.raises(ImageRefused, match="neither a file nor a directory"):
        image_store.import_image("x", memory_disk / "fifo", said)
    with pytest.raises(ImageRefused, match="no such file or directory"):
        image_store.import_image("x", memory_disk / "none", said)
    with pytest.raises(ImageRefused, match=f"are inside of it, in {image_root}"):
        image_store.import_image("x", memory_disk, said)
    with pytest.raises(ImageRefused, match="lower case"):
        image_store.import_image("X", memory_disk, said)


def test_a_layout_whose_blobs_lead_elsewhere(image_store: ImageStore, memory_disk: Path) -> None:
    layout = as_directory(OCI, memory_disk / "layout")
    blob = layout / blob_path(GZIPPED)
    blob.rename(memory_disk / "elsewhere")
    blob.symlink_to(memory_disk / "elsewhere")
    with pytest.raises(ImageRefused, match="is missing in it"):
        image_store.import_image("x", layout, said)
