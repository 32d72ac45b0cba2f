"""The way to a driver: deadlines, deaths, reconnecting, closing, sizes."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc.aio
import pytest

from mooring.csi.channel import LONGEST_TEXT, Connection, Observation, method, target_of
from mooring.csi.controller import Controller
from mooring.csi.identity import Identity
from mooring.csi.node import Node
from mooring.csi.outcome import Code, Done, Outcome, Refused, Uncertain
from mooring.csi.proto import csi_pb2
from mooring.csi.requests import CreateVolume
from mooring.csi.secrets import NO_SECRETS
from tests.fakes.csi_calls import CAPABILITY, EVERY_CALL, GIB
from tests.fakes.csi_driver import After, Dies, Fails, FakeCsiDriver, Hangs, Replies, Waits

READY = Done(value=True)
ROOT = Path(__file__).parents[3]

TARGETS = {
    "a path": ("/run/csi/socket", "unix:/run/csi/socket"),
    "a path with signs that a URI gives a meaning": ("/a b/%#?", "unix:/a%20b/%25%23%3F"),
    "a URI of a socket": ("unix:///run/csi/socket", "unix:/run/csi/socket"),
    "the short form of it": ("unix:/run/csi/socket", "unix:/run/csi/socket"),
    "a relative path": ("csi/socket", "unix:csi/socket"),
    "a host": ("localhost:9000", "localhost:9000"),
    "a URI of a host": ("tcp://localhost:9000", "localhost:9000"),
}


@pytest.mark.parametrize(("endpoint", "target"), TARGETS.values(), ids=TARGETS)
def test_what_is_dialled(endpoint: str, target: str) -> None:
    assert target_of(endpoint) == target


@pytest.mark.parametrize("rpc", EVERY_CALL)
async def test_a_driver_that_hangs_is_left_at_the_deadline(
    rpc: str, driver: FakeCsiDriver, connection: Connection
) -> None:
    driver.next(rpc, Hangs())
    assert await EVERY_CALL[rpc](connection, NO_SECRETS, 0.05) == Uncertain(
        Code.DEADLINE_EXCEEDED, "context deadline exceeded"
    )


@pytest.mark.parametrize("rpc", EVERY_CALL)
async def test_a_driver_that_dies_in_a_call_leaves_it_uncertain(
    rpc: str, driver: FakeCsiDriver, connection: Connection
) -> None:
    driver.next(rpc, Dies())
    outcome = await EVERY_CALL[rpc](connection, NO_SECRETS, 5)
    assert isinstance(outcome, Uncertain)
    assert outcome.code is Code.UNAVAILABLE


async def test_a_deadline_that_the_driver_reports_keeps_its_words(
    driver: FakeCsiDriver, connection: Connection
) -> None:
    driver.next("Probe", Fails(Code.DEADLINE_EXCEEDED, "the array is slow"))
    assert await Identity(connection).probe(within=5) == Uncertain(
        Code.DEADLINE_EXCEEDED, "the array is slow"
    )


async def test_work_done_before_the_driver_died_is_found_by_the_same_words(
    driver: FakeCsiDriver, connection: Connection
) -> None:
    volume = CreateVolume("pvc-1", (CAPABILITY,), GIB)
    driver.next("CreateVolume", After(Dies()))
    assert isinstance(await Controller(connection).create(volume, within=5), Uncertain)
    await connection.wait_lost()  # what is left of the old connection answers nobody
    await driver.start()
    await connection.wait_ready()
    outcome = await Controller(connection).create(volume, within=5)
    assert isinstance(outcome, Done)
    assert [*driver.state.volumes] == [outcome.value.volume_id]


async def test_a_slow_driver_is_waited_for(driver: FakeCsiDriver, connection: Connection) -> None:
    gate = asyncio.Event()
    driver.next("Probe", Waits(gate))
    async with asyncio.TaskGroup() as tasks:
        probing = tasks.create_task(Identity(connection).probe(within=20))
        await driver.arrived("Probe")
        assert not probing.done()
        gate.set()
    assert probing.result() == READY


async def test_no_driver_there(tmp_path: Path) -> None:
    async with Connection(str(tmp_path / "csi.sock")) as connection:
        outcome = await Identity(connection).probe(within=5)
    assert isinstance(outcome, Uncertain)
    assert outcome.code is Code.UNAVAILABLE


async def test_a_driver_that_comes_late_is_found(tmp_path: Path) -> None:
    async with Connection(str(tmp_path / "csi.sock")) as connection:
        assert isinstance(await Identity(connection).probe(within=5), Uncertain)
        async with FakeCsiDriver(tmp_path / "csi.sock"):
            await connection.wait_ready()
            assert await Identity(connection).probe(within=5) == READY


async def test_a_lost_driver_is_noticed_and_found_again(
    driver: FakeCsiDriver, connection: Connection
) -> None:
    identity = Identity(connection)
    assert await identity.probe(within=5) == READY
    before = connection.incarnation
    lost = asyncio.create_task(connection.wait_lost())
    await driver.stop()
    await lost
    assert connection.incarnation > before
    await driver.start()
    await connection.wait_ready()
    assert await identity.probe(within=5) == READY


async def test_capabilities_are_asked_once_per_driver(
    driver: FakeCsiDriver, connection: Connection
) -> None:
    node = Node(connection)
    async with asyncio.TaskGroup() as tasks:
        for _ in range(5):
            tasks.create_task(node.capabilities(within=5))
    assert await node.capabilities(within=5) == Done(frozenset(driver.state.node))
    assert len(driver.requests("NodeGetCapabilities")) == 1

    lost = asyncio.create_task(connection.wait_lost())
    await driver.stop()
    await lost
    driver.state.node.clear()
    await driver.start()
    await connection.wait_ready()
    assert await node.capabilities(within=5) == Done(frozenset())
    assert len(driver.requests("NodeGetCapabilities")) == 2


async def test_a_failed_question_is_asked_again(
    driver: FakeCsiDriver, connection: Connection
) -> None:
    driver.next("NodeGetCapabilities", Fails(Code.INTERNAL))
    node = Node(connection)
    assert await node.capabilities(within=5) == Refused(Code.INTERNAL, "scripted")
    assert await node.capabilities(within=5) == Done(frozenset(driver.state.node))


async def test_who_waits_for_another_asker_keeps_his_own_deadline(
    driver: FakeCsiDriver, connection: Connection
) -> None:
    driver.next("NodeGetCapabilities", Hangs())
    node = Node(connection)
    patient = asyncio.create_task(node.capabilities(within=20))
    await driver.arrived("NodeGetCapabilities")
    assert await node.capabilities(within=0.05) == Uncertain(
        Code.DEADLINE_EXCEEDED, "context deadline exceeded"
    )
    assert not patient.done()
    patient.cancel()
    with pytest.raises(asyncio.CancelledError):
        await patient


async def test_closing_ends_calls_as_uncertain(
    driver: FakeCsiDriver, connection: Connection
) -> None:
    driver.next("NodePublishVolume", Hangs())
    call = asyncio.ensure_future(EVERY_CALL["NodePublishVolume"](connection, NO_SECRETS, 20))
    await driver.arrived("NodePublishVolume")
    await connection.close()
    closed = Uncertain(Code.CANCELLED, "the connection to the driver was closed")
    assert await call == closed
    assert await Identity(connection).probe(within=5) == closed
    await connection.close()


async def test_a_cancelled_caller_is_cancelled(
    driver: FakeCsiDriver, connection: Connection
) -> None:
    driver.next("Probe", Hangs())
    call = asyncio.create_task(Identity(connection).probe(within=20))
    await driver.arrived("Probe")
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await Identity(connection).probe(within=5) == READY


async def test_messages_of_four_megabytes_pass(
    driver: FakeCsiDriver, connection: Connection
) -> None:
    large = {"blob": "x" * (5 << 20)}
    driver.next(
        "GetPluginInfo",
        Replies(lambda _: csi_pb2.GetPluginInfoResponse(name="large", manifest=large)),
    )
    info = await Identity(connection).get_info(within=20)
    assert isinstance(info, Done)
    assert info.value.manifest == large
    created = await Controller(connection).create(
        CreateVolume("pvc-1", (CAPABILITY,), parameters=large), within=20
    )
    assert isinstance(created, Done)


async def test_a_long_failure_keeps_its_code_and_its_beginning(
    driver: FakeCsiDriver, connection: Connection
) -> None:
    driver.next("Probe", Fails(Code.INVALID_ARGUMENT, "why? " + "x" * (4 << 20)))
    outcome = await Identity(connection).probe(within=20)
    assert isinstance(outcome, Refused)
    assert outcome.code is Code.INVALID_ARGUMENT
    assert outcome.message.startswith("why? xxx")
    assert len(outcome.message) == LONGEST_TEXT


async def test_a_field_that_cannot_be_encoded_is_refused_without_showing_it(
    driver: FakeCsiDriver, connection: Connection
) -> None:
    outcome = await Node(connection).unpublish("vol-\ud800-hidden", "/target", within=5)
    assert outcome == Refused(
        Code.INTERNAL,
        "grpc: error while marshaling: a field of NodeUnpublishVolume cannot be encoded",
    )
    assert driver.calls == []


async def test_an_answer_that_cannot_be_decoded_leaves_it_uncertain(tmp_path: Path) -> None:
    async def answer(_: bytes, __: object) -> bytes:
        return b"\xff\xff\xff"

    server = grpc.aio.server()
    handlers = {"NodeGetInfo": grpc.unary_unary_rpc_method_handler(answer)}
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler("csi.v1.Node", handlers),)
    )
    server.add_insecure_port(f"unix:{tmp_path / 'csi.sock'}")
    await server.start()
    async with Connection(str(tmp_path / "csi.sock")) as connection:
        outcome = await Node(connection).get_info(within=5)
    await server.stop(None)
    assert outcome == Uncertain(None, "the answer to NodeGetInfo cannot be decoded")


async def test_a_socket_that_speaks_something_else(tmp_path: Path) -> None:
    async def talk(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_unix_server(talk, tmp_path / "csi.sock")
    async with server, Connection(str(tmp_path / "csi.sock")) as connection:
        outcome = await Identity(connection).probe(within=5)
    assert isinstance(outcome, Uncertain)


@pytest.mark.parametrize("seconds", [0, -1.0])
async def test_with_no_time_left_nothing_is_sent(
    seconds: float, driver: FakeCsiDriver, connection: Connection
) -> None:
    assert await Identity(connection).probe(within=seconds) == Uncertain(
        Code.DEADLINE_EXCEEDED, "context deadline exceeded"
    )
    assert driver.calls == []


async def test_every_call_is_observed(driver: FakeCsiDriver) -> None:
    seen: list[Observation] = []
    driver.next("Probe", Fails(Code.DEADLINE_EXCEEDED))
    async with Connection(str(driver.socket), observer=seen.append) as connection:
        await Identity(connection).probe(within=5)
        await Identity(connection).get_info(within=5)
        driver.state.name = ""
        await Identity(connection).get_info(within=5)
    assert [(one.method, one.code) for one in seen] == [
        ("/csi.v1.Identity/Probe", "DeadlineExceeded"),
        ("/csi.v1.Identity/GetPluginInfo", "OK"),
        ("/csi.v1.Identity/GetPluginInfo", "unknown-non-grpc"),
    ]
    assert all(one.seconds > 0 for one in seen)


def test_a_method_takes_the_messages_of_its_rpc() -> None:
    service = csi_pb2.DESCRIPTOR.services_by_name["Identity"]
    with pytest.raises(TypeError, match="Probe does not take these messages"):
        method(service, "Probe", csi_pb2.ProbeResponse, csi_pb2.ProbeResponse)


@asynccontextmanager
async def driver_process(socket: Path, *hanging: str) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.fakes.csi_driver", str(socket), *hanging, cwd=ROOT
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def test_a_driver_killed_in_a_call_is_found_again_after_its_restart(tmp_path: Path) -> None:
    socket = tmp_path / "csi.sock"

    async def publish(connection: Connection) -> Outcome[None]:
        return await EVERY_CALL["NodePublishVolume"](connection, NO_SECRETS, 20)

    async with Connection(str(socket)) as connection:
        async with driver_process(socket, "NodePublishVolume") as process:
            await connection.wait_ready()
            assert await Identity(connection).probe(within=20) == READY
            call = asyncio.create_task(publish(connection))
            lost = asyncio.create_task(connection.wait_lost())
            assert await Identity(connection).probe(within=20) == READY  # after the publish
            process.send_signal(signal.SIGKILL)
            outcome = await call
            await lost
        assert isinstance(outcome, Uncertain)
        assert outcome.code is Code.UNAVAILABLE
        async with driver_process(socket):  # the socket file of the dead one is still there
            await connection.wait_ready()
            assert await publish(connection) == Done(None)
