"""The driver on a socket, called by a real client."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import pytest
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.wrappers_pb2 import BoolValue

from mooring import __version__
from mooring.csi.proto import csi_pb2 as csi
from mooring.driver.serve import services, serving, socket_path
from mooring.driver.settings import NAME
from mooring.errors import UsageError
from tests.unit.driver.calls import NODE, Driver, a_request

SECRET = "hunter2"


class Caller:
    """Calls methods by their full names."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._channel = channel

    async def __call__(self, method: str, request: Message) -> Message:
        service, name = method.split("/")
        found = csi.DESCRIPTOR.services_by_name[service].methods_by_name[name]
        call = self._channel.unary_unary(
            f"/csi.v1.{method}",
            request_serializer=type(request).SerializeToString,
            response_deserializer=GetMessageClass(found.output_type).FromString,
        )
        answer: Message = await call(request)
        return answer


@asynccontextmanager
async def connected(place: Path, driver: Driver) -> AsyncIterator[Caller]:
    path = place / "csi.sock"
    async with serving(driver.core, f"unix://{path}"):
        options = [("grpc.default_authority", "localhost")]
        async with grpc.aio.insecure_channel(f"unix:{path}", options=options) as channel:
            yield Caller(channel)


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a short name."""
    return tmp_path_factory.mktemp("s")


@pytest.fixture
def driver(tmp_path: Path) -> Driver:
    return Driver(tmp_path / "state")


async def test_who_it_is_and_what_it_offers(place: Path, driver: Driver) -> None:
    async with connected(place, driver) as call:
        info = await call("Identity/GetPluginInfo", csi.GetPluginInfoRequest())
        assert info == csi.GetPluginInfoResponse(name=NAME, vendor_version=__version__)
        assert (place / "csi.sock").stat().st_mode & 0o777 == 0o600
        node = await call("Node/NodeGetInfo", csi.NodeGetInfoRequest())
        assert isinstance(node, csi.NodeGetInfoResponse)
        assert node.node_id == NODE
    assert not (place / "csi.sock").exists()


async def test_a_refusal_has_its_code_and_its_reason(place: Path, driver: Driver) -> None:
    async with connected(place, driver) as call:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call("Controller/CreateVolume", a_request(""))
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "name" in caught.value.details()


def test_every_rpc_of_the_specification_is_answered(driver: Driver) -> None:
    offered = services(driver.core)
    assert {name: _unanswered(name, calls) for name, calls in offered.items()} == {
        name: [] for name in csi.DESCRIPTOR.services_by_name
    }


def _unanswered(service: str, calls: tuple[object, ...]) -> list[str]:
    methods = [each.name for each in csi.DESCRIPTOR.services_by_name[service].methods]
    return [name for name in methods if not any(hasattr(one, name) for one in calls)]


async def test_a_bug_is_an_internal_error(
    place: Path, driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(driver.core.room), "available_bytes", lambda _: 1 // 0)
    async with connected(place, driver) as call:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call("Controller/GetCapacity", csi.GetCapacityRequest())
    assert caught.value.code() is grpc.StatusCode.INTERNAL
    assert caught.value.details() == "a bug in the driver: ZeroDivisionError"


async def test_no_secret_is_logged(
    place: Path, driver: Driver, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    request = a_request(flags=(f"password={SECRET}",))
    request.secrets["key"] = SECRET
    broken = a_request("other", fs_type="vfat", flags=(SECRET,))
    broken.secrets["key"] = SECRET
    async with connected(place, driver) as call:
        await call("Controller/CreateVolume", request)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call("Controller/CreateVolume", broken)
    assert "CreateVolume" in caplog.text
    assert SECRET not in caplog.text + caught.value.details()
    assert all(
        SECRET.encode() not in path.read_bytes()
        for path in driver.core.state.root.rglob("record.json")
    )


async def test_many_calls_at_once_make_one_volume(place: Path, driver: Driver) -> None:
    async with connected(place, driver) as call:
        calls = [call("Controller/CreateVolume", a_request()) for _ in range(20)]
        answers = await asyncio.gather(*calls, return_exceptions=True)
    made = [answer for answer in answers if isinstance(answer, csi.CreateVolumeResponse)]
    busy = [answer for answer in answers if isinstance(answer, grpc.aio.AioRpcError)]
    assert len({answer.volume.volume_id for answer in made}) == 1
    assert len(made) + len(busy) == 20
    assert {answer.code() for answer in busy} <= {grpc.StatusCode.ABORTED}
    assert len(driver.ids()) == 1


async def test_the_socket_of_a_dead_driver_is_replaced(place: Path, driver: Driver) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(place / "csi.sock"))
    async with connected(place, driver) as call:
        told = await call("Identity/Probe", csi.ProbeRequest())
    assert told == csi.ProbeResponse(ready=BoolValue(value=True))


async def test_the_socket_of_a_living_driver_is_left_to_it(place: Path, driver: Driver) -> None:
    async with connected(place, driver) as call:
        with pytest.raises(UsageError, match="another driver listens"):
            async with connected(place, driver):
                pytest.fail("it should not serve")
        await call("Identity/Probe", csi.ProbeRequest())


async def test_something_else_than_a_socket_is_left_alone(place: Path, driver: Driver) -> None:
    (place / "csi.sock").write_text("mine")
    with pytest.raises(UsageError, match="something else than a socket"):
        async with connected(place, driver):
            pytest.fail("it should not serve")
    assert (place / "csi.sock").read_text() == "mine"


ENDPOINTS = {
    "with two slashes": ("unix:///run/csi.sock", "/run/csi.sock"),
    "with none": ("unix:/run/csi.sock", "/run/csi.sock"),
    "a plain path": ("/run/csi.sock", "/run/csi.sock"),
}


@pytest.mark.parametrize(("endpoint", "path"), ENDPOINTS.values(), ids=ENDPOINTS)
def test_where_an_endpoint_is(endpoint: str, path: str) -> None:
    assert socket_path(endpoint) == Path(path)


NO_ENDPOINTS = {
    "a relative path": "unix:csi.sock",
    "a port": "tcp://127.0.0.1:5000",
    "a path that the kernel does not take": f"unix:///{'x' * 107}",
}


@pytest.mark.parametrize("endpoint", NO_ENDPOINTS.values(), ids=NO_ENDPOINTS)
def test_what_is_no_endpoint(endpoint: str) -> None:
    with pytest.raises(UsageError, match="--endpoint"):
        socket_path(endpoint)
