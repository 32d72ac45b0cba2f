"""Usage of real file systems and devices."""

from pathlib import Path

import pytest

from mooring.host import usage
from mooring.host.mount import Mounts
from tests.host.disks import MIB, Disks


def test_what_is_on_another_device_is_left_out(place: Path, mounts: Mounts) -> None:
    volume = place / "volume"
    (volume / "mounted").mkdir(parents=True)
    before = usage.of_tree(volume)
    mounts.mount("tmpfs", volume / "mounted", "tmpfs")
    (volume / "mounted" / "big").write_bytes(bytes(MIB))
    inside = usage.of_tree(volume)
    assert inside.inodes_used == before.inodes_used - 1  # the mount point itself is not seen
    assert inside.used_bytes < MIB
    assert usage.of_tree(volume / "mounted").used_bytes >= MIB


def test_a_file_of_another_device_is_left_out_alone(place: Path, mounts: Mounts) -> None:
    volume, memory = place / "volume", place / "memory"
    volume.mkdir()
    memory.mkdir()
    mounts.mount("tmpfs", memory, "tmpfs")
    (memory / "big").write_bytes(bytes(MIB))
    for name in ("a", "m", "z"):
        (volume / name).touch()
    before = usage.of_tree(volume)
    mounts.bind(memory / "big", volume / "m")
    after = usage.of_tree(volume)
    assert after.inodes_used == before.inodes_used - 1
    assert after.used_bytes == before.used_bytes


def test_a_file_system_of_known_size(target: Path, mounts: Mounts) -> None:
    mounts.mount("tmpfs", target, "tmpfs", ["size=4m", "nr_inodes=100"])
    (target / "file").write_bytes(bytes(MIB))
    found = usage.of_filesystem(target)
    assert (found.capacity_bytes, found.used_bytes, found.available_bytes) == (
        4 * MIB,
        MIB,
        3 * MIB,
    )
    assert (found.inodes, found.inodes_used) == (100, 2)


@pytest.mark.parametrize("mib", [1, 9])
def test_the_size_of_a_device(disks: Disks, mib: int) -> None:
    assert usage.of_block_device(disks.empty(mib)) == mib * MIB
