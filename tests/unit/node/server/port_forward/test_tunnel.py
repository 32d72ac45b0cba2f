"""One connection to a port as plain bytes."""

import asyncio

import aiohttp
import pytest

from tests.fakes.waiting import until
from tests.unit.node.server.port_forward.programs import Program, break_off, echo, free_port
from tests.unit.node.server.running import HOST, Node

PATIENCE = 20.0


async def connect(node: Node, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection(
        HOST, node.server.port, ssl=node.tls(), server_hostname=HOST
    )
    writer.write(
        f"GET /podTunnel/team/web?port={port} HTTP/1.1\r\nHost: node\r\n"
        "Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n".encode()
    )
    return reader, writer


async def test_bytes_go_to_the_port_and_come_back(node: Node) -> None:
    async with Program(echo).running() as program:
        reader, writer = await connect(node, program.port)
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101 ")
        content = bytes(range(256)) * 20_000
        writer.write(content)
        assert await asyncio.wait_for(reader.readexactly(len(content)), PATIENCE) == content
        writer.close()
        await until(lambda: program.ended == 1)


async def test_what_the_pod_breaks_off_ends(node: Node) -> None:
    async with Program(break_off).running() as program:
        reader, writer = await connect(node, program.port)
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"x")
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await asyncio.wait_for(reader.readexactly(1), PATIENCE)
        writer.close()


async def test_a_port_on_which_nobody_listens_is_refused(node: Node) -> None:
    reader, writer = await connect(node, await free_port())
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 503 ")
    assert b"connection refused" in await asyncio.wait_for(reader.read(500), PATIENCE)
    writer.close()


@pytest.mark.parametrize("query", ["port=80", "", "port=80,81"])
async def test_it_needs_an_upgrade_and_one_port(http: aiohttp.ClientSession, query: str) -> None:
    async with http.get(f"/podTunnel/team/web?{query}") as answer:
        assert answer.status == 400
