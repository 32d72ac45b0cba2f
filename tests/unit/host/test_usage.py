"""How much is used."""

import os
import subprocess
from pathlib import Path

import pytest

from mooring.errors import HostError
from mooring.host import usage
from mooring.host.usage import TreeUsage

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


MISSING = {
    "tree": (usage.of_tree, "count the usage of"),
    "file system": (usage.of_filesystem, "statfs"),
    "block device": (usage.of_block_device, "measure"),
}


@pytest.mark.parametrize("what", MISSING)
def test_a_missing_path_is_an_error(tmp_path: Path, what: str) -> None:
    measure, doing = MISSING[what]
    with pytest.raises(HostError, match=rf"^{doing} .*/none: no such file or directory$"):
        measure(tmp_path / "none")
