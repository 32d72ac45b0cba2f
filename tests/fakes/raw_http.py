"""HTTP/1.1 by hand over TLS: what clients of good manners never send, and what they never see."""

import asyncio
import json
import socket
import ssl
from collections.abc import Mapping
from typing import Any, Self

import msgspec

from tests.fakes.real_server import RealServer

Doc = dict[str, Any]


class Head(msgspec.Struct, frozen=True):
    """The first part of an answer."""

    code: int
    headers: dict[str, str]  # names in lower case


class Got(msgspec.Struct, frozen=True):
    """A whole answer."""

    code: int
    headers: dict[str, str]
    body: bytes

    @property
    def doc(self) -> Doc:
        return dict(json.loads(self.body))


class RawHttp:
    """One connection. Every wait ends: with what was waited for, or with a TimeoutError."""

    def __init__(
        self, server: RealServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._server = server
        self.reader = reader
        self.writer = writer

    @classmethod
    async def connect(
        cls, server: RealServer, tls: ssl.SSLContext | None = None, receive_buffer: int = 0
    ) -> Self:
        """`receive_buffer`: how many bytes the kernel holds for a client that does not read."""
        plain = socket.socket()
        plain.settimeout(0)
        if receive_buffer:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(30):
            await loop.sock_connect(plain, (server.host, server.port))
            reader, writer = await asyncio.open_connection(
                sock=plain, ssl=tls or server.tls(), server_hostname=server.host
            )
        return cls(server, reader, writer)

    async def close(self) -> None:
        self.writer.transport.abort()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # sending

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> bytes:
        """The bytes of a request by the admin."""
        given = {"Host": "mooring", "Authorization": f"Bearer {self._server.token()}"}
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            given["Content-Type"] = "application/json"
        if body is not None:
            given["Content-Length"] = str(len(body))
        lines = [f"{method} {path} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in (given | dict(headers or {})).items()]
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + (body or b"")

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        async with asyncio.timeout(30):
            await self.writer.drain()

    # receiving

    async def head(self) -> Head:
        async with asyncio.timeout(30):
            block = await self.reader.readuntil(b"\r\n\r\n")
        first, *lines = block.decode("latin-1").split("\r\n")[:-2]
        pairs = (line.partition(": ") for line in lines)
        return Head(int(first.split()[1]), {name.lower(): value for name, _, value in pairs})

    async def answer(self, *, head_only: bool = False) -> Got:
        head = await self.head()
        body = b""
        if not head_only and "transfer-encoding" in head.headers:
            while chunk := await self.chunk():
                body += chunk
        elif not head_only:
            async with asyncio.timeout(30):
                body = await self.reader.readexactly(int(head.headers.get("content-length", 0)))
        return Got(head.code, head.headers, body)

    async def chunk(self) -> bytes:
        """One piece of a chunked body; empty at its clean end."""
        async with asyncio.timeout(30):
            size = int(await self.reader.readuntil(b"\r\n"), 16)
            return (await self.reader.readexactly(size + 2))[:-2]

    async def ended(self) -> bool:
        """Has the server closed its side, with nothing left to read?"""
        async with asyncio.timeout(30):
            try:
                return await self.reader.read(1) == b""
            except ConnectionError:
                return True

    async def ask(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Got:
        await self.send(self.request(method, path, body, headers))
        return await self.answer(head_only=method == "HEAD")


class WatchLines:
    """The events of a watch, read from its chunks."""

    def __init__(self, connection: RawHttp) -> None:
        self._connection = connection
        self._rest = b""
        self._events: list[Doc] = []

    async def next(self) -> Doc | None:
        """The next event; None at the clean end."""
        while not self._events:
            chunk = await self._connection.chunk()
            if not chunk:
                return None
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            self._events = [json.loads(line) for line in lines]
        return self._events.pop(0)
