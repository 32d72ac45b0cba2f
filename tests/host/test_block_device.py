"""Block devices for real."""

from pathlib import Path

import pytest

from mooring.errors import HostError, KernelRefused
from mooring.host.block_device import claimed, is_block_device, is_busy, is_read_only, size_bytes
from mooring.host.mount import Mounts
from tests.host.disks import MIB, Disks


def test_what_is_a_block_device(disks: Disks, place: Path) -> None:
    device = disks.empty()
    (place / "link").symlink_to(device)
    assert is_block_device(device)
    assert is_block_device(place / "link")
    assert not is_block_device(place)
    assert not is_block_device(Path("/dev/null"))
    assert not is_block_device(place / "no")


def test_a_mounted_device_is_busy(mounts: Mounts, disks: Disks, target: Path) -> None:
    device = disks.formatted("ext4")
    assert not is_busy(device)
    mounts.mount(str(device), target, "ext4")
    assert is_busy(device)
    mounts.unmount(target)
    assert not is_busy(device)


def test_a_claimed_device_is_busy(disks: Disks) -> None:
    device = disks.empty()
    with claimed(device):
        assert is_busy(device)
        with pytest.raises(KernelRefused, match="device or resource busy"), claimed(device):
            pass
    assert not is_busy(device)


def test_a_file_is_never_busy_and_a_missing_one_an_error(place: Path) -> None:
    assert not is_busy(place)
    with pytest.raises(HostError, match="no such file or directory"):
        is_busy(place / "no")


def test_sizes(disks: Disks) -> None:
    assert size_bytes(disks.empty(5)) == 5 * MIB
    assert size_bytes(disks.file(7)) == 7 * MIB


def test_write_protection(disks: Disks) -> None:
    assert is_read_only(disks.empty(1, "--read-only"))
    assert not is_read_only(disks.empty(1))
