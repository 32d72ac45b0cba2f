"""A driver that comes back in another mount namespace, as one in a pod does.

What the first life mounted is out of its sight, and its state directory has another name. Still an
image has one device, and none is deleted under a mount.
"""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest

from mooring.csi.proto import csi_pb2 as csi
from mooring.host import loop_device
from tests.fakes.mount_namespace import OWN_MOUNTS
from tests.fakes.waiting import until
from tests.host.conftest import NeedsTool
from tests.host.test_driver_process import call
from tests.unit.driver.calls import NODE, a_capability, a_request

STATE = "state"
ELSEWHERE = "elsewhere"


class World:
    """A state directory, a namespace that stays, and drivers in it or in one of their own."""

    def __init__(self, place: Path) -> None:
        self.place = place
        for name in (STATE, ELSEWHERE, "staging", "other"):
            (place / name).mkdir()
        self.volume_id = ""

    @contextmanager
    def a_namespace(self) -> Iterator[int]:
        """A process whose mount namespace is its own, with nothing mounted in it yet."""
        argv = [*OWN_MOUNTS, "sh", "-c", "echo; exec cat"]
        with subprocess.Popen(  # noqa: S603  a test's own words
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as holder:
            assert holder.stdin is not None
            assert holder.stdout is not None
            holder.stdout.readline()
            try:
                yield holder.pid
            finally:
                holder.stdin.close()

    @contextmanager
    def driver(self, namespace: int, state: str) -> Iterator["subprocess.Popen[str]"]:
        told = ("--endpoint", f"unix://{self.place}/csi.sock", "--node-id", NODE)
        argv = [sys.executable, "-m", "mooring", "driver", *told, "--state-dir"]
        inside = ["nsenter", "--mount", f"--target={namespace}"]
        with subprocess.Popen(  # noqa: S603  our own program
            [*inside, *argv, str(self.place / state)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process:
            assert process.stdout is not None
            assert "is serving at" in process.stdout.readline()
            try:
                yield process
            finally:
                process.send_signal(signal.SIGKILL)
                process.wait()

    def bind_state_elsewhere(self, namespace: int) -> None:
        """As a pod's volume would be: the same directory, by another name."""
        paths = (str(self.place / STATE), str(self.place / ELSEWHERE))
        self.inside(namespace, "mount", "--bind", *paths)

    def inside(self, namespace: int, *argv: str) -> str:
        command = ["nsenter", "--mount", f"--target={namespace}", *argv]
        done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603  a test's own words
        return done.stdout

    def make(self) -> None:
        answer = call(self.place, "Controller/CreateVolume", a_request(fs_type="ext4"))
        assert isinstance(answer, csi.CreateVolumeResponse)
        self.volume_id = answer.volume.volume_id

    def stage(self, at: str = "staging") -> None:
        request = csi.NodeStageVolumeRequest(
            volume_id=self.volume_id,
            staging_target_path=str(self.place / at),
            volume_capability=a_capability(fs_type="ext4"),
        )
        call(self.place, "Node/NodeStageVolume", request)

    def publish(self, target: str = "target") -> None:
        request = csi.NodePublishVolumeRequest(
            volume_id=self.volume_id,
            staging_target_path=str(self.place / "staging"),
            target_path=str(self.place / target),
            volume_capability=a_capability(fs_type="ext4"),
        )
        call(self.place, "Node/NodePublishVolume", request)

    def unpublish(self) -> None:
        path = str(self.place / "target")
        request = csi.NodeUnpublishVolumeRequest(volume_id=self.volume_id, target_path=path)
        call(self.place, "Node/NodeUnpublishVolume", request)

    def unstage(self) -> None:
        path = str(self.place / "staging")
        request = csi.NodeUnstageVolumeRequest(volume_id=self.volume_id, staging_target_path=path)
        call(self.place, "Node/NodeUnstageVolume", request)

    def delete(self) -> None:
        request = csi.DeleteVolumeRequest(volume_id=self.volume_id)
        call(self.place, "Controller/DeleteVolume", request)

    @property
    def image(self) -> Path:
        return self.place / STATE / "volumes" / self.volume_id / "image"

    def devices(self) -> list[Path]:
        return list(loop_device.find_all(self.image))


@pytest.fixture
def world(
    tmp_path_factory: pytest.TempPathFactory, needs_root: None, needs_tool: NeedsTool
) -> Iterator[World]:
    needs_tool("mkfs.ext4")
    if not Path("/dev/loop-control").exists():
        pytest.skip("needs loop devices: there is no /dev/loop-control")
    world = World(tmp_path_factory.mktemp("n"))
    yield world
    for device in world.devices():  # a killed driver leaves it
        loop_device.detach(device)


@contextmanager
def refused(words: str) -> Iterator[None]:
    with pytest.raises(grpc.RpcError) as caught:
        yield
    assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION, caught.value.details()
    assert words in caught.value.details()


async def test_an_image_that_another_namespace_has_mounted_keeps_its_one_device(
    world: World,
) -> None:
    with world.a_namespace() as first, world.a_namespace() as second:
        with world.driver(first, STATE):
            world.make()
            world.stage()
            world.publish()
            world.inside(first, "sh", "-c", f"echo kept >{world.place}/target/file")
        (device,) = world.devices()
        world.bind_state_elsewhere(second)
        with world.driver(second, ELSEWHERE):
            with refused("another mount namespace"):
                world.stage("other")
            assert world.devices() == [device]
            with refused("is not staged"):
                world.publish("another target")
            with refused("is still published"):
                world.unstage()
        staged = world.inside(first, "cat", f"{world.place}/staging/file")
        assert staged == "kept\n"


async def test_an_image_that_another_namespace_has_mounted_is_not_deleted(world: World) -> None:
    with world.a_namespace() as first, world.a_namespace() as second:
        with world.driver(first, STATE):
            world.make()
            world.stage()
        (device,) = world.devices()
        world.bind_state_elsewhere(second)
        with world.driver(second, ELSEWHERE):
            with refused("another mount namespace"):
                world.unstage()
            with refused("is staged on this node"):
                world.delete()
            assert world.devices() == [device]
            assert world.image.exists()
            world.inside(first, "umount", str(world.place / "staging"))
            world.unstage()
            await until(lambda: world.devices() == [])
            world.delete()
            assert not world.image.exists()


def test_what_was_frozen_in_another_namespace_is_thawed_at_a_start(world: World) -> None:
    with world.a_namespace() as first, world.a_namespace() as second:
        with world.driver(first, STATE):
            world.make()
            world.stage()
        world.inside(first, "fsfreeze", "--freeze", f"{world.place}/staging")
        record = world.image.with_name("record.json")
        record.write_text(record.read_text().replace('"is_frozen":false', '"is_frozen":true'))
        world.bind_state_elsewhere(second)
        with world.driver(second, ELSEWHERE):
            world.inside(first, "sh", "-c", f"timeout 10 touch {world.place}/staging/file")
            assert '"is_frozen":false' in record.read_text()
        assert not (world.place / STATE / "thawing").exists()
        world.inside(first, "umount", f"{world.place}/staging")


async def test_staged_again_at_its_place_it_is_the_same_file_system(world: World) -> None:
    with world.a_namespace() as first, world.a_namespace() as second:
        with world.driver(first, STATE):
            world.make()
            world.stage()
        (device,) = world.devices()
        world.bind_state_elsewhere(second)
        with world.driver(second, ELSEWHERE):
            world.stage()
            assert world.devices() == [device]
            world.inside(second, "sh", "-c", f"echo both >{world.place}/staging/file")
            assert world.inside(first, "cat", f"{world.place}/staging/file") == "both\n"
            world.unstage()
            with refused("still in use"):
                world.delete()
            assert world.image.exists()
    await until(lambda: world.devices() == [])
