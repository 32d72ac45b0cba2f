"""The directory of a pod, with real mounts in it."""

import asyncio
from pathlib import Path

import pytest

from mooring.errors import HostError
from mooring.host.mount import Mounts
from mooring.host.mountinfo import MountTable
from mooring.node.pod_directory import PodDirectories
from mooring.plugins.layout import Layout
from tests.fakes.waiting import until

UID = "1c5d3a0e-0000-4000-8000-000000000001"
SECONDS = 10


class CountingMounts(Mounts):
    """Counts how often the table was looked at."""

    looks = 0

    def table(self) -> MountTable:
        found = super().table()
        self.looks += 1
        return found


class World:
    def __init__(self, root: Path) -> None:
        self.layout = Layout(root)
        self.mounts = CountingMounts()
        self.directories = PodDirectories(self.layout, self.mounts)

    def mount(self, target: Path) -> None:
        target.mkdir(parents=True)
        self.mounts.mount("tmpfs", target, "tmpfs")
        (target / "precious").touch()


@pytest.fixture
def world(place: Path) -> World:
    return World(place)


def places(layout: Layout) -> dict[str, Path]:
    return {
        "a volume": layout.volume(UID, "kubernetes.io/local-volume", "pv"),
        "what a CSI driver mounts": layout.volume(UID, "kubernetes.io/csi", "pv") / "mount",
        "a subPath": layout.subpath(UID, "pv", "main", 0),
        "anything else": layout.pod(UID) / "containers" / "main",
    }


@pytest.mark.parametrize("name", places(Layout(Path("/"))))
async def test_what_is_mounted_is_not_touched_but_waited_for(world: World, name: str) -> None:
    target = places(world.layout)[name]
    world.mount(target)
    removing = asyncio.create_task(world.directories.remove(UID))
    await until(lambda: world.mounts.looks >= 3)  # found, looked again, and once the watch began
    assert not removing.done()
    assert (target / "precious").exists()
    world.mounts.unmount(target)
    if name == "what a CSI driver mounts":
        target.rmdir()  # as its driver does
    async with asyncio.timeout(SECONDS):
        await removing
    assert not world.layout.pod(UID).exists()


async def test_what_is_left_after_a_mount_went_is_told(world: World) -> None:
    target = places(world.layout)["a volume"]
    target.mkdir(parents=True)
    (target / "beneath").touch()
    world.mounts.mount("tmpfs", target, "tmpfs")
    removing = asyncio.create_task(world.directories.remove(UID))
    await until(lambda: world.mounts.looks >= 3)
    world.mounts.unmount(target)
    async with asyncio.timeout(SECONDS):
        with pytest.raises(HostError):
            await removing
    assert (target / "beneath").exists()
