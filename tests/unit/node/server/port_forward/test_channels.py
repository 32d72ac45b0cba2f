"""Port forwarding over WebSocket channels, as the Python clients speak it."""

import asyncio
import base64
import struct
from typing import Any

import aiohttp
import pytest

from mooring.node.server.port_forward.forwarding import IDLE
from tests.fakes.waiting import until
from tests.unit.node.server.port_forward.programs import Program, break_off, echo, free_port
from tests.unit.node.server.running import Node

PATH = "/portForward/team/web"
BINARY, TEXT = "v4.channel.k8s.io", "v4.base64.channel.k8s.io"


def forward(http: aiohttp.ClientSession, ports: str, protocol: str = BINARY) -> Any:
    return http.ws_connect(f"{PATH}?port={ports}", protocols=(protocol,), max_msg_size=0)


async def test_each_port_has_two_channels_that_begin_with_its_number(
    node: Node, http: aiohttp.ClientSession
) -> None:
    async with Program(echo).running() as one, Program(echo).running() as two:
        async with forward(http, f"{one.port},{two.port}") as socket:
            said = [await socket.receive_bytes() for _ in range(4)]
            numbers = [struct.pack("<H", program.port) for program in (one, one, two, two)]
            assert said == [bytes([index]) + number for index, number in enumerate(numbers)]
            await socket.send_bytes(b"\x02two")
            assert await socket.receive_bytes() == b"\x02two"
            await socket.send_bytes(b"\x00one")
            assert await socket.receive_bytes() == b"\x00one"
        await until(lambda: one.ended == two.ended == 1)


async def test_clients_that_can_only_send_text(node: Node, http: aiohttp.ClientSession) -> None:
    async with (
        Program(echo).running() as program,
        forward(http, str(program.port), TEXT) as socket,
    ):
        assert (
            await socket.receive_str()
            == "0" + base64.b64encode(struct.pack("<H", program.port)).decode()
        )
        await socket.receive_str()
        await socket.send_str("0" + base64.b64encode(b"hello").decode())
        assert await socket.receive_str() == "0" + base64.b64encode(b"hello").decode()


async def test_much_data_comes_back_as_it_went(node: Node, http: aiohttp.ClientSession) -> None:
    piece = bytes(range(256)) * 256
    async with Program(echo).running() as program, forward(http, str(program.port)) as socket:
        for _ in range(2):
            await socket.receive_bytes()

        async def send() -> None:
            for _ in range(64):
                await socket.send_bytes(b"\x00" + piece)

        sending = asyncio.create_task(send())
        came = b""
        while len(came) < 64 * len(piece):
            came += (await socket.receive_bytes())[1:]
        await sending
    assert came == 64 * piece


async def test_a_port_on_which_nobody_listens_is_told_on_its_error_channel(
    node: Node, http: aiohttp.ClientSession
) -> None:
    port = await free_port()
    async with forward(http, str(port)) as socket:
        for _ in range(2):
            await socket.receive_bytes()
        said = await socket.receive_bytes()
        assert said.startswith(b"\x01error forwarding port")
        assert said.endswith(b"connection refused")
        assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSE


async def test_the_client_is_let_go_when_the_pod_breaks_off(
    node: Node, http: aiohttp.ClientSession
) -> None:
    async with (
        Program(break_off).running() as program,
        forward(http, str(program.port)) as socket,
    ):
        for _ in range(2):
            await socket.receive_bytes()
        await socket.send_bytes(b"\x00x")
        assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSE


async def test_an_idle_client_is_let_go(node: Node, http: aiohttp.ClientSession) -> None:
    async with Program(echo).running() as program, forward(http, str(program.port)) as socket:
        for _ in range(2):
            await socket.receive_bytes()
        closing = asyncio.create_task(socket.receive())
        for _ in range(int(IDLE // 30) + 3):
            await node.clock.advance(30)
        assert (await asyncio.wait_for(closing, 20)).type is aiohttp.WSMsgType.CLOSE
        await until(lambda: program.ended == 1)


NO_PORTS = {
    "none": ("", 'port "" must be between 1 and 65535, inclusive'),
    "a word": ("http", 'port "http" must be between 1 and 65535, inclusive'),
    "too large": ("65536", 'port "65536" must be between 1 and 65535, inclusive'),
    "too many": (",".join(["1"] * 101), "at most 100 ports can be forwarded by one request"),
}


@pytest.mark.parametrize(("ports", "text"), NO_PORTS.values(), ids=NO_PORTS)
async def test_ports_that_make_no_sense_are_refused(
    node: Node, http: aiohttp.ClientSession, ports: str, text: str
) -> None:
    headers = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Protocol": BINARY,
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": base64.b64encode(bytes(16)).decode(),
    }
    async with http.get(f"{PATH}?port={ports}", headers=headers) as answer:
        assert (answer.status, await answer.text()) == (400, text)


async def test_an_unknown_protocol_is_refused(node: Node, http: aiohttp.ClientSession) -> None:
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await forward(http, "80", "v9.channel.k8s.io")
    assert refused.value.status == 403
