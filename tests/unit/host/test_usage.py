"""How much is used."""

import errno
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from mooring.errors import HostError
from mooring.host import same_mount, tree, usage
from mooring.model.tree_usage import NOTHING, TreeUsage

KIB = 1024


def du(directory: Path) -> int:
    """What du(1) says, in bytes."""
    argv = ["du", "--summarize", "--one-file-system", "--block-size=1", str(directory)]
    shown = subprocess.run(argv, check=True, capture_output=True, text=True)  # noqa: S603  a test's own words
    return int(shown.stdout.split()[0])


def inodes(directory: Path) -> int:
    return len({path.lstat().st_ino for path in (directory, *directory.rglob("*"))})


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    volume = tmp_path / "volume"
    (volume / "a" / "b").mkdir(parents=True)
    (volume / "a" / "file").write_bytes(b"x" * 100 * KIB)
    (volume / "a" / "b" / "small").write_bytes(b"x")
    return volume


def test_blocks_are_counted_as_du_does(volume: Path) -> None:
    found = usage.of_tree(volume)
    assert found == TreeUsage(used_bytes=du(volume), inodes_used=inodes(volume))
    assert found.used_bytes >= 100 * KIB


def test_a_file_with_two_names_counts_once(volume: Path) -> None:
    before = usage.of_tree(volume)
    os.link(volume / "a" / "file", volume / "second")
    os.link(volume / "a" / "file", volume / "third")
    assert usage.of_tree(volume) == before
    assert before.used_bytes == du(volume)


def test_a_hole_takes_no_room(volume: Path) -> None:
    before = usage.of_tree(volume)
    with (volume / "sparse").open("wb") as file:
        file.truncate(1024 * KIB)
    after = usage.of_tree(volume)
    assert after.used_bytes - before.used_bytes < 100 * KIB
    assert after.inodes_used == before.inodes_used + 1


def test_what_a_link_leads_to_is_not_counted(volume: Path, tmp_path: Path) -> None:
    before = usage.of_tree(volume)
    (tmp_path / "outside").write_bytes(b"x" * 100 * KIB)
    (volume / "link").symlink_to(tmp_path / "outside")
    after = usage.of_tree(volume)
    assert after.inodes_used == before.inodes_used + 1
    assert after.used_bytes - before.used_bytes < 100 * KIB


def test_what_takes_too_long_is_counted_in_part(volume: Path) -> None:
    found = usage.of_tree(volume, seconds=0)
    assert found == TreeUsage(used_bytes=found.used_bytes, inodes_used=1, is_whole=False)
    assert found.used_bytes < du(volume)


def test_files_of_too_many_names_are_counted_in_part(
    volume: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usage, "MOST_LINKED", 2)
    for name in "abcd":
        (volume / f"{name}1").touch()
        os.link(volume / f"{name}1", volume / f"{name}2")
    found = usage.of_tree(volume)
    assert not found.is_whole
    assert found.inodes_used < inodes(volume)


def test_a_file_that_is_removed_during_the_walk_is_left_out(
    volume: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "xyz":
        (volume / name).touch()
    before = usage.of_tree(volume)
    find_here = same_mount.find_here

    def find(directory: int, name: str, inode: int, device: int) -> os.stat_result | None:
        for path in [volume / one for one in "xyz" if one != name]:
            path.unlink(missing_ok=True)
        return find_here(directory, name, inode, device)

    monkeypatch.setattr(same_mount, "find_here", find)
    assert usage.of_tree(volume) == TreeUsage(before.used_bytes, before.inodes_used - 2)


def test_a_walk_that_was_led_astray_is_counted_in_part(
    volume: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find(directory: int, name: str, inode: int, device: int) -> None:
        raise OSError(errno.ESTALE, "moved elsewhere during the walk", name)

    monkeypatch.setattr(same_mount, "find_here", find)
    assert not usage.of_tree(volume).is_whole


def test_a_tree_deeper_than_the_longest_path_is_counted(tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    alone = usage.of_tree(top)
    held = os.open(top, os.O_RDONLY)
    for _ in range(300):
        os.mkdir("d" * 40, dir_fd=held)
        deeper = os.open("d" * 40, os.O_RDONLY, dir_fd=held)
        os.close(held)
        held = deeper
    big = os.open("big", os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=held)
    os.write(big, b"x" * 100 * KIB)
    os.fsync(big)
    os.close(big)
    os.close(held)
    found = usage.of_tree(top)
    assert found.inodes_used == 302
    assert found.used_bytes - alone.used_bytes >= 100 * KIB
    tree.remove_path(top)


def test_one_file_is_measured_without_following_a_link(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_bytes(b"x" * 100 * KIB)
    link.symlink_to(file)
    assert usage.of_one_file(file) == TreeUsage(du(file), 1)
    assert usage.of_one_file(link).used_bytes < 100 * KIB
    assert usage.of_one_file(tmp_path / "none") == NOTHING


def test_a_file_system_adds_up(tmp_path: Path) -> None:
    told = os.statvfs(tmp_path)
    found = usage.of_filesystem(tmp_path)
    assert found.capacity_bytes == told.f_blocks * told.f_frsize
    assert 0 < found.used_bytes <= found.capacity_bytes
    assert found.available_bytes + found.used_bytes <= found.capacity_bytes
    assert found.inodes_used == found.inodes - found.inodes_free


def test_a_block_device_is_measured_to_its_end(tmp_path: Path) -> None:
    image = tmp_path / "image"
    image.write_bytes(b"x" * 12345)
    assert usage.of_block_device(image) == 12345


MISSING: dict[str, tuple[Callable[[Path], object], str]] = {
    "tree": (usage.of_tree, "count the usage of"),
    "file system": (usage.of_filesystem, "statfs"),
    "block device": (usage.of_block_device, "measure"),
}


@pytest.mark.parametrize("what", MISSING)
def test_a_missing_path_is_an_error(tmp_path: Path, what: str) -> None:
    measure, doing = MISSING[what]
    with pytest.raises(HostError, match=rf"^{doing} .*/none: no such file or directory$"):
        measure(tmp_path / "none")
