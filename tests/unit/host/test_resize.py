"""Growing: which tool for which format."""

from pathlib import Path

import pytest

from mooring.errors import CommandFailed, HostError
from mooring.host.resize import BtrfsSize, parse_btrfs_super, resize
from tests.fakes.programs import FakePrograms

DEVICE = Path("/dev/of-a-test")
AT = Path("/mnt/volume")

TOOLS = {
    "ext3 by its device": ("ext3", f"resize2fs {DEVICE}"),
    "ext4 by its device": ("ext4", f"resize2fs {DEVICE}"),
    "xfs by its mount": ("xfs", f"xfs_growfs -d {AT}"),
    "btrfs by its mount": ("btrfs", f"btrfs filesystem resize max {AT}"),
}


@pytest.mark.parametrize(("found", "run"), TOOLS.values(), ids=TOOLS)
def test_tool(programs: FakePrograms, found: str, run: str) -> None:
    programs.add("blkid", f"echo TYPE={found}")
    programs.add(run.split(maxsplit=1)[0], "")
    assert resize(DEVICE, AT) is True
    assert programs.runs()[1:] == [run]


def test_an_empty_device_has_nothing_to_grow(programs: FakePrograms) -> None:
    programs.add("blkid", "exit 2")
    assert resize(DEVICE, AT) is False


UNSUPPORTED = {
    "another file system": ("TYPE=vfat", "vfat"),
    "partitions": ("PTTYPE=gpt", "unknown data, probably partitions"),
}


@pytest.mark.parametrize(("told", "called"), UNSUPPORTED.values(), ids=UNSUPPORTED)
def test_what_cannot_grow(programs: FakePrograms, told: str, called: str) -> None:
    programs.add("blkid", f"echo {told}")
    with pytest.raises(HostError) as refused:
        resize(DEVICE, AT)
    assert str(refused.value) == (
        f"ResizeFS.Resize - resize of format {called} is not supported for device {DEVICE} "
        f"mounted at {AT}"
    )


def test_a_tool_that_fails_is_quoted(programs: FakePrograms) -> None:
    programs.add("blkid", "echo TYPE=ext4")
    programs.add("resize2fs", "echo no space; exit 1")
    with pytest.raises(CommandFailed) as failed:
        resize(DEVICE, AT)
    assert str(failed.value) == (
        f"resize of device {DEVICE} failed: exit status 1. resize2fs output: no space\n"
    )


def test_a_mounted_ext4_that_must_not_grow_names_the_remedy(programs: FakePrograms) -> None:
    programs.add("blkid", "echo TYPE=ext4")
    programs.add("resize2fs", "echo Permission denied to resize filesystem; exit 1")
    with pytest.raises(CommandFailed, match="only by a process with CAP_SYS_RESOURCE: grant it"):
        resize(DEVICE, AT)


def test_the_sizes_of_btrfs() -> None:
    output = (
        "superblock: bytenr=1\ntotal_bytes\t\t134217728\nsectorsize\t\t4096\ncsum\t0x1 [match]\n"
    )
    assert parse_btrfs_super(output) == BtrfsSize(sector_bytes=4096, total_bytes=134217728)


BAD = {"nothing": "", "no total": "sectorsize 4096\n", "no number": "sectorsize a\ntotal_bytes 1\n"}


@pytest.mark.parametrize("output", BAD.values(), ids=BAD)
def test_without_sizes_btrfs_is_not_judged(output: str) -> None:
    with pytest.raises(HostError, match="could not find the size of the btrfs file system"):
        parse_btrfs_super(output)
