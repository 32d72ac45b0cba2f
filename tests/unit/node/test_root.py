"""The root directory of a node: shared, held by one node, left as it was found."""

import os
from pathlib import Path

import pytest

from mooring.errors import HostError, UsageError
from mooring.node.root import node_root
from tests.fakes.mounts import FakeMounts


def test_it_is_made_with_the_places_that_others_look_for(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    with node_root(tmp_path / "link" / "node", FakeMounts()) as root:
        assert root.layout.root == tmp_path.resolve() / "node"
        assert root.cannot == ""
        for place in ("", "pods", "plugins", "plugins_registry"):
            assert (root.layout.root / place).stat().st_mode & 0o777 == 0o750


def test_it_is_shared_while_it_is_used_and_not_after(tmp_path: Path) -> None:
    mounts, root = FakeMounts(), tmp_path.resolve() / "node"
    with node_root(root, mounts):
        covering = mounts.table().covering(root)
        assert covering is not None
        assert covering.is_shared
        assert covering.mount_point == root
    assert not mounts.is_mount_point(root)


def test_what_is_mounted_in_it_stays_and_so_does_the_root(tmp_path: Path) -> None:
    mounts, root = FakeMounts(), tmp_path.resolve() / "node"
    with node_root(root, mounts) as found:
        mounts.mount("tmpfs", found.layout.pods, "tmpfs")
    assert mounts.is_mount_point(root / "pods")
    assert mounts.is_mount_point(root)


def test_a_disk_that_somebody_mounted_there_stays(tmp_path: Path) -> None:
    mounts, root = FakeMounts(), tmp_path.resolve() / "node"
    root.mkdir()
    mounts.mount("/dev/vdb", root, "ext4")
    with node_root(root, mounts):
        pass
    assert mounts.is_mount_point(root)


def test_two_nodes_cannot_have_it(tmp_path: Path) -> None:
    mounts = FakeMounts()
    with (
        node_root(tmp_path, mounts),
        pytest.raises(UsageError, match=r"in use by another mooring .* choose another --root-dir"),
        node_root(tmp_path, mounts),
    ):
        pytest.fail("two nodes have one root directory")
    with node_root(tmp_path, mounts):
        pass


def test_without_the_right_to_mount_it_says_why_and_goes_on(tmp_path: Path) -> None:
    mounts = FakeMounts()
    mounts.fail_at(1, HostError("mount: operation not permitted"))
    with node_root(tmp_path, mounts) as root:
        assert root.cannot == "mount: operation not permitted"
        assert root.layout.pods.is_dir()


def test_a_place_that_is_no_directory_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(UsageError, match=r"a node cannot use .*/file/node: Not a directory"),
        node_root(tmp_path / "file" / "node", FakeMounts()),
    ):
        pytest.fail("a node in a file")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_place_that_may_not_be_written_is_told_in_one_line(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(UsageError, match="Permission denied"), node_root(tmp_path, FakeMounts()):
        pytest.fail("a node without a place")
