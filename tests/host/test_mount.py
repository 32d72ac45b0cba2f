"""Mounting for real."""

import ctypes
import errno
import os
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from mooring.errors import CommandFailed, HostError, KernelRefused
from mooring.host.mount import Mounts
from mooring.host.mountinfo import MountEntry
from tests.host.conftest import NeedsTool
from tests.host.disks import Disks

CAPABILITY_VERSION = 0x20080522


def entry_at(mounts: Mounts, path: Path) -> MountEntry:
    entry = mounts.table().find(path)
    assert entry is not None
    return entry


def test_memory_of_a_size(mounts: Mounts, target: Path) -> None:
    mounts.mount("tmpfs", target, "tmpfs", ["size=1048576", "noexec", "mode=0700"])
    told = os.statvfs(target)
    assert told.f_blocks * told.f_frsize == 1048576
    assert target.stat().st_mode & 0o777 == 0o700
    entry = entry_at(mounts, target)
    assert (entry.fs_type, entry.source) == ("tmpfs", "tmpfs")
    assert "noexec" in entry.options


def test_huge_pages(mounts: Mounts, target: Path, needs_filesystem: NeedsTool) -> None:
    needs_filesystem("hugetlbfs")
    mounts.mount("nodev", target, "hugetlbfs", ["pagesize=2M"])
    assert "pagesize=2M" in entry_at(mounts, target).super_options


def test_read_only(mounts: Mounts, target: Path) -> None:
    mounts.mount("tmpfs", target, "tmpfs", ["ro", "defaults", "nofail"])
    with pytest.raises(OSError, match="Read-only file system"):
        (target / "file").touch()


def test_remount(mounts: Mounts, target: Path) -> None:
    mounts.mount("tmpfs", target, "tmpfs", ["ro"])
    mounts.mount("tmpfs", target, "tmpfs", ["remount", "rw"])
    (target / "file").touch()
    assert len(mounts.table().below(target)) == 1


def test_bind_among_the_options_is_a_bind(mounts: Mounts, place: Path, target: Path) -> None:
    (place / "source").mkdir()
    (place / "source" / "file").touch()
    mounts.mount(str(place / "source"), target, "", ["bind", "ro"], sensitive=["password=x"])
    assert (target / "file").exists()
    assert entry_at(mounts, target).is_read_only


def test_no_type_is_found_out_by_mount_8(mounts: Mounts, target: Path, disks: Disks) -> None:
    mounts.mount(str(disks.formatted("ext2")), target, "")
    assert entry_at(mounts, target).fs_type == "ext2"


def test_a_write_protected_device_is_mounted_read_only(
    mounts: Mounts, target: Path, disks: Disks
) -> None:
    written = disks.formatted("ext4")
    device = disks.device_of(disks.backing_of(written), "--read-only")
    mounts.mount(str(device), target, "ext4", ["defaults"])
    assert entry_at(mounts, target).is_read_only


def test_a_write_protected_device_is_not_mounted_when_rw_is_asked_for(
    mounts: Mounts, target: Path, disks: Disks
) -> None:
    device = disks.empty(8, "--read-only")
    with pytest.raises(KernelRefused, match="is it write-protected"):
        mounts.mount(str(device), target, "ext4", ["rw"])


REFUSED = {
    "an unknown type": ("x", "no-such-fs", (), errno.ENODEV, "unknown filesystem type"),
    "an unknown option": ("x", "tmpfs", ("colour=red",), errno.EINVAL, "bad option"),
    "a device that is missing": ("/dev/no", "ext4", (), errno.ENOENT, "special device /dev/no"),
    "a device that is none": ("/etc/passwd", "ext4", (), errno.ENOTBLK, "not a block device"),
}


@pytest.mark.parametrize(
    ("source", "fs_type", "options", "number", "text"), REFUSED.values(), ids=REFUSED
)
def test_a_refusal_is_explained(
    mounts: Mounts,
    target: Path,
    source: str,
    fs_type: str,
    options: tuple[str, ...],
    number: int,
    text: str,
) -> None:
    with pytest.raises(KernelRefused, match=text) as refused:
        mounts.mount(source, target, fs_type, options)
    assert refused.value.errno == number
    assert str(refused.value).startswith("mount failed: ")
    assert not mounts.is_mount_point(target)


def test_a_missing_target(mounts: Mounts, place: Path) -> None:
    with pytest.raises(HostError, match="mount point does not exist"):
        mounts.mount("tmpfs", place / "no", "tmpfs")


def test_a_link_is_no_target(mounts: Mounts, place: Path, target: Path) -> None:
    (place / "link").symlink_to(target)
    with pytest.raises(HostError, match="is a symbolic link"):
        mounts.mount("tmpfs", place / "link", "tmpfs")
    assert not mounts.is_mount_point(target)


def test_options_longer_than_a_page_are_not_cut_off_in_silence(
    mounts: Mounts, target: Path
) -> None:
    with pytest.raises(HostError, match="longer than 4095 bytes"):
        mounts.mount("tmpfs", target, "tmpfs", [f"size={'0' * 5000}1"])


def test_a_nul_byte_does_not_shorten_a_path(mounts: Mounts, target: Path) -> None:
    with pytest.raises(HostError, match="NUL byte"):
        mounts.mount("tmpfs\0x", target, "tmpfs")


@pytest.mark.parametrize("fs_type", ["tmpfs", ""], ids=["by the kernel", "by mount(8)"])
def test_a_secret_is_in_no_error(
    mounts: Mounts, target: Path, fs_type: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    with pytest.raises((KernelRefused, CommandFailed)) as refused:
        mounts.mount("/dev/null", target, fs_type, ["ro"], sensitive=["password=hunter2"])
    assert "-o ro,<masked> /dev/null" in str(refused.value)
    told = f"{refused.value!r} {refused.value.__cause__!r} {refused.value.__dict__} {caplog.text}"
    assert "hunter2" not in told


@pytest.mark.parametrize("verb", ["mount", "bind", "unmount"])
def test_without_the_right_to_mount(mounts: Mounts, target: Path, verb: str) -> None:
    mounts.mount("tmpfs", target, "tmpfs")
    calls = {
        "mount": partial(mounts.mount, "tmpfs", target, "tmpfs"),
        "bind": partial(mounts.bind, Path("/"), target),
        "unmount": partial(mounts.unmount, target),
    }
    told = without_capabilities(calls[verb])
    assert told.startswith(("mount failed: operation not permitted", "unmount failed: operation"))
    assert "is for root alone (it needs CAP_SYS_ADMIN)" in told


def without_capabilities(call: Callable[[], None]) -> str:
    """The HostError that `call` raises in a child without any rights."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            ctypes.CDLL(None).capset(struct.pack("Ii", CAPABILITY_VERSION, 0), bytes(24))
            call()
        except HostError as error:
            os.write(writing, str(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    return told


def test_sharing_binds_a_directory_onto_itself(mounts: Mounts, place: Path, target: Path) -> None:
    mounts.mount("tmpfs", place, "tmpfs")  # private, whatever this machine's root is
    target.mkdir()
    mounts.make_shared(target)
    assert entry_at(mounts, target).is_shared
    mounts.make_shared(target)
    assert len(mounts.table().below(target)) == 1


def test_sharing_a_mount_point_needs_no_bind(mounts: Mounts, target: Path) -> None:
    mounts.mount("tmpfs", target, "tmpfs")
    mounts.make_shared(target)
    assert [entry.is_shared for entry in mounts.table().below(target)] == [True]


def test_below_a_shared_mount_all_is_shared(mounts: Mounts, target: Path) -> None:
    mounts.mount("tmpfs", target, "tmpfs")
    mounts.make_shared(target)
    (target / "pods").mkdir()
    mounts.make_shared(target / "pods")
    assert not mounts.is_mount_point(target / "pods")
