"""`kubectl port-forward` over SPDY: by itself, and inside a WebSocket."""

import asyncio
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import cast

import aiohttp
import pytest

from mooring.node.server.port_forward import forwarding, ports
from mooring.node.server.port_forward.forwarding import IDLE, PROTOCOL
from tests.fakes.waiting import until
from tests.unit.node.server.port_forward.programs import (
    Program,
    break_off,
    count,
    deaf,
    echo,
    free_port,
)
from tests.unit.node.server.running import UID, Node, client_of
from tests.unit.node.server.spdy.client import FIN, GOAWAY, RST_STREAM, SpdyClient, spdy

PATH = "/portForward/team/web"
TUNNELED = f"SPDY/3.1+{PROTOCOL}"

Open = Callable[[Node], AbstractAsyncContextManager[SpdyClient]]


class _Writer:
    """Sends the bytes of an SPDY client as messages, in order."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket
        self.queue: asyncio.Queue[bytes] = asyncio.Queue()

    def write(self, data: bytes) -> None:
        self.queue.put_nowait(data)

    async def run(self) -> None:
        while True:
            await self.socket.send_bytes(await self.queue.get())


@asynccontextmanager
async def by_websocket(node: Node) -> AsyncIterator[SpdyClient]:
    """SPDY in the messages of a WebSocket, as kubectl speaks it since 1.31."""
    async with client_of(node) as http:
        socket = await http.ws_connect(PATH, protocols=(TUNNELED,), max_msg_size=0)
        assert socket.protocol == TUNNELED
        reader, writer = asyncio.StreamReader(), _Writer(socket)

        async def receive() -> None:
            async for message in socket:
                assert message.type is aiohttp.WSMsgType.BINARY
                reader.feed_data(message.data)
            reader.feed_eof()

        tasks = [asyncio.create_task(each) for each in (receive(), writer.run())]
        try:
            yield SpdyClient(reader, cast(asyncio.StreamWriter, writer))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await socket.close()


def by_spdy(node: Node) -> AbstractAsyncContextManager[SpdyClient]:
    return spdy(node, PATH, PROTOCOL)


both = pytest.mark.parametrize("connect", [by_spdy, by_websocket])


def forward(client: SpdyClient, port: int, request: int = 0) -> tuple[int, int]:
    """The streams of a connection: for its error, and for its data."""
    named = {"port": str(port), "requestid": str(request)}
    error = client.open(streamtype="error", **named)
    client.send(error, b"", FIN)
    return error, client.open(streamtype="data", **named)


@both
async def test_bytes_go_to_the_port_and_come_back(node: Node, connect: Open) -> None:
    async with Program(echo).running() as program, connect(node) as client:
        error, data = forward(client, program.port)
        client.send(data, b"hello")
        client.send(data, b"", FIN)
        assert await client.heard([error, data]) == {error: b"", data: b"hello"}


@both
async def test_the_client_may_end_first_and_still_hear_the_answer(
    node: Node, connect: Open
) -> None:
    async with Program(count).running() as program, connect(node) as client:
        error, data = forward(client, program.port)
        client.send(data, b"12345")
        client.send(data, b"", FIN)
        assert await client.heard([error, data]) == {error: b"", data: b"5 bytes"}


@both
async def test_several_connections_at_once_do_not_mix(node: Node, connect: Open) -> None:
    async with Program(echo).running() as program, connect(node) as client:
        streams = [forward(client, program.port, number) for number in range(40)]
        for number, (_, data) in enumerate(streams):
            client.send(data, b"%d" % number * 1000)
            client.send(data, b"", FIN)
        came = await client.heard([each for pair in streams for each in pair])
    assert [came[data] for _, data in streams] == [b"%d" % n * 1000 for n in range(40)]
    assert not any(came[error] for error, _ in streams)


@both
async def test_a_port_on_which_nobody_listens_is_told_on_the_error_stream(
    node: Node, connect: Open
) -> None:
    port = await free_port()
    async with Program(echo).running() as program, connect(node) as client:
        error, data = forward(client, port)
        came = await client.heard([error, data])
        assert came[error].decode() == (
            f"error forwarding port {port} to pod web, uid {UID}: "
            f"failed to connect: dial 127.0.0.1 port {port}: connection refused"
        )
        error, data = forward(client, program.port, 1)  # the client can go on
        client.send(data, b"x", FIN)
        assert await client.heard([error, data]) == {error: b"", data: b"x"}


@both
async def test_ten_mebibytes_come_back_as_they_went(node: Node, connect: Open) -> None:
    piece = bytes(range(256)) * 1024
    async with Program(echo).running() as program, connect(node) as client:
        error, data = forward(client, program.port)
        for _ in range(40):
            client.send(data, piece)
        client.send(data, b"", FIN)
        came = await client.heard([error, data])
    assert came[data] == piece * 40


@both
async def test_a_connection_that_the_pod_breaks_off_is_reset_and_the_client_goes_on(
    node: Node, connect: Open
) -> None:
    async with Program(break_off).running() as program, connect(node) as client:
        error, data = forward(client, program.port)
        client.send(data, b"x")
        frames = []
        async for frame in client.frames():
            frames.append(frame)
            if frame.stream == error and frame.flags & FIN:
                break
    resets = [frame.body[:4] for frame in frames if frame.kind == RST_STREAM]
    assert resets == [struct.pack(">I", data)]
    assert not any(frame.body for frame in frames if frame.stream == error)


@both
async def test_a_connection_that_the_client_resets_ends_at_the_pod(
    node: Node, connect: Open
) -> None:
    async with Program(echo).running() as program, connect(node) as client:
        error, data = forward(client, program.port)
        await until(lambda: program.begun == 1)
        client.control(RST_STREAM, struct.pack(">II", data, 5))
        assert await client.heard([error]) == {error: b""}
        await until(lambda: program.ended == 1)


@both
async def test_all_connections_end_with_their_client(node: Node, connect: Open) -> None:
    async with Program(echo).running() as program:
        async with connect(node) as client:
            for number in range(5):
                forward(client, program.port, number)
            await until(lambda: program.begun == 5)
        await until(lambda: program.ended == 5)


@both
async def test_a_pod_that_never_reads_is_cut_off_when_others_wait_for_it(
    node: Node, connect: Open
) -> None:
    async with (
        Program(deaf).running() as stuck,
        Program(echo).running() as fine,
        connect(node) as client,
    ):
        _, data = forward(client, stuck.port)
        for _ in range(200):  # more than the system's buffers and ours
            client.send(data, bytes(1 << 16))
        error, other = forward(client, fine.port, 1)
        client.send(other, b"x", FIN)
        heard = asyncio.create_task(client.heard([error, other]))
        while not heard.done():
            await node.clock.advance(5)
            await asyncio.wait((heard,), timeout=0.01)
        assert heard.result()[other] == b"x"


@both
async def test_a_client_is_let_go_after_four_hours_without_a_byte(
    node: Node, connect: Open
) -> None:
    async with Program(echo).running() as program, connect(node) as client:
        _, data = forward(client, program.port)
        client.send(data, b"x")
        while (await client.frame()).body != b"x":
            pass
        kinds: list[int] = []

        async def listen() -> None:
            kinds.extend([frame.kind async for frame in client.frames()])

        listening = asyncio.create_task(listen())
        for _ in range(int(IDLE // 30) + 3):
            await node.clock.advance(30)
        await asyncio.wait_for(listening, 20)
        assert kinds[-1] == GOAWAY
        await until(lambda: program.ended == 1)


async def test_a_pair_that_stays_incomplete_is_given_up(node: Node) -> None:
    async with by_spdy(node) as client:
        stream = client.open(streamtype="data", port="80", requestid="0")
        await client.frame()
        resets: list[bytes] = []
        for _ in range(4):
            await node.clock.advance(10)
        while not resets:
            frame = await client.frame()
            resets += [frame.body] if frame.kind == RST_STREAM else []
        assert resets[0][:4] == struct.pack(">I", stream)


NO_PAIR = {
    "an unknown type": {"streamtype": "stdin", "port": "80"},
    "no port": {"streamtype": "data"},
    "no number": {"streamtype": "data", "port": "http"},
    "too large": {"streamtype": "data", "port": "65536"},
    "zero": {"streamtype": "error", "port": "0"},
}


@pytest.mark.parametrize("headers", NO_PAIR.values(), ids=NO_PAIR)
async def test_streams_that_make_no_sense_are_reset(node: Node, headers: dict[str, str]) -> None:
    async with by_spdy(node) as client:
        client.open(**headers)
        kinds = [(await client.frame()).kind for _ in range(2)]
        assert kinds[1] == RST_STREAM


async def test_clients_that_name_no_request_open_the_error_stream_first(node: Node) -> None:
    async with Program(echo).running() as program, by_spdy(node) as client:
        error = client.open(streamtype="error", port=str(program.port))
        data = client.open(streamtype="data", port=str(program.port))
        client.send(data, b"x", FIN)
        assert await client.heard([error, data]) == {error: b"", data: b"x"}


async def test_a_server_on_ipv6_only_is_reached(node: Node) -> None:
    async with Program(echo).running("::1") as program, by_spdy(node) as client:
        error, data = forward(client, program.port)
        client.send(data, b"x", FIN)
        assert await client.heard([error, data]) == {error: b"", data: b"x"}


async def test_too_many_connections_are_refused_in_words(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forwarding, "MOST_PAIRS", 1)
    async with Program(echo).running() as program, by_spdy(node) as client:
        forward(client, program.port)
        error, _ = forward(client, program.port, 1)
        came = await client.heard([error])
    assert b"this client has 1 connections open already" in came[error]


async def test_too_many_connections_of_all_clients_are_refused_in_words(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ports, "MOST_CONNECTIONS", 1)
    async with Program(echo).running() as program, by_spdy(node) as client:
        forward(client, program.port)
        await until(lambda: program.begun == 1)
        async with by_spdy(node) as other:
            error, _ = forward(other, program.port)
            came = await other.heard([error])
    assert b"1 connections are open already; close some and try again" in came[error]


async def test_a_pod_that_has_ended_is_not_forwarded_to(node: Node) -> None:
    async with Program(echo).running() as program, by_spdy(node) as client:
        node.containers.finish(node.containers.id_of("main"))
        error, _ = forward(client, program.port)
        came = await client.heard([error])
    assert b"the pod does not run" in came[error]


REFUSED = {
    "no such pod": ("/portForward/team/nobody", 404, "pod does not exist"),
    "another pod of that name": (f"{PATH}/another", 404, "pod does not exist"),
    "no upgrade": (PATH, 400, "Upgrade request required"),
}


@pytest.mark.parametrize(("path", "code", "text"), REFUSED.values(), ids=REFUSED)
async def test_refusals(http: aiohttp.ClientSession, path: str, code: int, text: str) -> None:
    async with http.post(path) as answer:
        assert (answer.status, await answer.text()) == (code, text)
