"""A client that costs little: raw HTTP/1.1 over TLS, requests prepared as bytes."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from typing import cast

from bench.server import Server

LAST_CHUNK = b"\r\n0\r\n\r\n"


def request(server: Server, method: str, path: str, body: bytes = b"") -> bytes:
    return (
        f"{method} {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {server.token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body


class Connection(asyncio.Protocol):
    """Sends the next request as soon as the last one is answered."""

    def __init__(self, requests: Iterator[bytes], done: "asyncio.Future[None]") -> None:
        self._requests = requests
        self._done = done
        self._buffer = b""
        self._missing = 0  # bytes of the body still to come
        self._is_chunked = False  # its end is not in sight
        self.refused: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(
            asyncio.Transport, transport
        )  # uvloop's TLS transport is no subclass

    def start(self) -> None:
        self._next()

    def data_received(self, data: bytes) -> None:
        if self._missing:
            self._missing -= len(data)
            if self._missing > 0:
                return
        elif self._is_chunked:
            self._buffer = self._buffer[-len(LAST_CHUNK) :] + data
            if not self._buffer.endswith(LAST_CHUNK):
                return
            self._buffer, self._is_chunked = b"", False
        else:
            self._buffer += data
            head, separator, body = self._buffer.partition(b"\r\n\r\n")
            if not separator:
                return
            self._buffer = b""
            if not head.startswith((b"HTTP/1.1 200", b"HTTP/1.1 201")):
                self.refused.append(head + body)
            if b"transfer-encoding: chunked" in head.lower():
                self._is_chunked = not body.endswith(LAST_CHUNK)
                self._buffer = body if self._is_chunked else b""
            else:
                length = head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]
                self._missing = int(length) - len(body)
            if self._missing > 0 or self._is_chunked:
                return
        self._missing = 0
        self._next()

    def _next(self) -> None:
        following = next(self._requests, None)
        if following is None:
            self._transport.close()
            if not self._done.done():
                self._done.set_result(None)
        else:
            self._transport.write(following)


async def send_all(server: Server, requests: Iterator[bytes], connections: int) -> float:
    """Send every request over so many connections; seconds, from when all were open.

    Raises: AssertionError when one was not answered well.
    """
    loop = asyncio.get_running_loop()
    opened = []
    for _ in range(connections):
        done: asyncio.Future[None] = loop.create_future()
        _, protocol = await loop.create_connection(
            partial(Connection, requests, done), server.host, server.port, ssl=server.tls
        )
        opened.append((protocol, done))
    began = loop.time()
    for protocol, _ in opened:
        protocol.start()
    for _, done in opened:
        await done
    seconds = loop.time() - began
    refused = [answer for protocol, _ in opened for answer in protocol.refused]
    assert not refused, refused[0]
    return seconds


class Pool:
    """Connections for requests that come one by one; each waits for a free one."""

    def __init__(self) -> None:
        self.free: asyncio.LifoQueue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = (
            asyncio.LifoQueue()
        )

    async def send(self, request: bytes) -> None:
        """Returns when it is answered well."""
        reader, writer = await self.free.get()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        body = await reader.readexactly(length)
        self.free.put_nowait((reader, writer))
        assert head.startswith((b"HTTP/1.1 200", b"HTTP/1.1 201")), head + body


@asynccontextmanager
async def open_pool(server: Server, connections: int) -> AsyncIterator[Pool]:
    pool = Pool()
    for _ in range(connections):
        streams = await asyncio.open_connection(server.host, server.port, ssl=server.tls)
        pool.free.put_nowait(streams)
    try:
        yield pool
    finally:
        while not pool.free.empty():
            pool.free.get_nowait()[1].close()


class Watcher(asyncio.Protocol):
    """Counts the lines of a watch until it has seen so many."""

    def __init__(self, opening: bytes, wanted: int, done: "asyncio.Future[float]") -> None:
        self._opening = opening
        self._wanted = wanted
        self._done = done
        self.started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._seen = 0
        self._head = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.write(self._opening)

    def data_received(self, data: bytes) -> None:
        if not self.started.done():
            self._head += data
            if b"\r\n\r\n" not in self._head:
                return
            assert b" 200 " in self._head, self._head
            data = self._head.partition(b"\r\n\r\n")[2]
            self.started.set_result(None)
        self._seen += data.count(b'{"type":"')
        if self._seen >= self._wanted and not self._done.done():
            self._done.set_result(asyncio.get_running_loop().time())
