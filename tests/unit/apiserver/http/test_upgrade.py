"""A connection that is handed over: who gets which bytes, and how it ends."""

import asyncio
import ssl
from collections.abc import AsyncIterator

import pytest

from mooring.apiserver.http.connection import Connection
from mooring.apiserver.http.server import Server
from mooring.apiserver.limits.budgets import HIGH_WATER
from mooring.apiserver.request.message import Answer, Outlet, Request, Response, Upgrade
from tests.fakes.clock import VirtualClock, settle
from tests.unit.apiserver.http.test_server import FakeTransport

HEAD = b"HTTP/1.1 101 Switching Protocols\r\n\r\n"
ASKED = b"GET /tunnel HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: test\r\n\r\n"


class FakeTunnel:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.heard = b""
        self.client: Outlet | None = None

    def start(self, client: Outlet) -> None:
        self.client = client
        self.told.append("start")

    def received(self, data: bytes) -> None:
        self.heard += data

    def on_full(self) -> None:
        self.told.append("full")

    def on_ready(self) -> None:
        self.told.append("ready")

    def on_closed(self) -> None:
        self.told.append("closed")


class Door:
    """Answers once it is let."""

    def __init__(self) -> None:
        self.tunnel = FakeTunnel()
        self.open = asyncio.Event()

    async def answer(self, request: Request) -> Answer:
        await self.open.wait()
        if request.path == "/refused":
            return Response(403)
        return Upgrade(self.tunnel, HEAD)


@pytest.fixture
async def door() -> Door:
    return Door()


@pytest.fixture
async def server(door: Door) -> AsyncIterator[Server]:
    made = Server(door.answer, VirtualClock(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
    await made.listen("127.0.0.1", 0)
    running = asyncio.create_task(made.run())
    await made.serving.wait()
    yield made
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


async def test_bytes_before_and_after_the_answer_reach_the_tunnel_in_order(
    connection: Connection, transport: FakeTransport, door: Door
) -> None:
    connection.data_received(ASKED + b"one ")
    await settle()
    connection.data_received(b"two ")
    door.open.set()
    await settle()
    connection.data_received(b"three")
    assert transport.sent == HEAD
    assert (door.tunnel.told, door.tunnel.heard) == (["start"], b"one two three")


async def test_whoever_sends_much_before_the_answer_has_to_wait(
    connection: Connection, transport: FakeTransport, door: Door
) -> None:
    connection.data_received(ASKED)
    await settle()
    connection.data_received(bytes(HIGH_WATER + 1))
    assert transport.is_paused
    door.open.set()
    await settle()
    assert not transport.is_paused
    assert len(door.tunnel.heard) == HIGH_WATER + 1


async def test_a_refused_upgrade_is_the_last_request(
    connection: Connection, transport: FakeTransport, door: Door
) -> None:
    door.open.set()
    connection.data_received(ASKED.replace(b"/tunnel", b"/refused") + b"GET / HTTP/1.1\r\n\r\n")
    await settle()
    assert transport.sent.startswith(b"HTTP/1.1 403 ")
    assert transport.sent.count(b"HTTP/1.1") == 1
    assert transport.is_closed
    assert door.tunnel.told == []


async def test_an_upgrade_that_nobody_asked_for_is_not_made(
    connection: Connection, transport: FakeTransport, door: Door
) -> None:
    door.open.set()
    connection.data_received(b"GET /tunnel HTTP/1.1\r\nHost: x\r\n\r\n")
    await settle()
    assert (transport.sent, transport.is_closed) == (b"", True)
    assert door.tunnel.told == ["closed"]


async def test_a_client_that_does_not_read_is_told_to_the_tunnel(
    connection: Connection, door: Door
) -> None:
    door.open.set()
    connection.data_received(ASKED)
    await settle()
    connection.pause_writing()
    connection.resume_writing()
    assert door.tunnel.told == ["start", "full", "ready"]


async def test_a_tunnel_that_ends_closes_the_connection(
    connection: Connection, transport: FakeTransport, door: Door
) -> None:
    door.open.set()
    connection.data_received(ASKED)
    await settle()
    assert door.tunnel.client is not None
    door.tunnel.client.write(b"bye")
    door.tunnel.client.close()
    door.tunnel.client.write(b"not any more")
    await settle()
    assert transport.sent == HEAD + b"bye"
    assert transport.is_closed
    assert door.tunnel.told == ["start", "closed"]


async def test_a_client_that_vanishes_closes_the_tunnel_once(
    connection: Connection, door: Door
) -> None:
    door.open.set()
    connection.data_received(ASKED)
    await settle()
    connection.connection_lost(None)
    await settle()
    assert door.tunnel.told == ["start", "closed"]


async def test_a_client_that_vanishes_before_the_answer_closes_it_too(
    connection: Connection, door: Door
) -> None:
    connection.data_received(ASKED)
    await settle()
    connection.connection_lost(None)
    door.open.set()
    await settle()
    assert door.tunnel.told == ["closed"]


async def test_a_server_that_stops_ends_its_tunnels(
    connection: Connection, transport: FakeTransport, door: Door
) -> None:
    door.open.set()
    connection.data_received(ASKED)
    await settle()
    connection.finish()
    await settle()
    assert transport.is_closed
    assert door.tunnel.told == ["start", "closed"]
