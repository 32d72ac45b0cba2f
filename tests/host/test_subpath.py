"""subPath with real mounts, and somebody who swaps directories meanwhile."""

import os
import re
import shutil
import socket
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from mooring.errors import HostError
from mooring.host import no_follow, subpath
from mooring.host.mount import Mounts
from mooring.host.subpath import SubPathMount
from tests.fakes.system_calls import SystemCalls
from tests.host.attacker import attacking, exchange
from tests.host.broken_mounts import mount_of_the_dead

REFUSED = 'failed to prepare subPath for volumeMount "data" of container "web"'


@pytest.fixture
def volume(place: Path, mounts: Mounts) -> Path:
    """A volume of its own file system, beside a host that has secrets."""
    (place / "pod").mkdir()
    (place / "host").mkdir()
    (place / "host" / "marker").write_text("host")
    volume = place / "volume"
    volume.mkdir()
    mounts.mount("tmpfs", volume, "tmpfs", ["size=1m"])
    (volume / "dir").mkdir()
    (volume / "dir" / "marker").write_text("volume")
    (volume / "file").write_text("volume")
    return volume


def a_mount(volume: Path, path: str) -> SubPathMount:
    return SubPathMount(
        volume_path=volume,
        sub_path=path,
        pod_dir=volume.parent / "pod",
        volume="pv",
        container="web",
        mount="data",
        index=0,
    )


def clean(volume: Path, mounts: Mounts) -> None:
    subpath.clean(volume.parent / "pod", "pv", mounts)
    assert mounts.table().below(volume.parent / "pod") == ()
    assert os.listdir(volume.parent / "pod") == []


def test_a_directory_is_shared_with_the_volume(volume: Path, mounts: Mounts) -> None:
    target = subpath.prepare(a_mount(volume, "dir"), mounts)
    (target / "new").write_text("from the container")
    assert (volume / "dir" / "new").read_text() == "from the container"
    clean(volume, mounts)
    assert (volume / "dir" / "new").read_text() == "from the container"


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))


def make_device(path: Path) -> None:
    os.mknod(path, stat.S_IFBLK | 0o600, os.makedev(7, 255))


KINDS: dict[str, Callable[[Path], None]] = {
    "a file": Path.touch,
    "a FIFO": os.mkfifo,
    "a socket": make_socket,
    "a device": make_device,
}


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_anything_else_is_bound_onto_a_file(
    volume: Path, mounts: Mounts, make: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(volume)  # the path of a socket must be short
    make(Path("thing"))
    target = subpath.prepare(a_mount(volume, "thing"), mounts)
    assert os.path.samestat(target.stat(), (volume / "thing").stat())
    clean(volume, mounts)


def test_a_link_to_the_root_of_the_machine(volume: Path, mounts: Mounts) -> None:
    (volume / "root").symlink_to("/")
    with pytest.raises(HostError, match=re.escape(REFUSED)):
        subpath.prepare(a_mount(volume, "root"), mounts)
    assert os.listdir(volume.parent / "pod") == []


def test_new_directories_inherit_mode_and_group(volume: Path, mounts: Mounts) -> None:
    os.chown(volume, -1, 2000)
    volume.chmod(0o2770)
    before = os.umask(0o077)
    try:
        target = subpath.prepare(a_mount(volume, "new/deep"), mounts)
    finally:
        os.umask(before)
    for path in (volume / "new", volume / "new" / "deep", target):
        seen = path.stat()
        assert (stat.S_IMODE(seen.st_mode), seen.st_gid) == (0o2770, 2000)


def test_a_restarted_container_gets_the_same_mount(volume: Path, mounts: Mounts) -> None:
    first = subpath.prepare(a_mount(volume, "file"), mounts)
    mount_id = mounts.table().find(first)
    assert subpath.prepare(a_mount(volume, "file"), mounts) == first
    assert mounts.table().find(first) == mount_id


@pytest.mark.parametrize("replacement", ["file", "directory"])
def test_another_file_in_its_place_is_bound_anew(
    volume: Path, mounts: Mounts, replacement: str
) -> None:
    subpath.prepare(a_mount(volume, "file"), mounts)
    (volume / "file").unlink()
    if replacement == "file":
        (volume / "file").write_text("other")
    else:
        (volume / "file").mkdir()
    target = subpath.prepare(a_mount(volume, "file"), mounts)
    assert os.path.samestat(target.stat(), (volume / "file").stat())
    assert len(mounts.table().below(target)) == 1
    clean(volume, mounts)


def test_mounts_on_top_of_each_other_are_all_replaced(volume: Path, mounts: Mounts) -> None:
    target = subpath.prepare(a_mount(volume, "dir"), mounts)
    for _ in range(2):
        mounts.bind(volume.parent / "host", target)
    subpath.prepare(a_mount(volume, "dir"), mounts)
    assert (target / "marker").read_text() == "volume"
    clean(volume, mounts)


def test_a_directory_deleted_by_its_container_is_cleaned_up(volume: Path, mounts: Mounts) -> None:
    subpath.prepare(a_mount(volume, "dir"), mounts)
    shutil.rmtree(volume / "dir")
    clean(volume, mounts)


def test_a_broken_mount_is_cleaned_up(volume: Path, mounts: Mounts) -> None:
    target = subpath.prepare(a_mount(volume, "dir"), mounts)
    mounts.unmount(target)
    mount_of_the_dead(target)
    clean(volume, mounts)


def test_a_broken_mount_is_replaced(volume: Path, mounts: Mounts) -> None:
    target = subpath.prepare(a_mount(volume, "dir"), mounts)
    mounts.unmount(target)
    mount_of_the_dead(target)
    subpath.prepare(a_mount(volume, "dir"), mounts)
    assert (target / "marker").read_text() == "volume"
    clean(volume, mounts)


def test_a_nested_mount_in_the_volume_is_part_of_it(volume: Path, mounts: Mounts) -> None:
    mounts.mount("tmpfs", volume / "dir", "tmpfs")
    (volume / "dir" / "inner").mkdir()
    target = subpath.prepare(a_mount(volume, "dir/inner"), mounts)
    assert os.path.samestat(target.stat(), (volume / "dir" / "inner").stat())
    clean(volume, mounts)


def test_a_read_only_volume_stays_so(volume: Path, mounts: Mounts) -> None:
    shown = volume.parent / "shown"
    shown.mkdir()
    mounts.bind(volume, shown, ["ro"])
    target = subpath.prepare(a_mount(shown, "dir"), mounts)
    with pytest.raises(OSError, match="Read-only"):
        (target / "new").touch()
    with pytest.raises(HostError, match="failed to create subPath directory"):
        subpath.prepare(a_mount(shown, "missing"), mounts)


@pytest.fixture
def trap(volume: Path) -> tuple[Path, Path]:
    """A directory of the volume, and the link to the host that may take its place."""
    shutil.copytree(volume / "dir", volume / "x")
    (volume / "x" / "sub").mkdir()
    (volume / "x" / "sub" / "marker").write_text("volume")
    (volume.parent / "host" / "sub").mkdir()
    (volume.parent / "host" / "sub" / "marker").write_text("host")
    (volume / "y").symlink_to(volume.parent / "host")
    return volume / "x", volume / "y"


def assert_inside(target: Path, volume: Path) -> None:
    """What the container would get is on the volume, and the host has got nothing new."""
    assert target.stat().st_dev == volume.stat().st_dev
    marker = target / "marker"
    assert not marker.exists() or marker.read_text() == "volume"


@pytest.mark.parametrize("way", ["in one call", "by steps"])
@pytest.mark.parametrize("swapped_for", [1, 2, 3, 1_000])
@pytest.mark.parametrize("path", ["x", "x/sub", "x/new/er", "y", "y/new"])
def test_an_attacker_strikes_at_every_system_call(
    volume: Path,
    mounts: Mounts,
    trap: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
    way: str,
    swapped_for: int,
    path: str,
) -> None:
    host = volume.parent / "host"
    if way == "by steps":
        monkeypatch.setattr(no_follow, "open_at_once", no_follow.open_by_steps)
    at = calls = 0
    while calls >= at:
        at += 1
        attack = SystemCalls(_swaps(at, at + swapped_for, trap))
        with monkeypatch.context() as patch:
            attack.install(patch, subpath, no_follow)
            with suppress(HostError):
                assert_inside(subpath.prepare(a_mount(volume, path), mounts), volume)
        calls = attack.count
        assert sorted(os.listdir(host)) == ["marker", "sub"]
        clean(volume, mounts)
        _reset(trap)
    assert at > 4  # the attacker did meet the calls


def _swaps(first: int, second: int, trap: tuple[Path, Path]) -> Callable[[int], None]:
    def strike(number: int) -> None:
        if number in (first, second):
            exchange(*trap)

    return strike


def _reset(trap: tuple[Path, Path]) -> None:
    if trap[0].is_symlink():
        exchange(*trap)
    shutil.rmtree(trap[0] / "new", ignore_errors=True)


@pytest.mark.parametrize("path", ["x", "x/sub", "x/new"])
def test_an_attacker_swaps_without_rest(
    volume: Path, mounts: Mounts, trap: tuple[Path, Path], path: str
) -> None:
    host = volume.parent / "host"
    with attacking(*trap):
        for _ in range(100):
            with suppress(HostError):
                assert_inside(subpath.prepare(a_mount(volume, path), mounts), volume)
            clean(volume, mounts)
    assert sorted(os.listdir(host)) == ["marker", "sub"]
