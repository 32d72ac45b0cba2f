"""Format, check, or leave alone: decided from what the device holds."""

from pathlib import Path

import pytest

from mooring.errors import CommandFailed, HostError, Unformatted, WrongFilesystem
from mooring.host.filesystem import (
    FsckVerdict,
    Preparation,
    check_and_repair,
    confirm_empty,
    decide_preparation,
    format_and_mount,
    judge_fsck,
)
from mooring.host.probe import Contents, Empty, Holds, Partitions
from tests.fakes.mounts import FakeMounts, MountCall
from tests.fakes.programs import FakePrograms

DEVICE = Path("/dev/of-a-test")
RW: tuple[str, ...] = ()
RO = ("ro",)

DECISIONS: dict[str, tuple[Contents, str, tuple[str, ...], Preparation]] = {
    "empty, to be written: formatted": (Empty(), "ext4", RW, Preparation.FORMAT),
    "empty, read-only: refused": (Empty(), "ext4", RO, Preparation.REFUSE),
    "partitions are never formatted": (Partitions(), "ext4", RW, Preparation.NONE),
    "partitions, read-only": (Partitions(), "ext4", RO, Preparation.NONE),
    "as wanted: checked": (Holds("xfs"), "xfs", RW, Preparation.CHECK),
    "as wanted, read-only: not checked": (Holds("xfs"), "xfs", RO, Preparation.NONE),
    "another file system is left alone": (Holds("ext4"), "xfs", RW, Preparation.NONE),
    "another of the ext family is checked": (Holds("ext3"), "ext4", RW, Preparation.CHECK),
    "a member of LVM is left alone": (Holds("LVM2_member"), "ext4", RW, Preparation.NONE),
    "an encrypted device is left alone": (Holds("crypto_LUKS"), "ext4", RW, Preparation.NONE),
    "only the exact word is read-only": (Empty(), "ext4", ("e=ro", "rodir"), Preparation.FORMAT),
}


@pytest.mark.parametrize(
    ("contents", "wanted", "options", "then"), DECISIONS.values(), ids=DECISIONS
)
def test_decision(
    contents: Contents, wanted: str, options: tuple[str, ...], then: Preparation
) -> None:
    assert decide_preparation(contents, wanted, options) is then


FSCK = {
    "0: clean": (0, FsckVerdict.CLEAN),
    "1: corrected": (1, FsckVerdict.CORRECTED),
    "2: wants a reboot": (2, FsckVerdict.UNTOLD),
    "4: errors left": (4, FsckVerdict.DAMAGED),
    "8: fsck failed": (8, FsckVerdict.UNTOLD),
    "12: failed, with errors left": (12, FsckVerdict.UNTOLD),
    "killed": (-9, FsckVerdict.UNTOLD),
}


@pytest.mark.parametrize(("code", "verdict"), FSCK.values(), ids=FSCK)
def test_verdict_of_fsck(code: int, verdict: FsckVerdict) -> None:
    assert judge_fsck(code) is verdict


CONTINUES = {"fsck exits 8": 8, "fsck exits 1": 1, "fsck exits 0": 0}


@pytest.mark.parametrize("code", CONTINUES.values(), ids=CONTINUES)
def test_what_fsck_does_not_stop(programs: FakePrograms, code: int) -> None:
    programs.add("fsck", f"exit {code}")
    check_and_repair(DEVICE)
    assert programs.runs() == [f"fsck -a {DEVICE}"]


def test_fsck_exits_4_and_the_device_is_not_mounted(programs: FakePrograms, tmp_path: Path) -> None:
    programs.add("blkid", "echo TYPE=ext4")
    programs.add("fsck", "echo bad inode; exit 4")
    mounts = FakeMounts()
    with pytest.raises(CommandFailed) as failed:
        format_and_mount(mounts, DEVICE, tmp_path, "ext4")
    text = f"'fsck' found errors on device {DEVICE} but could not correct them: bad inode\n"
    assert str(failed.value) == text
    assert mounts.calls == []


def test_without_fsck_the_mount_goes_on(programs: FakePrograms, tmp_path: Path) -> None:
    programs.add("blkid", "echo TYPE=ext4")
    programs.only_these()
    mounts = FakeMounts()
    format_and_mount(mounts, DEVICE, tmp_path, "", ["noatime"], sensitive=["key=1"])
    assert mounts.calls == [
        MountCall("mount", tmp_path, str(DEVICE), "ext4", ("noatime", "defaults"), ("key=1",))
    ]


def test_partitions_are_neither_formatted_nor_checked(
    programs: FakePrograms, tmp_path: Path
) -> None:
    programs.add("blkid", "echo PTTYPE=gpt")
    programs.add("fsck", "")
    programs.add("mkfs.ext4", "")
    mounts = FakeMounts()
    mounts.fail_at(1, HostError("mount failed: wrong fs type"))
    with pytest.raises(WrongFilesystem, match="mount failed: wrong fs type"):
        format_and_mount(mounts, DEVICE, tmp_path, "ext4")
    assert [line.split()[0] for line in programs.runs()] == ["blkid"]


@pytest.mark.parametrize("where", ["options", "sensitive"])
def test_an_empty_device_is_not_mounted_read_only(
    programs: FakePrograms,
    tmp_path: Path,
    where: str,
) -> None:
    programs.add("blkid", "exit 2")
    programs.add("mkfs.ext4", "")
    mounts = FakeMounts()
    options, sensitive = (["ro"], []) if where == "options" else ([], ["ro"])
    with pytest.raises(Unformatted) as refused:
        format_and_mount(mounts, DEVICE, tmp_path, "ext4", options, sensitive=sensitive)
    assert str(refused.value) == (
        f"cannot mount unformatted disk {DEVICE} as we are manipulating it in read-only mode"
    )
    assert mounts.calls == []


def test_a_mount_of_what_was_wanted_fails_as_itself(programs: FakePrograms, tmp_path: Path) -> None:
    programs.add("blkid", "echo TYPE=ext4")
    programs.add("fsck", "")
    mounts = FakeMounts()
    mounts.fail_at(1, HostError("mount failed: no room"))
    with pytest.raises(HostError, match="no room") as failed:
        format_and_mount(mounts, DEVICE, tmp_path, "ext4")
    assert not isinstance(failed.value, WrongFilesystem)


def test_an_ordinary_file_is_never_formatted(programs: FakePrograms, tmp_path: Path) -> None:
    file = tmp_path / "letter.txt"
    file.write_text("Dear reader")
    programs.add("blkid", "exit 2")
    programs.add("mkfs.ext4", "")
    with pytest.raises(HostError, match="is not a block device, so it is not formatted"):
        format_and_mount(FakeMounts(), file, tmp_path, "ext4")
    assert file.read_text() == "Dear reader"
    assert "mkfs" not in " ".join(programs.runs())


def test_a_device_that_blkid_cannot_read_is_missing_not_empty(programs: FakePrograms) -> None:
    programs.add("blkid", "exit 2")
    with pytest.raises(HostError, match="is not a block device"):
        confirm_empty(DEVICE)


def test_a_path_is_no_file_system(tmp_path: Path) -> None:
    with pytest.raises(HostError, match=r'"\.\./x" is not the name of a file system'):
        format_and_mount(FakeMounts(), DEVICE, tmp_path, "../x")
