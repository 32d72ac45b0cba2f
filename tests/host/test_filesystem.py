"""Formatting, and above all not formatting, on real devices."""

from pathlib import Path

import pytest

from mooring.errors import CommandFailed, HostError, Unformatted, WrongFilesystem
from mooring.host.block_device import claimed
from mooring.host.command import check
from mooring.host.filesystem import confirm_empty, format_and_mount
from mooring.host.mount import Mounts
from mooring.host.probe import Empty, Holds, Partitions, probe
from tests.fakes.programs import FakePrograms
from tests.host.conftest import NeedsTool
from tests.host.disks import LEAST_MIB, MIB, Disks, gpt, read, write

TYPES = ["ext3", "ext4", "xfs", "btrfs"]


@pytest.mark.parametrize("fs_type", TYPES)
def test_an_empty_device_is_formatted_once(
    mounts: Mounts,
    disks: Disks,
    target: Path,
    fs_type: str,
    needs_tool: NeedsTool,
    needs_filesystem: NeedsTool,
) -> None:
    needs_tool(f"mkfs.{fs_type}")
    needs_filesystem(fs_type)
    device = disks.empty(LEAST_MIB[fs_type])
    assert probe(device) == Empty()
    format_and_mount(mounts, device, target, fs_type, ["noatime"])
    (target / "letter").write_text("Dear reader")
    mounts.unmount(target)
    assert probe(device) == Holds(fs_type)

    format_and_mount(mounts, device, target, fs_type)
    assert (target / "letter").read_text() == "Dear reader"
    mounts.unmount(target)

    format_and_mount(mounts, device, target, fs_type, ["ro"])
    assert (target / "letter").read_text() == "Dear reader"


def test_no_type_is_ext4_without_reserved_blocks(
    mounts: Mounts, disks: Disks, target: Path
) -> None:
    device = disks.empty()
    format_and_mount(mounts, device, target, "")
    entry = mounts.table().find(target)
    assert entry is not None
    assert entry.fs_type == "ext4"
    assert read(device, 4, at=1032) == bytes(4)  # s_r_blocks_count


def test_options_for_mkfs_come_first(mounts: Mounts, disks: Disks, target: Path) -> None:
    device = disks.empty()
    format_and_mount(mounts, device, target, "ext4", format_options=["-L", "mooring"])
    assert b"mooring" in read(device, 2048)


def test_a_partition_table_is_never_formatted(mounts: Mounts, disks: Disks, target: Path) -> None:
    device, table = disks.empty(8), gpt(8)
    write(device, table)
    assert probe(device) == Partitions()
    with pytest.raises(WrongFilesystem, match=r"^mount failed: invalid argument\n"):
        format_and_mount(mounts, device, target, "ext4")
    assert read(device, len(table)) == table
    assert not mounts.is_mount_point(target)


def test_an_empty_device_is_not_written_to_when_read_only(
    mounts: Mounts, disks: Disks, target: Path
) -> None:
    device = disks.empty()
    with pytest.raises(Unformatted, match=f"cannot mount unformatted disk {device} as we are"):
        format_and_mount(mounts, device, target, "ext4", ["ro"])
    assert probe(device) == Empty()


FOREIGN = {
    "ext4 where xfs is wanted": ("ext4", "xfs"),
    "ext4 where btrfs is wanted": ("ext4", "btrfs"),
    "xfs where ext4 is wanted": ("xfs", "ext4"),
}


@pytest.mark.parametrize(("found", "wanted"), FOREIGN.values(), ids=FOREIGN)
def test_a_foreign_file_system_keeps_every_byte(
    mounts: Mounts,
    disks: Disks,
    target: Path,
    found: str,
    wanted: str,
    needs_tool: NeedsTool,
    needs_filesystem: NeedsTool,
) -> None:
    needs_tool(f"mkfs.{found}")
    needs_filesystem(wanted)
    device = disks.formatted(found)
    before = read(device, 4 * MIB)
    with pytest.raises(WrongFilesystem):
        format_and_mount(mounts, device, target, wanted)
    assert read(device, 4 * MIB) == before


SIGNATURES = {
    "swap space": ("mkswap", "swap"),
    "a file system from another age": ("mkfs.minix", "minix"),
    "the header of an encrypted device": ("", "crypto_LUKS"),
}


@pytest.mark.parametrize(("tool", "found"), SIGNATURES.values(), ids=SIGNATURES)
def test_whatever_has_a_signature_keeps_every_byte(
    mounts: Mounts, disks: Disks, target: Path, tool: str, found: str, needs_tool: NeedsTool
) -> None:
    device = disks.empty()
    if tool:
        needs_tool(tool)
        check([tool, str(device)], seconds=20)
    else:
        write(device, b"LUKS\xba\xbe\0\2")
    assert probe(device) == Holds(found)
    before = read(device, 8 * MIB)
    with pytest.raises(WrongFilesystem):
        format_and_mount(mounts, device, target, "ext4")
    assert read(device, 8 * MIB) == before


def test_ext3_can_be_mounted_as_ext4(mounts: Mounts, disks: Disks, target: Path) -> None:
    format_and_mount(mounts, disks.formatted("ext3"), target, "ext4")
    assert mounts.is_mount_point(target)


def test_a_device_that_somebody_else_claimed_is_not_formatted(
    mounts: Mounts, disks: Disks, target: Path
) -> None:
    device = disks.empty()
    with claimed(device), pytest.raises(HostError, match="device or resource busy"):
        format_and_mount(mounts, device, target, "ext4")
    assert probe(device) == Empty()


def test_a_signature_that_appears_in_the_last_moment(disks: Disks) -> None:
    device = disks.empty()
    confirm_empty(device)
    write(device, gpt(8))
    with pytest.raises(WrongFilesystem, match="probably partitions by now, so it is not formatted"):
        confirm_empty(device)


def test_bytes_without_a_signature_are_what_a_shredded_disk_has(
    mounts: Mounts, disks: Disks, target: Path
) -> None:
    device = disks.empty()
    write(device, b"\x5a\xc3" * 4096)
    format_and_mount(mounts, device, target, "ext4")
    assert mounts.is_mount_point(target)


def test_a_device_without_size_is_not_empty_but_unknown(disks: Disks) -> None:
    with pytest.raises(HostError, match="has no size, so it is not formatted"):
        confirm_empty(disks.empty(0))


def test_mkfs_that_fails_is_quoted_without_secrets(
    mounts: Mounts, disks: Disks, target: Path, programs: FakePrograms
) -> None:
    device = disks.empty()
    programs.add("mkfs.ext4", "echo no room; exit 1")
    with pytest.raises(CommandFailed) as failed:
        format_and_mount(mounts, device, target, "ext4", ["noatime"], sensitive=["key=hunter2"])
    assert str(failed.value) == (
        f'format of disk "{device}" failed: type:("ext4") target:("{target}") '
        'options:("noatime,defaults,<masked>") errcode:(exit status 1) output:(no room\n) '
    )
    assert programs.runs() == [f"mkfs.ext4 -F -m0 {device}"]
    assert not mounts.is_mount_point(target)


def test_a_missing_mkfs_is_told(mounts: Mounts, disks: Disks, target: Path) -> None:
    with pytest.raises(CommandFailed, match=r"errcode:\(mkfs.nofs: executable file not found"):
        format_and_mount(mounts, disks.empty(), target, "nofs")


def test_errors_that_fsck_cannot_correct_keep_the_device_unmounted(
    mounts: Mounts, disks: Disks, target: Path
) -> None:
    device = disks.formatted("ext3")  # without checksums, so that only what we spoil is wrong
    _spoil_root_directory(device)
    with pytest.raises(CommandFailed, match=r"'fsck' found errors on device .* could not correct"):
        format_and_mount(mounts, device, target, "ext3")
    assert not mounts.is_mount_point(target)
    format_and_mount(mounts, device, target, "ext3", ["ro"])  # read-only is not checked


def _spoil_root_directory(device: Path) -> None:
    """Write nonsense where the root directory's first block is, and say that there were errors."""
    content = read(device, 8 * MIB)
    start = content.index(b"lost+found")
    block = start // 1024 * 1024
    write(device, b"\xff" * 1024, block)
    state = int.from_bytes(content[1082:1084], "little")
    write(device, (state | 2).to_bytes(2, "little"), 1082)  # s_state: errors detected
