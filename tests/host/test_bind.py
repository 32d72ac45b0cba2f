"""Binds: what they show, what restricts them, and that the source is left as it was."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mooring.errors import HostError, KernelRefused
from mooring.host import mount_calls
from mooring.host.mount import Mounts
from mooring.host.mount_options import MountFlag

Bind = Callable[[Path, Path, MountFlag], None]
WAYS = {"at once": mount_calls.bind_at_once, "in two steps": mount_calls.bind_in_two_steps}


@pytest.fixture
def source(place: Path) -> Path:
    path = place / "source"
    path.mkdir()
    (path / "file").write_text("content")
    return path


@pytest.fixture(params=WAYS)
def bound(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Binds are made in this one of the two ways."""
    monkeypatch.setattr(mount_calls, "bind_at_once", WAYS[request.param])


def options_at(mounts: Mounts, path: Path) -> tuple[str, ...]:
    entry = mounts.table().find(path)
    assert entry is not None
    return entry.options


def test_the_tree_appears(mounts: Mounts, source: Path, target: Path) -> None:
    mounts.bind(source, target)
    (target / "new").touch()
    assert (source / "new").exists()
    assert mounts.table().references(source) == (target,)


def test_read_only_and_the_source_still_writable(
    mounts: Mounts, source: Path, target: Path
) -> None:
    mounts.bind(source, target, ["ro"])
    with pytest.raises(OSError, match="Read-only file system"):
        (target / "new").touch()
    (source / "new").touch()


def test_the_mounts_inside_stay_behind(mounts: Mounts, source: Path, target: Path) -> None:
    (source / "inner").mkdir()
    mounts.mount("tmpfs", source / "inner", "tmpfs")
    (source / "inner" / "hidden").touch()
    mounts.bind(source, target)
    assert list((target / "inner").iterdir()) == []


def test_a_file(mounts: Mounts, source: Path, place: Path) -> None:
    (place / "file").touch()
    mounts.bind(source / "file", place / "file")
    assert (place / "file").read_text() == "content"
    assert mounts.is_mount_point(place / "file")


def test_what_a_descriptor_holds(mounts: Mounts, source: Path, target: Path) -> None:
    descriptor = os.open(source, os.O_PATH)
    source.rename(source.with_name("renamed"))
    source.mkdir()
    try:
        mounts.bind(Path(f"/proc/self/fd/{descriptor}"), target, ["ro"])
    finally:
        os.close(descriptor)
    assert (target / "file").read_text() == "content"


RESTRICTIONS = {
    "nosuid and nodev of the source stay": (["nosuid", "nodev"], [], {"nosuid", "nodev"}),
    "a read-only source stays so": (["ro"], ["rw"], {"ro"}),
    "the source cannot be loosened": (["noexec"], ["exec"], {"noexec"}),
    "options add to it": (["nosuid"], ["noexec", "ro"], {"nosuid", "noexec", "ro"}),
    "noatime of the source stays": (["noatime"], ["relatime"], {"noatime"}),
    "noatime is added": ([], ["noatime", "nodiratime"], {"noatime", "nodiratime"}),
    "strictatime wins": (["noatime"], ["strictatime"], set()),
    "other options mean nothing": ([], ["nfsvers=4", "_netdev", "size=1"], {"relatime"}),
}


@pytest.mark.parametrize(("of_source", "added", "then"), RESTRICTIONS.values(), ids=RESTRICTIONS)
def test_restrictions(
    mounts: Mounts,
    source: Path,
    target: Path,
    bound: None,
    of_source: list[str],
    added: list[str],
    then: set[str],
) -> None:
    mounts.mount("tmpfs", source, "tmpfs", of_source)
    mounts.bind(source, target, added)
    options = set(options_at(mounts, target))
    shown = {"ro", "nosuid", "nodev", "noexec", "noatime", "relatime", "nodiratime"}
    assert options & shown - ({"relatime"} - then) == then
    assert ("relatime" in options) is not bool({"noatime", "strictatime"} & {*of_source, *added})


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_shared_source_shares_with_its_bind(
    mounts: Mounts, source: Path, target: Path, way: Bind
) -> None:
    mounts.mount("tmpfs", source, "tmpfs")
    mounts.make_shared(source)
    (source / "inner").mkdir()
    way(source, target, MountFlag(0))
    mounts.mount("tmpfs", source / "inner", "tmpfs")
    assert mounts.is_mount_point(target / "inner")


def test_a_kernel_without_the_newer_calls(
    mounts: Mounts, source: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mount_calls, "_OPEN_TREE", 9999)  # ENOSYS
    mounts.bind(source, target, ["ro"])
    assert "ro" in options_at(mounts, target)


def test_half_a_bind_is_undone(
    mounts: Mounts, source: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = mount_calls.mount

    def without_remount(
        source: str, target: Path, fs_type: str, flags: MountFlag, data: str = ""
    ) -> None:
        if MountFlag.REMOUNT in flags:
            raise KernelRefused("no remount today", 1)
        real(source, target, fs_type, flags, data)

    monkeypatch.setattr(mount_calls, "mount", without_remount)
    with pytest.raises(KernelRefused, match="no remount today"):
        mount_calls.bind_in_two_steps(source, target, MountFlag.RDONLY)
    assert not mounts.is_mount_point(target)


def test_a_missing_source(mounts: Mounts, place: Path, target: Path) -> None:
    with pytest.raises(HostError, match=rf"{place}/no: no such file or directory"):
        mounts.bind(place / "no", target)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_directory_does_not_fit_on_a_file(
    mounts: Mounts, source: Path, place: Path, way: Bind
) -> None:
    (place / "file").touch()
    with pytest.raises(KernelRefused, match="a directory does not fit on"):
        way(source, place / "file", MountFlag(0))
    assert not mounts.is_mount_point(place / "file")


def test_a_link_is_no_target(mounts: Mounts, source: Path, place: Path, target: Path) -> None:
    (place / "link").symlink_to(target)
    with pytest.raises(HostError, match="is a symbolic link"):
        mounts.bind(source, place / "link")
