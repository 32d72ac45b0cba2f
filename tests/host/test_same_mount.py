"""No walk leaves the mount where it began: not by a bind, not of a file, on no kernel."""

import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.errors import HostError
from mooring.host import same_mount, tree, usage
from mooring.host.mount import Mounts
from mooring.model.tree_usage import TreeUsage
from mooring.oci.directory import DirectoryEntries
from tests.host.kernels import Kernel

pytestmark = pytest.mark.usefixtures("kernel")

MIB = 1 << 20


@pytest.fixture
def precious(place: Path) -> Path:
    """Data that is none of the volume's."""
    path = place / "precious"
    (path / "deep").mkdir(parents=True)
    (path / "deep" / "data").write_bytes(bytes(MIB))
    (path / "file").write_bytes(bytes(MIB))
    return path


@pytest.fixture
def volume(place: Path) -> Path:
    path = place / "volume"
    (path / "a" / "mounted").mkdir(parents=True)
    (path / "a" / "mounted file").touch()
    (path / "own").write_text("own")
    return path


@pytest.fixture
def root(volume: Path) -> Iterator[int]:
    opened = os.open(volume, os.O_RDONLY | os.O_DIRECTORY)
    yield opened
    os.close(opened)


def is_whole(precious: Path) -> bool:
    files = (precious / "deep" / "data", precious / "file")
    return all(file.stat().st_size == MIB for file in files)


def test_a_bind_of_the_same_file_system_is_another_mount(
    volume: Path, precious: Path, mounts: Mounts, root: int
) -> None:
    directory = same_mount.enter(root, "a")
    try:
        os.close(same_mount.enter(directory, "mounted"))
        assert same_mount.is_on_mount_of(directory, "mounted file")
        mounts.bind(precious, volume / "a" / "mounted")
        mounts.bind(precious / "file", volume / "a" / "mounted file")
        with pytest.raises(OSError, match="cross-device") as refused:
            same_mount.enter(directory, "mounted")
        assert refused.value.errno == errno.EXDEV
        assert not same_mount.is_on_mount_of(directory, "mounted file")
        assert not same_mount.is_on_mount_of(directory, "mounted")
        assert same_mount.mount_of(directory) == same_mount.mount_of(root)
    finally:
        os.close(directory)


def test_a_link_is_never_entered(volume: Path, precious: Path, root: int) -> None:
    (volume / "link").symlink_to(precious)
    with pytest.raises(OSError) as refused:  # noqa: PT011  one of two
        same_mount.enter(root, "link")
    assert refused.value.errno in (errno.ELOOP, errno.ENOTDIR)
    assert same_mount.is_on_mount_of(root, "link")


def test_removing_leaves_what_is_mounted_inside(
    volume: Path, precious: Path, mounts: Mounts
) -> None:
    mounts.bind(precious, volume / "a" / "mounted")
    with pytest.raises(HostError, match="busy"):
        tree.remove_path(volume)
    assert is_whole(precious)
    with pytest.raises(HostError, match="busy"):
        tree.remove_path(volume / "a" / "mounted")
    assert is_whole(precious)
    mounts.unmount(volume / "a" / "mounted")
    tree.remove_path(volume)
    assert not volume.exists()


def test_removing_leaves_a_file_that_is_mounted_upon_another(
    volume: Path, precious: Path, mounts: Mounts
) -> None:
    mounts.bind(precious / "file", volume / "a" / "mounted file")
    with pytest.raises(HostError, match="busy"):
        tree.remove_path(volume)
    assert is_whole(precious)
    assert (volume / "a" / "mounted file").stat().st_size == MIB


def test_removing_leaves_one_mount_upon_another(
    volume: Path, precious: Path, mounts: Mounts
) -> None:
    for _ in range(2):
        mounts.bind(precious, volume / "a" / "mounted")
    mounts.bind(volume / "a", volume / "a")  # hides both
    tree_of_bind = volume / "a" / "mounted"
    assert list(tree_of_bind.iterdir()) == []
    with pytest.raises(HostError, match="busy"):
        tree.remove_path(volume)
    assert is_whole(precious)


def test_measuring_counts_what_is_its_own(volume: Path, precious: Path, mounts: Mounts) -> None:
    alone = usage.of_tree(volume)
    mounts.bind(precious, volume / "a" / "mounted")
    mounts.bind(precious / "file", volume / "a" / "mounted file")
    found = usage.of_tree(volume)
    assert found.used_bytes <= alone.used_bytes < MIB
    assert found.inodes_used == alone.inodes_used - 2  # what is hidden cannot be looked at


def test_a_file_of_two_names_counts_once(volume: Path) -> None:
    (volume / "data").write_bytes(bytes(MIB))
    alone = usage.of_tree(volume)
    os.link(volume / "data", volume / "a" / "again")
    assert usage.of_tree(volume) == TreeUsage(alone.used_bytes, alone.inodes_used)


def test_copying_leaves_out_what_is_mounted(
    volume: Path, precious: Path, mounts: Mounts, root: int
) -> None:
    mounts.bind(precious, volume / "a" / "mounted")
    found = {"/".join(entry.parts) for entry in DirectoryEntries(root)}
    assert found == {"", "a", "a/mounted", "a/mounted file", "own"}


def test_a_mount_made_during_a_walk_is_not_entered(
    volume: Path, precious: Path, mounts: Mounts, root: int, kernel: Kernel
) -> None:
    (volume / "a" / "mounted" / "inner").mkdir()
    visits = tree.walk(root)
    seen = []
    for _, name, _, kind in visits:
        seen.append((name, kind))
        if name == "mounted file":  # the directory beside it is about to be entered
            mounts.bind(precious, volume / "a" / "mounted")
    assert ("mounted", tree.EntryKind.MOUNT_POINT) in seen
    assert ("data", tree.EntryKind.OTHER) not in seen


def test_every_way_to_ask_agrees_with_the_mount_table(place: Path) -> None:
    for path in (Path("/"), Path("/proc"), Path("/dev"), place):
        opened = os.open(path, os.O_PATH | os.O_DIRECTORY)
        try:
            told = subprocess.run(  # noqa: S603  a test's own words
                ["findmnt", "-n", "-o", "ID", "-T", str(path)],  # noqa: S607  wherever it is
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            assert same_mount.mount_of(opened) == int(told.split()[-1])
        finally:
            os.close(opened)
