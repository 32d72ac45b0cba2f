"""Requests through a tunnel to a pod that does not behave."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from mooring.apiserver.node_proxy import dial
from mooring.apiserver.node_proxy.answer import NodeAnswer
from mooring.apiserver.node_proxy.dial import NoAnswer, Nodes

SWITCHED = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"

Play = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def tunnel_to(play: Play) -> AsyncIterator[NodeAnswer]:
    """A tunnel through a node that has agreed; at its other end somebody plays."""
    ended = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(SWITCHED)
        try:
            await play(reader, writer)
        except OSError:
            pass  # cut off
        finally:
            writer.transport.abort()
            ended.set()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    loop = asyncio.get_running_loop()
    _, answer = await loop.create_connection(NodeAnswer, "127.0.0.1", port)
    assert (await answer.head).status == 101
    try:
        yield answer
    finally:
        answer.close()
        await asyncio.wait_for(ended.wait(), 10)
        server.close()


def nodes() -> Nodes:
    return Nodes(ssl.create_default_context)


async def hang(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
    while await reader.read(1000):
        pass


async def leave(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
    await reader.read(1)


async def noise(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"\x00\x01\x02 this is no HTTP\r\n\r\n")
    await hang(reader, writer)


async def endless_head(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 20_000)
    await hang(reader, writer)


async def fine(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nA: 1\r\na: 2\r\n\r\nok")
    await hang(reader, writer)


async def test_a_pod_that_answers_is_heard() -> None:
    async with tunnel_to(fine) as tunnel:
        head, answer = await nodes().ask_pod(tunnel, b"GET / HTTP/1.1\r\n\r\n", None)
        answer.close()
    assert head.status == 200
    assert list(head.pairs) == [("content-length", "2"), ("a", "1"), ("a", "2")]


async def test_a_pod_that_hangs_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dial, "LONGEST_THOUGHT", 0.05)
    async with tunnel_to(hang) as tunnel:
        with pytest.raises(NoAnswer, match="did not answer within") as late:
            await nodes().ask_pod(tunnel, b"GET / HTTP/1.1\r\n\r\n", None)
    assert not late.value.in_time


@pytest.mark.parametrize("play", [leave, noise, endless_head])
async def test_a_pod_that_makes_no_sense_is_told_so_and_let_go(play: Play) -> None:
    async with tunnel_to(play) as tunnel:
        with pytest.raises(NoAnswer):
            await nodes().ask_pod(tunnel, b"GET / HTTP/1.1\r\n\r\n", None)


@pytest.mark.parametrize("play", [leave, noise])
async def test_a_pod_that_does_not_speak_tls_is_told_so(play: Play) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    async with tunnel_to(play) as tunnel:
        with pytest.raises(NoAnswer):
            await nodes().ask_pod(tunnel, b"GET / HTTP/1.1\r\n\r\n", context)
