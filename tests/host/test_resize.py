"""Growing mounted file systems for real."""

import os
from pathlib import Path

import pytest

from mooring.errors import HostError
from mooring.host.filesystem import EXT_FAMILY, format_and_mount
from mooring.host.loop_device import follow_size
from mooring.host.mount import Mounts
from mooring.host.resize import needs_resize, resize
from tests.host.conftest import NeedsTool
from tests.host.disks import LEAST_MIB, MIB, Disks, gpt, read, write

GROWTH_MIB = 160  # btrfs does not resize to less than 256 MiB
CAP_SYS_RESOURCE = 24
TOOLS = {"ext3": "resize2fs", "ext4": "resize2fs", "xfs": "xfs_growfs", "btrfs": "btrfs"}


@pytest.mark.parametrize(("fs_type", "tool"), TOOLS.items(), ids=TOOLS)
def test_growing_while_mounted(
    mounts: Mounts,
    disks: Disks,
    target: Path,
    fs_type: str,
    tool: str,
    needs_tool: NeedsTool,
    needs_filesystem: NeedsTool,
) -> None:
    needs_tool(tool)
    needs_tool(f"mkfs.{fs_type}")
    needs_filesystem(fs_type)
    if fs_type in EXT_FAMILY:
        needs_resource_right()
    least = LEAST_MIB[fs_type]
    device = disks.empty(least)
    format_and_mount(mounts, device, target, fs_type)
    (target / "letter").write_text("Dear reader")
    before = _size(target)

    os.truncate(disks.backing_of(device), (least + GROWTH_MIB) * MIB)
    follow_size(device)
    assert needs_resize(device)
    assert resize(device, target) is True
    assert _size(target) >= before + GROWTH_MIB * MIB * 3 // 4
    assert (target / "letter").read_text() == "Dear reader"
    assert resize(device, target) is True  # nothing left to grow


def test_ext4_that_was_never_mounted_grows_too(disks: Disks, target: Path) -> None:
    device = disks.formatted("ext4")
    before = _blocks(device)
    os.truncate(disks.backing_of(device), 2 * LEAST_MIB["ext4"] * MIB)
    follow_size(device)
    assert resize(device, target) is True
    assert _blocks(device) == 2 * before


def test_btrfs_knows_when_it_fills_its_device(
    mounts: Mounts,
    disks: Disks,
    target: Path,
    needs_tool: NeedsTool,
    needs_filesystem: NeedsTool,
) -> None:
    needs_tool("mkfs.btrfs")
    needs_filesystem("btrfs")
    device = disks.formatted("btrfs")
    mounts.mount(str(device), target, "btrfs")
    assert not needs_resize(device)


def test_what_needs_no_resize(disks: Disks) -> None:
    assert not needs_resize(disks.empty())
    assert not needs_resize(disks.empty(1, "--read-only"))
    assert needs_resize(disks.formatted("ext4"))


def test_what_cannot_be_resized(disks: Disks, target: Path) -> None:
    device = disks.empty()
    write(device, gpt(8))
    with pytest.raises(HostError, match="probably partitions"):
        needs_resize(device)
    with pytest.raises(HostError, match="resize of format unknown data, probably partitions"):
        resize(device, target)


def needs_resource_right() -> None:
    """The kernel lets ext grow only for those who may pass quotas."""
    status = Path("/proc/self/status").read_text().split()
    capabilities = int(status[status.index("CapEff:") + 1], 16)
    if not capabilities >> CAP_SYS_RESOURCE & 1:
        pytest.skip("root is without CAP_SYS_RESOURCE here, which resizing ext needs")


def _blocks(device: Path) -> int:
    """The size of an ext file system, from its superblock: s_blocks_count."""
    return int.from_bytes(read(device, 4, at=1028), "little")


def _size(target: Path) -> int:
    told = os.statvfs(target)
    return told.f_blocks * told.f_frsize
