"""The image store on a real file system: every kind of source, and what overlay makes of it."""

import fcntl
import gzip
import json
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.host.mount import Mounts
from mooring.oci import index as index_file
from mooring.oci.contract import StoredImage
from mooring.oci.index import Index
from mooring.oci.refused import ImageRefused
from mooring.oci.store import ImageStore
from tests.fakes.image_archives import (
    Member,
    a_configuration,
    a_directory,
    a_file,
    a_link,
    a_tar,
    as_directory,
    as_tar,
    blob_path,
    described,
    digest,
    docker_files,
    manifest_digest,
    oci_files,
)
from tests.host.image_disk import WriteImage, left_in, said

BASE = a_tar(
    a_directory("./", 0o755),
    a_directory("etc/"),
    a_file("etc/gone", "below"),
    a_file("etc/kept", "below"),
    a_directory("opt/"),
    a_file("opt/hidden", "below"),
    a_directory("srv/"),
    a_file("srv/hidden", "below"),
)
TOP = a_tar(
    a_file("etc/.wh.gone"),
    a_file("etc/new", "above", uid=1000),
    a_file("opt/.wh..wh..opq"),
    a_file("opt/own", "above"),
    a_file(".wh.srv"),
)
SEEN = {"etc/kept": "below", "etc/new": "above", "opt/own": "above"}
LAYERS = (BASE, TOP)


def _run(*argv: str) -> None:
    subprocess.run(argv, check=True, capture_output=True)  # noqa: S603  a test's own words


def files_of(image: StoredImage, memory_disk: Path, mounts: Mounts) -> dict[str, str]:
    """What a container would see."""
    for name in ("upper", "work", "merged"):
        (memory_disk / name).mkdir()
    lower = ":".join(map(str, image.layers))
    options = (f"lowerdir={lower}", f"upperdir={memory_disk}/upper", f"workdir={memory_disk}/work")
    merged = memory_disk / "merged"
    mounts.mount("overlay", merged, "overlay", options)
    try:
        return {
            str(path.relative_to(merged)): path.read_text()
            for path in merged.rglob("*")
            if path.is_file()
        }
    finally:
        mounts.unmount(merged)


def digits(layer: bytes) -> str:
    return digest(layer)[7:]


def legacy_docker() -> bytes:
    """An archive as docker wrote it, where a layer that comes twice is a link the second time."""
    layers = (BASE, TOP, BASE)
    configuration = a_configuration(layers)
    names = ["one/layer.tar", "two/layer.tar", "three/layer.tar"]
    saved = {"Config": "config.json", "RepoTags": ["x:latest"], "Layers": names}
    return a_tar(
        Member("config.json", data=configuration),
        a_directory("one/"),
        Member("one/layer.tar", data=BASE),
        Member("two/layer.tar", data=TOP),
        a_link("three/layer.tar", "../one/layer.tar"),
        Member("manifest.json", data=json.dumps([saved]).encode()),
    )


OCI, DOCKER = oci_files(LAYERS), docker_files(LAYERS)
IMAGES: dict[str, tuple[object, str]] = {
    "an OCI layout, a directory": (OCI, "OCI layout, 2 layers"),
    "an OCI layout in a tar": (as_tar(OCI), "OCI layout, 2 layers"),
    "an OCI layout in a compressed tar": (gzip.compress(as_tar(OCI)), "OCI layout, 2 layers"),
    "an OCI layout with plain layers": (
        as_tar(oci_files(LAYERS, stored=LAYERS)),
        "OCI layout, 2 layers",
    ),
    "what docker saves": (as_tar(DOCKER), "docker archive, 2 layers"),
    "what docker saves, compressed": (gzip.compress(as_tar(DOCKER)), "docker archive, 2 layers"),
    "what docker saves, unpacked": (DOCKER, "docker archive, 2 layers"),
    "what docker saves today: both in one": (as_tar(DOCKER | OCI), "OCI layout, 2 layers"),
}


@pytest.mark.parametrize(("source", "recognised"), IMAGES.values(), ids=IMAGES)
def test_an_image_is_recognised_and_its_layers_are_stacked(
    image_store: ImageStore, memory_disk: Path, mounts: Mounts, source: object, recognised: str
) -> None:
    lines: list[str] = []
    path = memory_disk / "source"
    if isinstance(source, bytes):
        path.write_bytes(source)
    else:
        assert isinstance(source, dict)
        as_directory(source, path)
    image = image_store.import_image("x", path, lines.append)
    assert lines[0] == recognised
    assert image.id == digest(a_configuration(LAYERS))
    assert image.names == ("docker.io/library/x:latest",)
    assert image.config.command == ("/bin/sh",)
    assert image_store.find("x") == image
    assert list(image_store.list()) == [image]
    assert files_of(image, memory_disk, mounts) == SEEN
    assert left_in(memory_disk / "node" / "images") == ({digits(BASE), digits(TOP)}, set())


def test_a_layer_that_comes_twice_is_stacked_once(
    image_store: ImageStore, memory_disk: Path, mounts: Mounts, written_image: WriteImage
) -> None:
    image = image_store.import_image("x", written_image(legacy_docker()), said)
    assert [layer.name for layer in image.layers] == [digits(BASE), digits(TOP)]
    assert files_of(image, memory_disk, mounts)["etc/gone"] == "below"


def test_nothing_is_seen_below_an_opaque_root(
    image_store: ImageStore, memory_disk: Path, mounts: Mounts, written_image: WriteImage
) -> None:
    layers = (BASE, a_tar(a_file(".wh..wh..opq"), a_file("only", "this")))
    image = image_store.import_image("x", written_image(as_tar(docker_files(layers))), said)
    assert files_of(image, memory_disk, mounts) == {"only": "this"}


ROOTS = {
    "a directory": None,
    "a tar": a_tar(a_directory("./"), a_file("./bin/tool", "tool"), a_file("manifest.json", "{}")),
    "a compressed tar": gzip.compress(a_tar(a_file("bin/tool", "tool"), a_file("index.json"))),
}


@pytest.mark.parametrize("archive", ROOTS.values(), ids=ROOTS)
def test_a_root_file_system(
    image_store: ImageStore, memory_disk: Path, mounts: Mounts, archive: bytes | None
) -> None:
    source = memory_disk / "source"
    if archive is None:
        as_directory({"bin/tool": b"tool"}, source)
    else:
        source.write_bytes(archive)
    lines: list[str] = []
    image = image_store.import_image("x", source, lines.append)
    assert "root file system, 1 layer" in lines
    assert image.id == f"sha256:{image.layers[0].name}"
    assert image.layers[0].stat().st_mode & 0o777 == 0o755
    assert files_of(image, memory_disk, mounts)["bin/tool"] == "tool"
    assert image_store.import_image("x", source, said) == image
    assert image_store.import_image("y", source, said).id == image.id
    assert left_in(memory_disk / "node" / "images") == ({image.layers[0].name}, set())


def test_layers_are_shared_and_go_with_their_last_image(
    image_store: ImageStore, image_root: Path, written_image: WriteImage
) -> None:
    lines: list[str] = []
    image_store.import_image("both", written_image(as_tar(DOCKER)), said)
    image_store.import_image("base", written_image(as_tar(oci_files([BASE]))), lines.append)
    assert "layer 1: there already" in lines
    assert image_store.remove("both").names == ("docker.io/library/both:latest",)
    assert left_in(image_root) == ({digits(BASE)}, set())
    assert image_store.find("both") is None
    assert image_store.find("base") is not None
    image_store.remove("base")
    assert left_in(image_root) == (set(), set())


def test_names_come_and_go_one_by_one_or_all_by_id(
    image_store: ImageStore, written_image: WriteImage
) -> None:
    source = written_image(as_tar(DOCKER))
    image = image_store.import_image("one", source, said)
    image_store.import_image("quay.io/two:v1", source, said)
    assert image_store.remove("one").is_in_use is False
    found = image_store.find(image.id)
    assert found is not None
    assert found.names == ("quay.io/two:v1",)
    image_store.import_image("one", source, said)
    assert len(image_store.remove(image.id[7:19]).names) == 2
    assert list(image_store.list()) == []
    with pytest.raises(ImageRefused, match="cannot remove one: there is no such image"):
        image_store.remove("one")


def test_a_name_that_moves_takes_the_old_image_with_it(
    image_store: ImageStore, image_root: Path, written_image: WriteImage
) -> None:
    image_store.import_image("x", written_image(as_tar(DOCKER)), said)
    image_store.import_image("x", written_image(a_tar(a_file("f"))), said)
    assert len(image_store.list()) == 1
    assert len(left_in(image_root)[0]) == 1


def test_an_image_in_use_stays_until_it_is_not(
    image_store: ImageStore,
    memory_disk: Path,
    image_root: Path,
    mounts: Mounts,
    written_image: WriteImage,
) -> None:
    """A bind is how an image of one layer is mounted as a volume."""
    image = image_store.import_image("x", written_image(a_tar(a_file("f", "text"))), said)
    (memory_disk / "volume").mkdir()
    mounts.bind(image.layers[0], memory_disk / "volume", ("ro",))
    assert image_store.remove("x").is_in_use is True
    assert image_store.find("x") is None
    assert (memory_disk / "volume" / "f").read_text() == "text"
    assert [found.names for found in image_store.list()] == [()]
    mounts.unmount(memory_disk / "volume")
    image_store.import_image("y", written_image(a_tar(a_file("g"))), said)
    assert [found.names for found in image_store.list()] == [("docker.io/library/y:latest",)]
    assert image.layers[0].name not in left_in(image_root)[0]


def test_by_the_digest_of_its_manifest(image_store: ImageStore, written_image: WriteImage) -> None:
    source, manifest = written_image(as_tar(OCI)), manifest_digest(OCI)
    image = image_store.import_image(f"quay.io/x@{manifest}", source, said)
    assert image.names == (f"quay.io/x@{manifest}",)
    assert image_store.find(f"quay.io/x:any@{manifest}") == image
    other = digest(b"other")
    with pytest.raises(ImageRefused, match=f"it is not {other}, but {manifest}"):
        image_store.import_image(f"quay.io/x@{other}", source, said)
    with pytest.raises(ImageRefused, match="docker archive, which has no digest"):
        image_store.import_image(f"quay.io/x@{manifest}", written_image(as_tar(DOCKER)), said)


def test_an_image_for_several_machines_is_known_by_both_digests(
    image_store: ImageStore, written_image: WriteImage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    inner = json.loads(OCI["index.json"])["manifests"][0]
    arm = inner | {"platform": {"os": "linux", "architecture": "arm64"}}
    other = inner | {"digest": digest(b"?"), "platform": {"os": "linux", "architecture": "amd64"}}
    index = json.dumps({"manifests": [other, arm]}).encode()
    files = OCI | {
        blob_path(index): index,
        "index.json": json.dumps({"manifests": [described(index)]}).encode(),
    }
    lines: list[str] = []
    image = image_store.import_image("x", written_image(as_tar(files)), lines.append)
    assert image_store.find(f"x@{digest(index)}") == image
    assert image_store.find(f"x@{inner['digest']}") == image
    assert lines[0].endswith("for amd64: it may not run on this machine, which is arm64")


def test_a_full_disk_leaves_no_half_image(
    image_store: ImageStore, memory_disk: Path, written_image: WriteImage
) -> None:
    kept = image_store.import_image("kept", written_image(a_tar(a_file("f", "x"))), said)
    huge = gzip.compress(a_tar(Member("zeros", data=bytes(40 << 20))), 1)
    with pytest.raises(ImageRefused, match="cannot unpack zeros: no space left on device"):
        image_store.import_image("bomb", written_image(huge), said)
    assert list(image_store.list()) == [kept]
    free = os.statvfs(memory_disk)
    assert free.f_bavail * free.f_bsize > 14 << 20


def test_imports_wait_for_each_other(
    image_store: ImageStore, image_root: Path, written_image: WriteImage
) -> None:
    source = written_image(as_tar(DOCKER))
    image_store.import_image("first", source, said)
    held = os.open(image_root / "lock", os.O_RDWR)
    fcntl.flock(held, fcntl.LOCK_EX)
    waits = threading.Event()
    lines: list[str] = []

    def say(line: str) -> None:
        lines.append(line)
        waits.set()

    thread = threading.Thread(target=image_store.import_image, args=("second", source, say))
    thread.start()
    try:
        assert waits.wait(10)
        assert "waiting" in lines[0]
        assert image_store.find("second") is None
    finally:
        os.close(held)
        thread.join(30)
    assert image_store.find("second") is not None


def test_a_reader_elsewhere_sees_it_at_once_and_reads_only_when_it_changed(
    image_store: ImageStore,
    image_root: Path,
    written_image: WriteImage,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reader = ImageStore(image_root)
    assert reader.find("x") is None
    reads: list[Path] = []
    read = index_file.read

    def counted(path: Path) -> Index:
        reads.append(path)
        return read(path)

    monkeypatch.setattr(index_file, "read", counted)
    image_store.import_image("x", written_image(as_tar(DOCKER)), said)
    reads.clear()
    for _ in range(5):
        assert reader.find("x") is not None
    assert len(reads) == 1


def test_without_root_it_says_so(
    image_store: ImageStore, memory_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(ImageRefused, match="needs root"):
        image_store.import_image("x", memory_disk, said)


def test_directories_on_the_way_are_private(
    image_store: ImageStore, memory_disk: Path, written_image: WriteImage
) -> None:
    image_store.import_image("x", written_image(as_tar(DOCKER)), said)
    assert [
        path.stat().st_mode & 0o777
        for path in (memory_disk / "node", memory_disk / "node" / "images")
    ] == [
        0o700,
        0o700,
    ]


@pytest.fixture
def mounted_elsewhere(memory_disk: Path) -> Iterator[Path]:
    source = as_directory({"bin/tool": b"tool", "proc/kept": b""}, memory_disk / "source")
    _run("mount", "-t", "tmpfs", "inside", str(source / "proc"))
    (source / "proc" / "1").write_text("not to be copied")
    yield source
    _run("umount", str(source / "proc"))


def test_what_is_mounted_inside_a_root_is_left_out(
    image_store: ImageStore, mounted_elsewhere: Path
) -> None:
    image = image_store.import_image("x", mounted_elsewhere, said)
    assert list((image.layers[0] / "proc").iterdir()) == []
