"""The root file system of a container."""

import errno
import os
from pathlib import Path

import pytest

from mooring.errors import HostError, KernelRefused
from mooring.model.tree_usage import NOTHING
from mooring.oci import rootfs
from mooring.oci.contract import ImageConfig, StoredImage
from mooring.oci.records import ContainerDirectory
from tests.fakes.mounts import FakeMounts

MIB = 1 << 20


@pytest.fixture
def place(tmp_path: Path) -> ContainerDirectory:
    made = ContainerDirectory(tmp_path / "node/containers/1")
    made.make()
    return made


def an_image(tmp_path: Path, layers: int) -> StoredImage:
    paths = tuple(tmp_path / f"layer, with: marks {number}" for number in range(layers))
    for path in paths:
        path.mkdir()
    return StoredImage("sha256:1", (), paths, ImageConfig(), 1)


def test_layers_are_named_so_that_many_fit_whatever_their_paths(
    tmp_path: Path, place: ContainerDirectory
) -> None:
    mounts = FakeMounts()
    rootfs.mount(mounts, place, an_image(tmp_path, 127))
    lower, upper, work, flag = mounts.calls[0].options
    assert lower.startswith("lowerdir=/proc/self/fd/")
    assert lower.count("/proc/self/fd/") == 127
    assert len(",".join(mounts.calls[0].options)) < 4096
    assert (upper.partition("=")[0], work.partition("=")[0]) == ("upperdir", "workdir")
    assert flag == "volatile"
    assert mounts.mounted() == (place.rootfs,)


def test_an_older_kernel_flushes_what_nobody_needs(
    tmp_path: Path, place: ContainerDirectory
) -> None:
    mounts = FakeMounts()
    mounts.fail_at(1, KernelRefused("no such option", errno.EINVAL))
    rootfs.mount(mounts, place, an_image(tmp_path, 1))
    assert "volatile" not in mounts.calls[1].options


def test_a_file_system_that_cannot_hold_it_is_told_with_the_remedy(
    tmp_path: Path, place: ContainerDirectory
) -> None:
    mounts = FakeMounts()
    for number in (1, 2):
        mounts.fail_at(number, KernelRefused("mount: x", errno.EINVAL))
    with pytest.raises(HostError) as refused:
        rootfs.mount(mounts, place, an_image(tmp_path, 2))
    assert str(refused.value) == (
        "cannot lay a container's files over 2 layers: the file system of "
        f"{place.directory.parent} must be able to hold the upper layer of an overlay "
        "(ext4, xfs and tmpfs can): invalid argument"
    )


def test_a_layer_that_is_gone_is_named(tmp_path: Path, place: ContainerDirectory) -> None:
    image = an_image(tmp_path, 1)
    image.layers[0].rmdir()
    with pytest.raises(HostError, match=r"open .*layer.*: no such file or directory"):
        rootfs.mount(FakeMounts(), place, image)


def test_all_of_it_goes_and_repeatedly(tmp_path: Path, place: ContainerDirectory) -> None:
    mounts = FakeMounts()
    rootfs.mount(mounts, place, an_image(tmp_path, 1))
    (place.upper / "deep/er").mkdir(parents=True)
    rootfs.take_away(mounts, place)
    assert mounts.mounted() == ()
    assert not place.directory.exists()
    rootfs.take_away(mounts, place)


def test_what_is_still_in_use_keeps_all_of_it(tmp_path: Path, place: ContainerDirectory) -> None:
    mounts = FakeMounts()
    rootfs.mount(mounts, place, an_image(tmp_path, 1))
    mounts.keep_busy(place.rootfs)
    with pytest.raises(HostError, match="busy"):
        rootfs.take_away(mounts, place)
    assert place.upper.exists()


def test_what_a_container_has_written_is_what_is_in_its_own_layers(
    tmp_path: Path, place: ContainerDirectory
) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"x" * MIB)
    for layer in (place.upper, place.directory / "upper-usr"):
        layer.mkdir()
        (layer / "own").write_bytes(b"x" * 4096)
    os.link(place.upper / "own", place.upper / "again")
    (place.upper / "out").symlink_to(precious)
    with (place.upper / "sparse").open("wb") as file:
        file.truncate(MIB)
    (place.rootfs / "of the image").write_bytes(b"x" * MIB)
    found = rootfs.written(place)
    assert found.inodes_used == 2 + 2 + 2  # two layers, two files, a link and a hole
    assert 2 * 4096 <= found.used_bytes < MIB


def test_a_container_that_is_gone_has_written_nothing(tmp_path: Path) -> None:
    assert rootfs.written(ContainerDirectory(tmp_path / "none")) == NOTHING


def test_a_layer_that_cannot_be_read_is_an_error(place: ContainerDirectory) -> None:
    place.upper.write_text("no directory")
    with pytest.raises(HostError, match="not a directory"):
        rootfs.written(place)
