"""The bundled driver over a place that hangs: it serves every other volume, and ends in time."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import grpc.aio
import pytest
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from mooring.csi.proto import csi_pb2 as csi
from mooring.driver.serve import serving
from mooring.driver.settings import MIB
from mooring.host import blocking
from mooring.host.bulkhead import Bulkheads
from mooring.host.daemon_threads import DaemonThreads
from mooring.host.loop_watch import ALARM_SECONDS, LoopWatch
from mooring.host.mount import Mounts
from tests.fakes.hanging_disk import HangingDisk, hanging_disk
from tests.fakes.waiting import until
from tests.host.conftest import NeedsTool
from tests.host.driver_life import Machine, a_machine
from tests.host.stuck_node import PATIENCE
from tests.unit.driver.calls import NODE, a_capability, a_request

DEADLINE = grpc.StatusCode.DEADLINE_EXCEEDED


@pytest.fixture
def disk(place: Path) -> Iterator[HangingDisk]:
    with hanging_disk(place / "disk", well=True) as disk:
        yield disk


@pytest.fixture
def machine(place: Path, mounts: Mounts, needs_tool: NeedsTool) -> Machine:
    needs_tool("mkfs.ext4")
    return a_machine(place, mounts)


@pytest.fixture(autouse=True)
async def _watched_loop() -> AsyncIterator[None]:
    with LoopWatch(ask_seconds=0.01) as watch:
        yield
    assert watch.longest_blocked < ALARM_SECONDS, watch.where


@asynccontextmanager
async def served(machine: Machine) -> AsyncIterator[Bulkheads]:
    bulkheads = Bulkheads(DaemonThreads().start, PATIENCE)
    blocking.install(bulkheads)
    core = await blocking.in_thread(lambda: machine.start().core)
    async with serving(core, f"unix://{machine.place / 'csi.sock'}"):
        yield bulkheads
        bulkheads.leave_within(1.0)


async def call(machine: Machine, method: str, request: Message) -> Message:
    service, name = method.split("/")
    found = csi.DESCRIPTOR.services_by_name[service].methods_by_name[name]
    async with grpc.aio.insecure_channel(f"unix:{machine.place / 'csi.sock'}") as channel:
        sent = channel.unary_unary(
            f"/csi.v1.{method}",
            request_serializer=type(request).SerializeToString,
            response_deserializer=GetMessageClass(found.output_type).FromString,
        )
        answer: Message = await sent(request, timeout=20)
    return answer


async def make(machine: Machine, name: str) -> str:
    request = a_request(name, size=16 * MIB)
    made = await call(machine, "Controller/CreateVolume", request)
    assert isinstance(made, csi.CreateVolumeResponse)
    identifier = made.volume.volume_id
    attaching = csi.ControllerPublishVolumeRequest(
        volume_id=identifier, node_id=NODE, volume_capability=a_capability()
    )
    await call(machine, "Controller/ControllerPublishVolume", attaching)
    return identifier


def staging(volume_id: str, at: Path) -> csi.NodeStageVolumeRequest:
    return csi.NodeStageVolumeRequest(
        volume_id=volume_id, staging_target_path=str(at), volume_capability=a_capability()
    )


def unstaging(volume_id: str, at: Path) -> csi.NodeUnstageVolumeRequest:
    return csi.NodeUnstageVolumeRequest(volume_id=volume_id, staging_target_path=str(at))


async def is_refused(machine: Machine, method: str, request: Message) -> grpc.StatusCode:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call(machine, method, request)
    code: grpc.StatusCode = caught.value.code()
    return code


async def test_a_place_that_hangs_stops_only_the_volume_that_is_to_be_staged_there(
    machine: Machine, disk: HangingDisk
) -> None:
    async with served(machine) as bulkheads:
        stuck, well = [await make(machine, name) for name in ("stuck", "well")]
        disk.hang()
        wanted = staging(stuck, disk.at / "below")
        assert await is_refused(machine, "Node/NodeStageVolume", wanted) is DEADLINE
        # As long as that may still happen, nothing else is done to it.
        undo = unstaging(stuck, machine.staging)
        assert await is_refused(machine, "Node/NodeUnstageVolume", undo) is DEADLINE
        await call(machine, "Node/NodeStageVolume", staging(well, machine.staging))
        await call(machine, "Node/NodeUnstageVolume", unstaging(well, machine.staging))
        await call(machine, "Controller/ListVolumes", csi.ListVolumesRequest())
        disk.heal()
        await until(lambda: not any(bulkheads.stuck()))
        await call(machine, "Node/NodeStageVolume", staging(stuck, machine.staging))
        await call(machine, "Node/NodeUnstageVolume", undo)


async def test_a_driver_ends_in_time_and_starts_again_while_a_place_hangs(
    machine: Machine, disk: HangingDisk
) -> None:
    async with served(machine):
        stuck = await make(machine, "stuck")
        disk.hang()
        waiting = asyncio.create_task(
            is_refused(machine, "Node/NodeStageVolume", staging(stuck, disk.at / "below"))
        )
        assert await blocking.in_thread(disk.asked.wait, 10)
    await waiting
    async with served(machine):
        well = await make(machine, "well")
        await call(machine, "Node/NodeStageVolume", staging(well, machine.staging))
        await call(machine, "Node/NodeUnstageVolume", unstaging(well, machine.staging))
