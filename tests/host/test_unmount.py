"""Unmounting for real, and knowing what is mounted."""

from pathlib import Path

import pytest

from mooring.errors import HostError, KernelRefused
from mooring.host.mount import Mounts
from tests.fakes.programs import FakePrograms
from tests.host.broken_mounts import mount_of_the_dead
from tests.host.conftest import NeedsTool


def test_once_and_again(mounts: Mounts, target: Path) -> None:
    mounts.mount("tmpfs", target, "tmpfs")
    mounts.unmount(target)
    assert not mounts.is_mount_point(target)
    mounts.unmount(target)


def test_what_is_missing_is_not_mounted(mounts: Mounts, place: Path) -> None:
    (place / "file").touch()
    for path in (place / "no", place / "no" / "deeper", place / "file", place / "file" / "below"):
        mounts.unmount(path)
        assert not mounts.is_mount_point(path)


def test_the_upper_of_two_goes_first(mounts: Mounts, target: Path) -> None:
    mounts.mount("lower", target, "tmpfs")
    mounts.mount("upper", target, "tmpfs")
    mounts.unmount(target)
    assert [entry.source for entry in mounts.table().below(target)] == ["lower"]
    assert mounts.is_mount_point(target)


def test_a_busy_mount_stays(mounts: Mounts, target: Path) -> None:
    mounts.mount("tmpfs", target, "tmpfs")
    with (target / "file").open("w"), pytest.raises(KernelRefused) as refused:
        mounts.unmount(target)
    assert str(refused.value) == (
        "unmount failed: device or resource busy\n"
        f"Unmounting arguments: {target}\nOutput: umount: {target}: target is busy."
    )
    assert mounts.is_mount_point(target)


def test_a_link_to_a_mount_is_none(mounts: Mounts, place: Path, target: Path) -> None:
    mounts.mount("tmpfs", target, "tmpfs")
    (place / "link").symlink_to(target)
    assert not mounts.is_mount_point(place / "link")
    mounts.unmount(place / "link")
    assert mounts.is_mount_point(target)


def test_a_way_through_a_link_is_fine(mounts: Mounts, place: Path, target: Path) -> None:
    (place / "link").symlink_to(place)
    mounts.mount("tmpfs", place / "link" / "target", "tmpfs")
    assert mounts.is_mount_point(target)
    assert mounts.is_mount_point(place / "link" / "target")
    mounts.unmount(place / "link" / "target")
    assert not mounts.is_mount_point(target)


def test_a_bind_within_one_file_system_is_a_mount_point(
    mounts: Mounts, place: Path, target: Path
) -> None:
    (place / "source").mkdir()
    assert not mounts.is_mount_point(target)
    mounts.bind(place / "source", target)
    assert mounts.is_mount_point(target)
    assert not mounts.is_mount_point(place / "source")


def test_a_mount_hidden_under_another_is_out_of_sight(
    mounts: Mounts, place: Path, target: Path
) -> None:
    inner = target / "inner"
    inner.mkdir()
    mounts.mount("tmpfs", inner, "tmpfs")
    mounts.mount("tmpfs", target, "tmpfs")
    assert not mounts.is_mount_point(inner)
    assert mounts.table().find(inner) is None
    inner.mkdir()
    assert not mounts.is_mount_point(inner)


def test_a_kernel_that_does_not_tell_mount_roots(
    mounts: Mounts, place: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mooring.host.mount_calls._STATX_ATTR_MOUNT_ROOT", 0)
    (place / "source").mkdir()
    mounts.bind(place / "source", target)
    assert mounts.is_mount_point(target)
    assert not mounts.is_mount_point(place / "source")


def test_a_way_that_goes_in_circles_leads_nowhere(mounts: Mounts, place: Path) -> None:
    (place / "circle").symlink_to(place / "circle")
    assert not mounts.is_mount_point(place / "circle" / "x")


def test_a_broken_mount_is_one(mounts: Mounts, target: Path, needs_filesystem: NeedsTool) -> None:
    needs_filesystem("fuse")
    mount_of_the_dead(target)
    with pytest.raises(OSError, match="not connected"):
        target.stat()
    assert mounts.is_mount_point(target)
    mounts.unmount(target)
    assert not mounts.is_mount_point(target)


def test_force_comes_when_the_time_is_over(
    mounts: Mounts, target: Path, programs: FakePrograms
) -> None:
    mounts.mount("tmpfs", target, "tmpfs")
    programs.add("umount", f'test "$1" = -f || exec sleep 60; exec /bin/umount {target}')
    mounts.unmount_by_force(target, 0.2)
    assert not mounts.is_mount_point(target)
    assert programs.runs() == [f"umount {target}", f"umount -f {target}"]


def test_what_force_does_not_end_is_detached(
    mounts: Mounts, target: Path, programs: FakePrograms
) -> None:
    mounts.mount("tmpfs", target, "tmpfs")
    programs.add("umount", "exec sleep 60")
    with (target / "file").open("w") as held:
        mounts.unmount_by_force(target, 0.2)
        assert not mounts.is_mount_point(target)
        held.write("it is still there for those who have it open")
    assert programs.runs() == [f"umount {target}", f"umount -f {target}"]


def test_in_time_there_is_no_force(mounts: Mounts, target: Path, programs: FakePrograms) -> None:
    mounts.mount("tmpfs", target, "tmpfs")
    programs.add("umount", f"exec /bin/umount {target}")
    mounts.unmount_by_force(target, 30)
    assert programs.runs() == [f"umount {target}"]


def test_a_busy_mount_is_not_forced(mounts: Mounts, target: Path) -> None:
    mounts.mount("tmpfs", target, "tmpfs")
    with (target / "file").open("w"), pytest.raises(HostError) as refused:
        mounts.unmount_by_force(target, 30)
    assert str(refused.value).startswith("unmount failed: exit status 32\nUnmounting arguments: ")
    assert mounts.is_mount_point(target)
