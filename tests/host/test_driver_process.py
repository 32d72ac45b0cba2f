"""`mooring driver` as a process: killed, started again, started twice, called by many at once."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from mooring.csi.proto import csi_pb2 as csi
from mooring.driver.backends import device
from mooring.host import block_device, loop_device
from mooring.host.loop_device import Access
from mooring.host.mount import Mounts
from tests.fakes.waiting import until
from tests.host.conftest import NeedsTool
from tests.host.disks import Disks
from tests.host.driver_life import Machine
from tests.unit.driver.calls import a_capability, a_request, refused


def command(place: Path) -> list[str]:
    endpoint = f"unix://{place / 'csi.sock'}"
    told = ("--endpoint", endpoint, "--node-id", "n1", "--state-dir", str(place / "state"))
    return [sys.executable, "-m", "mooring", "driver", *told]


@contextmanager
def running(place: Path) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(  # noqa: S603  our own program
        command(place), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        assert "is serving at" in process.stdout.readline()
        try:
            yield process
        finally:
            process.terminate()


def call(place: Path, method: str, request: Message) -> Message:
    service, name = method.split("/")
    found = csi.DESCRIPTOR.services_by_name[service].methods_by_name[name]
    with grpc.insecure_channel(f"unix:{place / 'csi.sock'}") as channel:
        sent = channel.unary_unary(
            f"/csi.v1.{method}",
            request_serializer=type(request).SerializeToString,
            response_deserializer=GetMessageClass(found.output_type).FromString,
        )
        answer: Message = sent(request, timeout=20)
    return answer


@pytest.fixture
def short(tmp_path_factory: pytest.TempPathFactory, needs_root: None) -> Path:
    """A directory whose name a socket can have."""
    return tmp_path_factory.mktemp("d")


def test_killed_and_started_again_it_is_as_before(short: Path) -> None:
    with running(short) as first:
        made = call(short, "Controller/CreateVolume", a_request())
        first.send_signal(signal.SIGKILL)
        first.wait()
    assert (short / "csi.sock").exists()
    with running(short) as second:
        assert call(short, "Controller/CreateVolume", a_request()) == made
        second.send_signal(signal.SIGTERM)
        assert second.wait() == 0
    assert not (short / "csi.sock").exists()


def test_a_second_one_is_refused_its_state(short: Path) -> None:
    with running(short):
        again = subprocess.run(  # noqa: S603  our own program
            command(short), capture_output=True, text=True, check=False
        )
        assert again.returncode == 1
        assert "in use by another mooring" in again.stderr
        assert "--state-dir" in again.stderr
        call(short, "Identity/Probe", csi.ProbeRequest())


def test_many_volumes_are_staged_at_once(
    place: Path, mounts: Mounts, disks: Disks, needs_tool: NeedsTool
) -> None:
    needs_tool("mkfs.ext4")
    machine = Machine(place, mounts)
    made = [machine.driver.make(f"v{number}").volume_id for number in range(24)]
    places = {volume_id: place / volume_id for volume_id in made}

    def stage(volume_id: str) -> None:
        places[volume_id].mkdir()
        request = csi.NodeStageVolumeRequest(
            volume_id=volume_id,
            staging_target_path=str(places[volume_id]),
            volume_capability=a_capability(),
        )
        machine.driver.NodeStageVolume(request)

    with ThreadPoolExecutor(12) as threads:
        list(threads.map(stage, made))
    assert len(machine.devices()) == len(made)
    for volume_id in made:
        machine.unstage(volume_id, places[volume_id])
    assert machine.devices() == []


async def test_a_device_that_was_let_go_is_taken_again_while_it_is_mounted(
    disks: Disks, target: Path, mounts: Mounts, needs_tool: NeedsTool
) -> None:
    needs_tool("mkfs.ext4")
    file = disks.backing_of(disks.formatted("ext4"))
    loop_device.detach_backing(file)
    await until(lambda: loop_device.find(file) is None)
    first = device.find_or_attach(file)
    mounts.mount(str(first), target, "ext4")
    device.detach_all(file)
    assert loop_device.is_going(first)
    assert device.find(file) is None
    assert device.is_in_use(file)
    assert device.find_or_attach(file) == first
    assert not loop_device.is_going(first)
    mounts.unmount(target)
    assert device.find(file) == first
    device.detach_all(file)
    await until(lambda: loop_device.find(file) is None)
    assert not loop_device.keep(first, file)


def test_devices_for_readers_and_for_writers_are_not_mixed_up(disks: Disks) -> None:
    file = disks.file(1)
    writers = device.find_or_attach(file)
    readers = device.find_or_attach(file, Access.READ_ONLY)
    assert [block_device.is_read_only(each) for each in (writers, readers)] == [False, True]
    assert device.find(file, Access.READ_ONLY) == readers
    assert device.find(file) == writers
    assert set(loop_device.find_all(file)) == {writers, readers}


async def test_a_snapshot_whose_image_is_open_is_not_deleted(
    place: Path, mounts: Mounts, disks: Disks
) -> None:
    driver = Machine(place, mounts).driver
    snapshot = driver.snap(driver.make(is_block=True).volume_id).snapshot_id
    image = driver.core.state.snapshots.image(snapshot)
    reader = loop_device.attach(image, Access.READ_ONLY)
    with refused(grpc.StatusCode.FAILED_PRECONDITION, "still in use"):
        driver.unsnap(snapshot)
    loop_device.detach(reader)
    await until(lambda: loop_device.find(image) is None)
    driver.unsnap(snapshot)
    assert not image.exists()


def test_an_image_that_is_written_to_out_of_sight_gets_no_device(
    disks: Disks, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = disks.file(1)
    writers = device.find_or_attach(file)
    with monkeypatch.context() as patched:
        patched.setattr(loop_device, "backing_of", lambda name: None)
        with refused(grpc.StatusCode.FAILED_PRECONDITION, "open for writing elsewhere"):
            device.find_or_attach(file)
        assert device.is_open(file)
    assert list(loop_device.find_all(file)) == [writers]
