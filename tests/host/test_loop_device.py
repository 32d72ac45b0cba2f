"""Loop devices for real."""

import os
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mooring.errors import HostError, KernelRefused
from mooring.host import loop_backing, loop_device
from mooring.host.block_device import is_busy, is_read_only, size_bytes
from mooring.host.loop_backing import Backing
from mooring.host.loop_device import Access
from mooring.host.mount import Mounts
from mooring.host.open_elsewhere import Opener, is_open_elsewhere
from tests.fakes.waiting import until
from tests.host.conftest import NeedsTool, loop_devices
from tests.host.disks import MIB, Disks, read, write


async def until_free(device: Path) -> None:
    """A device goes when the last one closes it; some other program may just look at it."""
    await until(lambda: str(device) not in dict(loop_devices()))


async def test_there_and_back(disks: Disks) -> None:
    file = disks.file(3)
    device = loop_device.attach(file)
    assert size_bytes(device) == 3 * MIB
    assert not is_read_only(device)
    write(device, b"hello", at=MIB)
    os.sync()
    assert read(file, 5, at=MIB) == b"hello"
    assert loop_device.find(file) == device
    loop_device.detach(device)
    await until_free(device)
    assert loop_device.find(file) is None


async def test_detaching_twice_and_what_never_was(disks: Disks) -> None:
    device = loop_device.attach(disks.file(1))
    loop_device.detach(device)
    await until_free(device)
    loop_device.detach(device)
    loop_device.detach(Path("/dev/loop99999"))


def test_a_second_device_only_when_asked_for(disks: Disks) -> None:
    file = disks.file(1)
    first = loop_device.find_or_attach(file)
    assert loop_device.find_or_attach(file) == first
    assert loop_device.attach(file) != first


async def test_by_its_backing(disks: Disks) -> None:
    file = disks.file(1)
    device = loop_device.attach(file)
    loop_device.detach_backing(file)
    await until_free(device)
    loop_device.detach_backing(file)


def test_a_lock_that_another_process_just_looks_at_is_free_when_it_has_looked(
    disks: Disks,
) -> None:
    file = disks.file(1)
    descriptor = os.open(loop_device.attach(file), os.O_RDONLY)
    looking = threading.Timer(0.2, os.close, [descriptor])
    looking.start()
    loop_device.detach_backing(file)
    assert loop_device.find(file) is None
    looking.join()


def test_read_only_as_asked(disks: Disks) -> None:
    assert is_read_only(loop_device.attach(disks.file(1), Access.READ_ONLY))


def test_read_only_because_the_file_system_is(mounts: Mounts, disks: Disks, target: Path) -> None:
    file = disks.file(1)
    mounts.bind(file.parent, target, ["ro"])
    assert is_read_only(loop_device.attach(target / file.name))


def test_a_missing_backing(disks: Disks, place: Path) -> None:
    with pytest.raises(HostError, match=f"open {place}/no: no such file or directory"):
        loop_device.attach(place / "no")
    assert loop_device.find(place / "no") is None
    assert not [name for _, name in loop_devices() if name.startswith(str(place))]


async def test_while_used_and_no_longer(mounts: Mounts, disks: Disks, target: Path) -> None:
    file = disks.backing_of(disks.formatted("ext4"))
    with loop_device.attached_while_used(file) as device:
        mounts.mount(str(device), target, "ext4")
    assert str(device) in dict(loop_devices())
    mounts.unmount(target)
    await until_free(device)


async def test_unused_it_does_not_outlive_the_block(disks: Disks) -> None:
    with loop_device.attached_while_used(disks.file(1)) as device:
        assert size_bytes(device) == MIB
    await until_free(device)


async def test_a_mounted_device_goes_with_its_mount(
    mounts: Mounts, disks: Disks, target: Path
) -> None:
    file = disks.backing_of(disks.formatted("ext4"))
    device = loop_device.attach(file)
    mounts.mount(str(device), target, "ext4")
    loop_device.detach(device)
    (target / "file").write_text("still there")
    mounts.unmount(target)
    await until_free(device)


def test_many_at_once_get_a_device_each(disks: Disks) -> None:
    files = [disks.file(1) for _ in range(24)]
    with ThreadPoolExecutor(12) as threads:
        devices = list(threads.map(loop_device.attach, files))
    assert len(set(devices)) == len(files)
    assert [loop_device.find(file) for file in files] == devices
    for device in devices:
        loop_device.detach(device)


NAMES = {"a blank at the end": "a ", "a newline": "a\nb", "like a removed one": "a (deleted)"}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_odd_names(disks: Disks, place: Path, name: str) -> None:
    file = disks.file(1).rename(place / name)
    device = loop_device.attach(file)
    assert loop_device.find(file) == device
    other = disks.file(1).rename(place / "a")
    assert loop_device.find(other) is None


def test_a_new_file_of_an_old_name_has_no_device(disks: Disks, place: Path) -> None:
    file = disks.file(1)
    loop_device.attach(file)
    file.unlink()
    assert loop_device.find(file) is None
    file.touch()
    assert loop_device.find(file) is None


def test_through_a_link(disks: Disks, place: Path) -> None:
    file = disks.file(1)
    (place / "link").symlink_to(file)
    assert loop_device.find_or_attach(place / "link") == loop_device.find_or_attach(file)


def test_growing_with_its_file(disks: Disks) -> None:
    file = disks.file(1)
    device = loop_device.attach(file)
    os.truncate(file, 2 * MIB)
    assert size_bytes(device) == MIB
    loop_device.follow_size(device)
    assert size_bytes(device) == 2 * MIB


FILE_SYSTEMS = ["ext4", "xfs", "btrfs", "tmpfs", "overlay"]


@pytest.fixture(params=FILE_SYSTEMS)
def store(
    request: pytest.FixtureRequest,
    disks: Disks,
    mounts: Mounts,
    place: Path,
    needs_tool: NeedsTool,
    needs_filesystem: NeedsTool,
) -> Path:
    """A directory on a file system of its own."""
    fs_type = request.param
    needs_filesystem(fs_type)
    where = place / "store"
    where.mkdir()
    if fs_type in ("tmpfs", "overlay"):
        mounts.mount("tmpfs", where, "tmpfs")
    else:
        needs_tool(f"mkfs.{fs_type}")
        mounts.mount(str(disks.formatted(fs_type)), where, fs_type)
    if fs_type == "overlay":
        for name in ("lower", "upper", "work", "merged"):
            (where / name).mkdir()
        layers = [f"{name}dir={where}/{name}" for name in ("lower", "upper", "work")]
        mounts.mount("overlay", where / "merged", "overlay", layers)
        return where / "merged"
    if fs_type == "btrfs":
        needs_tool("btrfs")
        subprocess.run(  # noqa: S603  a test's own words
            ["btrfs", "subvolume", "create", str(where / "sub")],  # noqa: S607  wherever it is
            check=True,
            capture_output=True,
        )
        return where / "sub"  # which has a device number of its own
    return where


def hide(mount_point: Path) -> None:
    """Let nobody reach a mount any more, though it is in use."""
    subprocess.run(["umount", "--lazy", str(mount_point)], check=True)  # noqa: S603, S607  a test's own words


async def test_it_is_known_by_its_file_whatever_the_name(
    store: Path, mounts: Mounts, target: Path
) -> None:
    file = store / "image"
    with file.open("wb") as opened:
        opened.truncate(MIB)
    mounts.bind(store, target)
    device = loop_device.attach(target / "image")
    hide(target)
    assert str(file) not in dict(loop_devices()).values()
    os.link(file, store / "second name")
    assert loop_device.find(file) == device
    assert loop_device.find(store / "second name") == device
    assert is_open_elsewhere(file, Opener.WRITER)
    loop_device.detach(device)
    await until_free(device)
    assert loop_device.find(file) is None
    assert not is_open_elsewhere(file, Opener.ANYBODY)


def test_the_file_of_a_reader_is_open_but_not_for_writing(disks: Disks) -> None:
    file = disks.file(1)
    loop_device.attach(file, Access.READ_ONLY)
    assert is_open_elsewhere(file, Opener.ANYBODY)
    assert not is_open_elsewhere(file, Opener.WRITER)


def test_nobody_knows_of_a_file_that_cannot_be_leased() -> None:
    assert is_open_elsewhere(Path("/dev/zero"), Opener.ANYBODY) is None


async def test_each_device_is_asked_once_while_it_stands_for_the_same_file(
    disks: Disks, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path] = []

    def ask(device: Path) -> Backing | None:
        asked.append(device)
        return really(device)

    really = loop_backing.ask
    monkeypatch.setattr(loop_backing, "ask", ask)
    first, second = disks.file(1), disks.file(1)
    device = loop_device.attach(first)
    for _ in range(3):
        assert loop_device.find(first) == device
    assert asked.count(device) == 1
    loop_device.detach(device)
    await until_free(device)
    assert loop_device.find(first) is None
    again = loop_device.attach(second)
    assert (loop_device.find(first), loop_device.find(second)) == (None, again)


@pytest.mark.parametrize("kernel_counts", [True, False], ids=["since 5.15", "before 5.15"])
def test_a_device_that_does_not_answer_keeps_nobody(
    disks: Disks, monkeypatch: pytest.MonkeyPatch, *, kernel_counts: bool
) -> None:
    if not kernel_counts:
        name = loop_backing.sysfs_backing_path
        monkeypatch.setattr(loop_backing, "_medium", lambda device: f"/{name(device)}")
    stuck, fine = loop_device.attach(disks.file(1)), disks.file(1)
    device = loop_device.attach(fine)
    never, asked = threading.Event(), []

    def ask(one: Path) -> Backing | None:
        asked.append(one)
        if one == stuck:
            never.wait()
        return really(one)

    really = loop_backing.ask
    monkeypatch.setattr(loop_backing, "ask", ask)
    monkeypatch.setattr(loop_backing, "ANSWER_SECONDS", 0.2)
    try:
        assert list(loop_device.find_all(fine)) == [device]
        assert list(loop_device.find_all(fine)) == [device]
        assert asked.count(stuck) == 1
    finally:
        never.set()


async def test_every_pod_has_a_lock_of_its_own_on_a_device_they_share(
    mounts: Mounts, disks: Disks, place: Path
) -> None:
    device = disks.empty(1)
    bound = [place / "pod-1", place / "pod-2"]
    for path in bound:
        path.touch()
        mounts.bind(device, path)
    first, second = map(loop_device.find_or_attach, bound)
    assert first != second
    loop_device.detach_backing(bound[0])
    await until_free(first)
    assert loop_device.find_or_attach(bound[1]) == second
    loop_device.detach_backing(bound[1])
    await until_free(second)


async def test_a_lock_on_the_device_of_a_block_volume(
    mounts: Mounts, disks: Disks, place: Path
) -> None:
    device, global_map = disks.empty(1), place / "pod-uid"
    global_map.touch()
    mounts.bind(device, global_map)
    lock = loop_device.find_or_attach(global_map)
    assert loop_device.find_or_attach(global_map) == lock
    assert lock != device
    assert size_bytes(lock) == MIB
    assert not is_busy(device)  # a lock is no claim
    loop_device.detach_backing(global_map)
    await until_free(lock)
    mounts.unmount(global_map)


def test_somebody_else_is_always_faster(disks: Disks, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = loop_device.attach(disks.file(1))
    monkeypatch.setattr(loop_device, "_free_device", lambda: taken)
    with pytest.raises(HostError, match="others took every free one first"):
        loop_device.attach(disks.file(1))


def test_a_kernel_that_takes_two_steps(disks: Disks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_device, "_CONFIGURE", 0x4CFF)
    file = disks.file(1)
    device = loop_device.attach(file)
    assert loop_device.find(file) == device
    assert is_read_only(loop_device.attach(disks.file(1), Access.READ_ONLY))


def test_what_is_no_loop_device(place: Path) -> None:
    (place / "file").touch()
    with pytest.raises(KernelRefused, match=r"detach .*inappropriate ioctl"):
        loop_device.detach(place / "file")
