"""The directory of a pod: made, and removed with care. With mounts in it: tests/host."""

import errno
import stat
from pathlib import Path

import pytest

from mooring.errors import HostError, KernelRefused
from mooring.node.pod_directory import PodDirectories
from mooring.plugins.layout import Layout
from tests.fakes.mounts import FakeMounts

UID = "1c5d3a0e-0000-4000-8000-000000000001"


class World:
    def __init__(self, root: Path) -> None:
        self.layout = Layout(root)
        self.directories = PodDirectories(self.layout, FakeMounts())

    def volume(self, *inside: str) -> Path:
        path = self.layout.volume(UID, "kubernetes.io/local-volume", "pv").joinpath(*inside)
        path.mkdir(parents=True, exist_ok=True)
        return path


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def test_a_pod_gets_its_directories(world: World) -> None:
    await world.directories.make(UID)
    await world.directories.make(UID)
    pod = world.layout.pod(UID)
    for path in (pod, pod / "volumes", pod / "plugins"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o750, path


async def test_a_place_that_is_taken_by_a_file(world: World) -> None:
    world.layout.pods.mkdir(parents=True)
    world.layout.pod(UID).touch()
    with pytest.raises(HostError):
        await world.directories.make(UID)


async def test_empty_directories_of_volumes_go(world: World) -> None:
    await world.directories.make(UID)
    world.volume()
    devices = world.layout.devices(UID) / "kubernetes.io~csi"
    devices.mkdir(parents=True)
    await world.directories.remove(UID)
    assert not world.layout.pod(UID).exists()


async def test_what_is_gone_needs_no_removing(world: World) -> None:
    await world.directories.remove(UID)
    assert not world.layout.pod(UID).exists()


async def test_a_file_in_a_volume_stays_with_all_above_it(world: World) -> None:
    kept = world.volume() / "data"
    kept.write_text("precious")
    other = world.layout.pod(UID) / "plugins" / "mark"
    other.mkdir(parents=True)
    with pytest.raises(KernelRefused) as refusal:
        await world.directories.remove(UID)
    assert refusal.value.errno == errno.ENOTEMPTY
    assert kept.read_text() == "precious"
    assert other.exists()


async def test_a_directory_in_a_volume_stays_with_all_above_it(world: World) -> None:
    kept = world.volume("inside")
    with pytest.raises(KernelRefused):
        await world.directories.remove(UID)
    assert kept.exists()


async def test_targets_of_subpaths_go_when_they_are_empty(world: World) -> None:
    directory = world.layout.subpath(UID, "pv", "main", 0)
    directory.mkdir(parents=True)
    world.layout.subpath(UID, "pv", "main", 1).touch()
    await world.directories.remove(UID)
    assert not world.layout.pod(UID).exists()


async def test_a_target_of_a_subpath_with_something_in_it_stays(world: World) -> None:
    kept = world.layout.subpath(UID, "pv", "main", 0) / "file"
    kept.parent.mkdir(parents=True)
    kept.touch()
    with pytest.raises(KernelRefused):
        await world.directories.remove(UID)
    assert kept.exists()


async def test_marks_and_logs_go_with_what_is_in_them(world: World) -> None:
    marks = world.layout.pod_plugin(UID, "kubernetes.io/empty-dir", "scratch")
    marks.mkdir(parents=True)
    (marks / "ready").touch()
    (world.layout.pod(UID) / "etc-hosts").write_text("127.0.0.1 localhost")
    await world.directories.remove(UID)
    assert not world.layout.pod(UID).exists()


async def test_a_link_is_not_followed(world: World, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").touch()
    (world.volume().parent / "link").symlink_to(outside)
    with pytest.raises(KernelRefused):
        await world.directories.remove(UID)
    assert (outside / "file").exists()
