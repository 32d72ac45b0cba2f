"""Connections and their server, without a network: what takes a minute, and what is never sent."""

import asyncio
import logging
import re
import ssl
from collections.abc import AsyncIterator

import pytest

from mooring.apiserver.http.connection import Connection
from mooring.apiserver.http.limits import Limits
from mooring.apiserver.http.server import SWEEP_EVERY, Server
from mooring.apiserver.request.message import Answer, Request, Response, Stream, Writer
from tests.fakes.clock import VirtualClock, settle
from tests.fakes.loop_time import LoopTime


class FakeTransport(asyncio.Transport):
    """Remembers what was sent, and how it ended."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = b""
        self.is_closed = False
        self.is_aborted = False
        self.is_paused = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent += data

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """There is no buffer."""

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False

    def is_closing(self) -> bool:
        return self.is_closed or self.is_aborted

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.is_aborted = True


class BrokenSource:
    """A watch with a bug."""

    def start(self, writer: Writer) -> None:
        raise RuntimeError("a bug")

    def on_ready(self) -> None:
        """Never comes to it."""

    def on_closed(self) -> None:
        """Nothing to release."""


async def answer(request: Request) -> Answer:
    if request.path == "/broken":
        return Stream(BrokenSource())
    if request.path == "/slow":
        await asyncio.Event().wait()
    return Response(200, request.path.encode())


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
async def server(clock: VirtualClock) -> AsyncIterator[Server]:
    made = Server(
        answer,
        clock,
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER),
        lambda header: header.removeprefix("Bearer "),
    )
    await made.listen("127.0.0.1", 0)
    running = asyncio.create_task(made.run())
    await made.serving.wait()
    yield made
    assert not running.done(), "it served to the end"
    for connection in list(made.connections):
        connection.connection_lost(None)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


@pytest.fixture
def transport() -> FakeTransport:
    return FakeTransport()


@pytest.fixture
def connection(server: Server, transport: FakeTransport) -> Connection:
    made = Connection(server)
    made.connection_made(transport)
    return made


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()


TOKEN = b"Authorization: Bearer alice\r\n"
LIMITS = Limits()

SENT: dict[str, tuple[bytes, float | None]] = {
    "a head that was begun": (get("/a")[:-5], LIMITS.head),
    "a head that was begun behind another request": (get("/a") + b"GET /b HT", LIMITS.head),
    "a body that was begun": (
        b"POST / HTTP/1.1\r\n" + TOKEN + b"Content-Length: 9\r\n\r\nhalf",
        LIMITS.request,
    ),
    "nothing": (b"", LIMITS.stranger),
    "a whole request of a stranger, and then silence": (get("/a"), LIMITS.stranger),
    "a whole request of a caller, and then silence": (
        b"GET /a HTTP/1.1\r\n" + TOKEN + b"\r\n",
        LIMITS.idle,
    ),
    "a request that takes long to answer": (get("/slow"), None),
}


@pytest.mark.parametrize(("data", "seconds"), SENT.values(), ids=SENT)
async def test_who_takes_too_long_is_dropped(
    clock: VirtualClock,
    connection: Connection,
    transport: FakeTransport,
    monkeypatch: pytest.MonkeyPatch,
    data: bytes,
    seconds: float | None,
) -> None:
    loop_time = LoopTime(asyncio.get_running_loop(), monkeypatch)
    if data:
        connection.data_received(data)
    await settle()
    await loop_time.passes((seconds or LIMITS.idle) - 5)
    await clock.advance(SWEEP_EVERY)
    assert not transport.is_aborted
    await loop_time.passes(10)
    await clock.advance(SWEEP_EVERY)
    assert transport.is_aborted is (seconds is not None)


async def test_a_bug_in_one_stream_ends_one_connection(
    connection: Connection, transport: FakeTransport, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "mooring.http"):
        connection.data_received(get("/broken"))
        await settle()
    assert transport.is_aborted
    assert "connection failed" in caplog.text


async def test_one_request_at_a_time_and_no_reading_ahead(
    connection: Connection, transport: FakeTransport
) -> None:
    connection.data_received(get("/slow") + get("/a"))
    await settle()
    assert transport.sent == b""
    assert transport.is_paused


async def test_another_protocol_is_not_spoken_but_its_request_is_answered(
    connection: Connection, transport: FakeTransport
) -> None:
    upgrade = b"GET /a HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n\x81\x05hello"
    connection.data_received(upgrade)
    connection.data_received(b"\x81\x05hello")
    await settle()
    head, _, body = transport.sent.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 ")
    assert b"Connection: close" in head
    assert body == b"/a"
    assert transport.is_closed


async def test_where_a_stream_is_cut_into_packets_does_not_matter(server: Server) -> None:
    requests = (
        get("/a")
        + b"POST /b HTTP/1.1\r\nContent-Length: 5\r\n\r\n12345"
        + b"POST /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
        + get("/d")
        + b"nonsense\r\n\r\n"
    )
    told = []
    for cut in range(len(requests) + 1):
        transport = FakeTransport()
        connection = Connection(server)
        connection.connection_made(transport)
        for packet in (requests[:cut], requests[cut:]):
            connection.data_received(packet)
            await settle(10)
        told.append(re.sub(rb"Date: .*?\r\n", b"", transport.sent))
        assert transport.is_closed
    assert len(set(told)) == 1
    assert told[0].count(b"HTTP/1.1 200 ") == 4
    assert told[0].count(b"HTTP/1.1 400 ") == 1


async def test_trailers_are_no_headers(server: Server, transport: FakeTransport) -> None:
    seen: list[Request] = []

    async def keep(request: Request) -> Answer:
        seen.append(request)
        return Response(200)

    server.handler = keep
    connection = Connection(server)
    connection.connection_made(transport)
    connection.data_received(
        b"POST / HTTP/1.1\r\nA: 1\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"1\r\nx\r\n0\r\nAuthorization: Bearer x\r\nA: 2\r\n\r\n"
    )
    await settle()
    assert dict(seen[0].headers) == {"a": "1", "transfer-encoding": "chunked"}


async def test_one_task_serves_a_connection_and_ends_with_it(
    connection: Connection, transport: FakeTransport
) -> None:
    before = asyncio.all_tasks()
    for path in ("/a", "/b", "/c"):
        connection.data_received(get(path))
        await settle()
    assert len(asyncio.all_tasks() - before) == 1
    assert transport.sent.endswith(b"/c")
    connection.connection_lost(None)
    await settle()
    assert asyncio.all_tasks() == before
