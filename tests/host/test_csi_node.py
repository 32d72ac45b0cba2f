"""A node with CSI drivers on real mounts: one that a test scripts, and the bundled one."""

import asyncio
import os
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mooring.apiserver.auth.pki import Pki
from mooring.clock import RealClock
from mooring.csi.capability import Block, Mount, VolumeCapability, WireMode
from mooring.csi.channel import Connection
from mooring.csi.controller import Controller
from mooring.csi.outcome import Done
from mooring.csi.requests import AttachVolume, CreateVolume
from mooring.csi.volume import CapacityRange
from mooring.driver.serve import open_driver, serving
from mooring.driver.settings import MIB, NAME, DriverSettings
from mooring.host.mount import Mounts
from mooring.host.mountinfo import read_table
from tests.fakes.api import make_pki, running_api
from tests.fakes.csi_driver import FakeCsiDriver
from tests.fakes.csi_node import NODE, CsiNodeWorld
from tests.fakes.csi_played import MountingState
from tests.fakes.objects import DRIVERS, a_driver
from tests.fakes.waiting import until
from tests.host.conftest import NeedsTool, loop_devices
from tests.host.disks import Disks

pytestmark = pytest.mark.usefixtures("needs_root")

FAKE = "fake.csi.mooring.dev"
GROUP = 4321


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return make_pki(tmp_path_factory.mktemp("pki"))


class World(CsiNodeWorld):
    """Time passes by itself."""

    def mounted(self) -> list[str]:
        """What is mounted of volumes, as paths below the node's root."""
        root = self.root
        found = (entry.mount_point for entry in read_table().below(root))
        return sorted(str(path.relative_to(root)) for path in found if path != root)

    def files(self) -> list[str]:
        """What is left on disk of volumes."""
        places = (self.root / "pods", self.root / "plugins")
        walks = (os.walk(place) for place in places)  # it passes over directories that just went
        return [f"{top}/{name}" for walk in walks for top, _, names in walk for name in names]

    def target(self, uid: str) -> Path:
        return self.root / "pods" / uid / "volumes/kubernetes.io~csi/disk/mount"

    async def all_gone(self) -> None:
        await self.pod_gone()
        await until(lambda: (self.mounted(), self.files()) == ([], []))


@asynccontextmanager
async def a_world(keys: Pki, place: Path, driver: str) -> AsyncIterator[World]:
    async with running_api(keys, place / "api") as api:
        world = World(api, place / "n", Mounts(), driver, place / "c.sock")
        world.clock = RealClock()
        yield world


@pytest.fixture
def short(place: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sockets need a short path; what is mounted below is cleared with the session's."""
    return tmp_path_factory.mktemp("c")


class TestScripted:
    @pytest.fixture
    async def world(self, keys: Pki, short: Path) -> AsyncIterator[World]:
        state = MountingState(mounts=Mounts(), backing=short / "backing")
        async with a_world(keys, short, FAKE) as world, FakeCsiDriver(short / "c.sock", state):
            await world.create(DRIVERS, a_driver(FAKE, attachRequired=False))
            await world.a_claimed_volume()
            yield world

    async def test_a_restart_finds_what_is_mounted(self, world: World) -> None:
        async with world.node(), world.registrar():
            uid = await world.a_pod()
            await until(lambda: len(world.mounted()) == 2)
            (world.target(uid) / "file").write_text("data")
        before = world.mounted()
        async with world.node(), world.registrar():
            await until(lambda: world.mounted() == before)
            assert (world.target(uid) / "file").read_text() == "data"
            await world.delete_pod()
            await world.all_gone()

    async def test_a_pod_that_went_meanwhile_leaves_nothing(self, world: World) -> None:
        async with world.node(), world.registrar():
            await world.a_pod()
            await until(lambda: len(world.mounted()) == 2)
        await world.delete_pod()
        async with world.node(), world.registrar():
            await world.all_gone()


class TestBundled:
    @pytest.fixture
    async def world(
        self, keys: Pki, short: Path, needs_tool: NeedsTool, disks: Disks
    ) -> AsyncIterator[World]:
        needs_tool("mkfs.ext4")
        settings = DriverSettings(NODE, short / "state")
        core = await asyncio.to_thread(open_driver, settings, Mounts(), RealClock())
        async with a_world(keys, short, NAME) as world, serving(core, f"unix://{short}/c.sock"):
            yield world
        devices = [backing for _, backing in loop_devices() if backing.startswith(str(short))]
        assert devices == []

    async def a_volume(self, world: World, mode: str = "Filesystem") -> None:
        """Made and attached by the driver's controller, as the sidecars do it."""
        access = Block() if mode == "Block" else Mount("ext4")
        capability = VolumeCapability(access, WireMode.SINGLE_NODE_WRITER)
        async with Connection(str(world.root.parent / "c.sock")) as connection:
            controller = Controller(connection)
            size = CapacityRange(required_bytes=16 * MIB)
            made = await controller.create(CreateVolume("pvc-1", (capability,), size), within=30)
            assert isinstance(made, Done)
            world.handle = made.value.volume_id
            wish = AttachVolume(world.handle, NODE, capability)
            attached = await controller.attach(wish, within=30)
            assert isinstance(attached, Done), attached
        await world.a_claimed_volume(mode)

    async def test_files(self, world: World) -> None:
        await self.a_volume(world)
        async with world.node(), world.registrar():
            uid = await world.a_pod(securityContext={"fsGroup": GROUP})
            await world.attach()
            await self.has_files(world, uid)
            (world.target(uid) / "file").write_text("data")
            await world.delete_pod()
            await world.all_gone()
            uid = await world.a_pod(securityContext={"fsGroup": GROUP})
            await self.has_files(world, uid)
            assert (world.target(uid) / "file").read_text() == "data"
            await world.delete_pod()
            await world.all_gone()

    async def has_files(self, world: World, uid: str) -> None:
        """Mounted, and the pod's group's."""
        target = world.target(uid)
        await until(lambda: target.is_mount() and target.stat().st_gid == GROUP)

    async def test_a_device(self, world: World) -> None:
        await self.a_volume(world, "Block")
        async with world.node(), world.registrar():
            uid = await world.a_pod(is_block=True)
            await world.attach()
            link = world.root / "pods" / uid / "volumeDevices/kubernetes.io~csi/disk"
            await until(link.exists)
            assert stat.S_ISBLK(link.stat().st_mode)
            await world.delete_pod()
            await world.all_gone()

    async def test_a_restart_with_a_device(self, world: World) -> None:
        await self.a_volume(world, "Block")
        async with world.node(), world.registrar():
            await world.a_pod(is_block=True)
            await world.attach()
            await until(lambda: len(world.mounted()) >= 2)
        await world.delete_pod()
        async with world.node(), world.registrar():
            await world.all_gone()
