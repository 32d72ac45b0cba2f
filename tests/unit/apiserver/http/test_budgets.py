"""Who may hold how much: bodies, connections, answers that nobody reads."""

import asyncio
import gc
import ssl
import weakref
from collections.abc import AsyncIterator

import msgspec
import pytest

from mooring.apiserver.http.connection import Connection
from mooring.apiserver.http.connection_table import ConnectionTable
from mooring.apiserver.http.limits import MOST_PIECES, RETAINED, Allowance, Limits, default_limits
from mooring.apiserver.http.server import SWEEP_EVERY, Server
from mooring.apiserver.limits.budgets import HIGH_WATER
from mooring.apiserver.request.message import Answer, Joined, Request, Response, Stream, Writer
from tests.fakes.clock import VirtualClock, settle
from tests.fakes.loop_time import LoopTime
from tests.unit.apiserver.http.test_server import FakeTransport

KB = 1024
SMALL = Limits(
    strangers=3,
    connections_each=2,
    bodies=100,
    bodies_each=60,
    unsent=1000,
    unsent_each=600,
    unsent_beside=0,
)


class Handler:
    """Answers at once, or when it is let; remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Request] = []
        self.let = asyncio.Event()
        self.let.set()
        self.answer: Answer = Response(200)

    async def __call__(self, request: Request) -> Answer:
        self.asked.append(request)
        await self.let.wait()
        return self.answer


@pytest.fixture
async def handler() -> Handler:
    return Handler()


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
async def server(handler: Handler, clock: VirtualClock) -> AsyncIterator[Server]:
    made = Server(
        handler,
        clock,
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER),
        lambda header: header.removeprefix("Bearer "),
        SMALL,
    )
    await made.listen("127.0.0.1", 0)
    running = asyncio.create_task(made.run())
    await made.serving.wait()
    yield made
    for connection in list(made.connections):
        connection.connection_lost(None)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


class Client:
    """A connection, and the far end of it."""

    def __init__(self, server: Server) -> None:
        self.transport = FakeTransport()
        self.connection = Connection(server)
        self.connection.connection_made(self.transport)

    async def post(
        self, body: bytes, token: str = "", size: int | None = None, **more: str
    ) -> None:
        headers = {"Content-Length": str(len(body) if size is None else size), **more}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        lines = [f"{name}: {value}" for name, value in headers.items()]
        self.connection.data_received(
            "\r\n".join(["POST / HTTP/1.1", *lines, "", ""]).encode() + body
        )
        await settle()


async def test_the_body_of_a_stranger_is_not_kept(server: Server, handler: Handler) -> None:
    client = Client(server)
    await client.post(b"x" * 50)
    await client.post(b"y" * 50, "alice")
    assert [request.body for request in handler.asked] == [b"", b"y" * 50]


async def test_a_stranger_is_answered_before_a_long_body_has_come(
    server: Server, handler: Handler
) -> None:
    client = Client(server)
    await client.post(b"x" * (RETAINED + 1), size=3_000_000)
    assert len(handler.asked) == 1
    assert client.transport.is_closed


async def test_a_stranger_is_not_told_to_go_on(server: Server, handler: Handler) -> None:
    client = Client(server)
    await client.post(b"", size=50, Expect="100-continue")
    assert b"100 Continue" not in client.transport.sent
    assert len(handler.asked) == 1
    known = Client(server)
    await known.post(b"", "alice", size=50, Expect="100-continue")
    assert b"100 Continue" in known.transport.sent


async def test_bodies_of_one_caller_and_of_all_have_a_limit(
    server: Server, handler: Handler
) -> None:
    handler.let.clear()
    for token, size in (("alice", 40), ("alice", 40), ("bob", 50), ("carol", 20)):
        await Client(server).post(b"x" * size, token)
    assert [request.crowded for request in handler.asked] == [False, True, False, True]
    handler.let.set()
    await settle()
    await Client(server).post(b"x" * 60, "dave")
    assert not handler.asked[-1].crowded, "what is answered is not held any more"


async def test_what_is_not_finished_is_given_back_when_the_client_leaves(
    server: Server, handler: Handler
) -> None:
    client = Client(server)
    await client.post(b"x" * 50, "alice", size=60)
    client.connection.connection_lost(None)
    await Client(server).post(b"x" * 60, "alice")
    assert not handler.asked[-1].crowded


async def test_a_body_in_tiny_pieces_is_refused(server: Server, handler: Handler) -> None:
    for token in ("", "alice"):
        client = Client(server)
        head = f"POST / HTTP/1.1\r\nAuthorization: Bearer {token}\r\nTransfer-Encoding: chunked"
        client.connection.data_received(f"{head}\r\n\r\n".encode())
        for _ in range(MOST_PIECES // 1000 + 1):
            client.connection.data_received(b"1\r\n \r\n" * 1000)
        await settle()
        assert client.transport.sent.startswith(b"HTTP/1.1 413")
        assert client.transport.is_closed
    assert not handler.asked


async def test_nothing_of_a_lost_connection_waits_for_the_garbage_collector(server: Server) -> None:
    client = Client(server)
    client.connection.data_received(b"GET / HTTP/1.1\r\nA: " + b"x" * 1000)
    client.connection.connection_lost(None)
    seen = weakref.ref(client.connection)
    gc.disable()
    try:
        del client
        assert seen() is None
    finally:
        gc.enable()


async def test_the_stranger_who_did_nothing_for_longest_gives_way(server: Server) -> None:
    connections = ConnectionTable(SMALL)
    clients = [Client(server) for _ in range(3)]
    for client in clients:
        connections.arrived(client.connection)
    connections.seen(clients[0].connection)
    assert connections.has_room(3)
    assert [client.transport.is_aborted for client in clients] == [False, True, False]


async def test_who_showed_a_token_gives_way_to_no_stranger(server: Server) -> None:
    connections = ConnectionTable(SMALL)
    known = Client(server)
    connections.arrived(known.connection)
    known.connection.caller = "alice"
    assert connections.recognized(known.connection)
    for _ in range(5):
        assert connections.has_room(1)
        connections.arrived(Client(server).connection)
    assert not known.transport.is_aborted


async def test_connections_of_one_caller_have_a_limit(server: Server, handler: Handler) -> None:
    clients = [Client(server) for _ in range(3)]
    for client in clients:
        await client.post(b"", "alice")
    assert [client.transport.is_closed for client in clients] == [False, False, True]
    assert b"429 Too Many Requests" in clients[2].transport.sent
    clients[0].connection.connection_lost(None)
    another = Client(server)
    await another.post(b"", "alice")
    assert not another.transport.is_closed
    assert len(handler.asked) == 3


async def test_who_does_not_read_for_longest_is_given_up(server: Server) -> None:
    connections = ConnectionTable(SMALL)
    alice, also_alice, bob, carol = (Client(server).connection for _ in range(4))
    alice.caller = also_alice.caller = "alice"
    bob.caller, carol.caller = "bob", "carol"
    assert connections.held_up(alice, 400) == []
    assert connections.held_up(bob, 300) == []
    assert connections.held_up(also_alice, 300) == [alice], "she has too much"
    assert connections.held_up(carol, 500) == [bob], "all have too much"
    connections.drained(also_alice)
    assert connections.held_up(bob, 500) == []


async def test_a_long_answer_is_sent_as_it_is_read(server: Server, handler: Handler) -> None:
    handler.answer = Response(200, Joined([b"x" * 300_000] * 3, b","))
    client = Client(server)
    client.connection.pause_writing()
    await client.post(b"", "alice")
    assert client.transport.sent.endswith(b"Content-Length: 900002\r\n\r\n")
    client.connection.resume_writing()
    await settle()
    assert client.transport.sent.endswith(b"," + b"x" * 300_000)


async def made() -> AsyncIterator[bytes]:
    yield b"one"
    yield b"two" * 50_000


async def test_an_answer_may_be_made_while_it_is_sent(server: Server, handler: Handler) -> None:
    handler.answer = Response(200, made())
    client = Client(server)
    await client.post(b"", "alice")
    head, _, body = client.transport.sent.partition(b"\r\n\r\n")
    assert b"Transfer-Encoding: chunked" in head
    assert body == b"3\r\none\r\n249f0\r\n" + b"two" * 50_000 + b"\r\n0\r\n\r\n"
    await client.post(b"", "alice")
    assert len(handler.asked) == 2, "and the connection goes on"


async def test_who_takes_nothing_of_an_answer_in_a_minute_is_dropped(
    server: Server, handler: Handler, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop_time = LoopTime(asyncio.get_running_loop(), monkeypatch)
    handler.answer = Response(200, b"x" * (2 * HIGH_WATER))
    client = Client(server)
    client.connection.pause_writing()
    await client.post(b"", "alice")
    await loop_time.passes(SMALL.stuck - 5)
    await clock.advance(SWEEP_EVERY)
    assert not client.transport.is_aborted
    await loop_time.passes(10)
    await clock.advance(SWEEP_EVERY)
    assert client.transport.is_aborted


class Frames:
    """A watch that says one long thing."""

    def __init__(self, frame: bytes) -> None:
        self.frame = frame
        self.writer: Writer | None = None
        self.calls = 0

    def start(self, writer: Writer) -> None:
        self.writer = writer
        writer.write_framed(self.frame)

    def on_ready(self) -> None:
        self.calls += 1

    def on_closed(self) -> None:
        """Nothing to release."""


async def test_a_long_frame_waits_as_it_is_and_ends_whole(server: Server, handler: Handler) -> None:
    source = Frames(b"x" * 400_000)
    handler.answer = Stream(source)
    client = Client(server)
    client.connection.pause_writing()
    await client.post(b"", "alice")
    assert not client.transport.sent.endswith(b"x")
    assert source.writer is not None
    assert not source.writer.ready
    client.connection.resume_writing()
    await settle()
    assert client.transport.sent.endswith(b"x" * 400_000)
    assert source.calls == 1
    source.writer.end()
    assert client.transport.sent.endswith(b"0\r\n\r\n")


def test_allowances_are_of_all_and_of_each() -> None:
    allowance = Allowance(10, 6)
    assert allowance.take("a", 6)
    assert not allowance.take("a", 1)
    assert allowance.take("b", 4)
    assert not allowance.take("c", 1)
    allowance.give_back("a", 2)
    assert allowance.take("c", 2)
    assert (allowance.held("a"), allowance.held("b"), allowance.held("c")) == (4, 4, 2)


def test_there_are_no_more_connections_than_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (1024, 4096))
    few = default_limits()
    assert few.connections == 824
    assert few.strangers < few.connections_each < few.connections
    monkeypatch.setattr("resource.getrlimit", lambda _: (1 << 20, 1 << 20))
    assert msgspec.structs.asdict(default_limits()) == msgspec.structs.asdict(Limits())
