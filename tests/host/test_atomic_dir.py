"""The atomic directory writer on file systems that fill up, and across mounts."""

import os
from pathlib import Path

import pytest

from mooring.errors import HostError, KernelRefused
from mooring.host import atomic_dir, tree
from mooring.host.atomic_dir import FileContent
from mooring.host.mount import Mounts


def test_a_full_disk_keeps_the_old_files_and_leaves_no_half_of_the_new(
    target: Path, mounts: Mounts
) -> None:
    mounts.mount("tmpfs", target, "tmpfs", ["size=64k"])
    atomic_dir.write(target, {"key": FileContent(b"old", 0o644)})
    before = sorted(os.listdir(target))
    too_much = {"key": FileContent(b"new", 0o644), "more": FileContent(bytes(100_000), 0o644)}
    with pytest.raises(KernelRefused, match="no space left on device"):
        atomic_dir.write(target, too_much)
    assert sorted(os.listdir(target)) == before
    assert (target / "key").read_bytes() == b"old"
    assert atomic_dir.write(target, {"key": FileContent(b"new", 0o644)})


def test_a_read_only_file_system_is_told(target: Path, mounts: Mounts) -> None:
    mounts.mount("tmpfs", target, "tmpfs", ["ro"])
    with pytest.raises(KernelRefused, match="read-only file system"):
        atomic_dir.write(target, {"key": FileContent(b"x", 0o644)})


@pytest.mark.parametrize("kind", ["tmpfs", "bind"])
def test_removing_never_enters_a_mount(place: Path, mounts: Mounts, kind: str) -> None:
    doomed, precious = place / "doomed", place / "precious"
    (doomed / "a" / "mounted").mkdir(parents=True)
    precious.mkdir()
    if kind == "tmpfs":
        mounts.mount("tmpfs", doomed / "a" / "mounted", "tmpfs")
    else:
        mounts.bind(precious, doomed / "a" / "mounted")
    (doomed / "a" / "mounted" / "data").write_text("x")
    with pytest.raises(HostError, match="busy"):
        tree.remove_path(doomed)
    assert (doomed / "a" / "mounted" / "data").read_text() == "x"
    with pytest.raises(HostError, match="busy"):
        tree.remove_path(doomed / "a" / "mounted")
    assert (doomed / "a" / "mounted" / "data").read_text() == "x"


def test_a_mount_in_an_old_generation_does_not_hinder_the_new(target: Path, mounts: Mounts) -> None:
    atomic_dir.write(target, dict.fromkeys(("d/key", "gone"), FileContent(b"old", 0o644)))
    old = target / os.readlink(target / "..data") / "d"
    mounts.mount("tmpfs", old, "tmpfs")
    (old / "data").write_text("x")
    assert atomic_dir.write(target, {"d/key": FileContent(b"new", 0o644)})
    assert (target / "d" / "key").read_bytes() == b"new"
    assert not os.path.lexists(target / "gone")
    assert (old / "data").read_text() == "x"
