"""A client of SPDY/3.1 over TLS, as small as one can be; it shows every frame it gets."""

import asyncio
import struct
import zlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Self

import msgspec

from mooring.node.server.spdy.headers import DICTIONARY
from tests.unit.node.server.running import HOST, Node

PATIENCE = 20.0  # seconds
CONTROL = 0x80030000
SYN_STREAM, SYN_REPLY, RST_STREAM, PING, GOAWAY = 1, 2, 3, 6, 7
FIN = 1


class Frame(msgspec.Struct, frozen=True):
    """Of a control frame `kind` is set, of data `stream`."""

    kind: int
    stream: int
    flags: int
    body: bytes


class SpdyClient:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.head = b""
        self._packer = zlib.compressobj(zdict=DICTIONARY)
        self._next = 1

    @classmethod
    async def connect(cls, node: Node, path: str, *protocols: str) -> Self:
        """Ask for SPDY; `head` is what the server answered."""
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_connection(
                HOST, node.server.port, ssl=node.tls(), server_hostname=HOST
            )
            offers = "".join(f"X-Stream-Protocol-Version: {each}\r\n" for each in protocols)
            writer.write(
                f"POST {path} HTTP/1.1\r\nHost: node\r\nConnection: Upgrade\r\n"
                f"Upgrade: SPDY/3.1\r\n{offers}Content-Length: 0\r\n\r\n".encode()
            )
            client = cls(reader, writer)
            client.head = await reader.readuntil(b"\r\n\r\n")
        return client

    def open(self, **headers: str) -> int:
        """A new stream; its id."""
        stream, self._next = self._next, self._next + 2
        plain = struct.pack(">I", len(headers))
        for name, value in headers.items():
            plain += struct.pack(">I", len(name)) + name.encode()
            plain += struct.pack(">I", len(value)) + value.encode()
        packed = self._packer.compress(plain) + self._packer.flush(zlib.Z_SYNC_FLUSH)
        self.control(SYN_STREAM, struct.pack(">IIH", stream, 0, 0) + packed)
        return stream

    def control(self, kind: int, body: bytes, flags: int = 0) -> None:
        self.writer.write(struct.pack(">II", CONTROL | kind, flags << 24 | len(body)) + body)

    def send(self, stream: int, data: bytes, flags: int = 0) -> None:
        self.writer.write(struct.pack(">II", stream, flags << 24 | len(data)) + data)

    async def frame(self) -> Frame:
        """The next one. Raises: IncompleteReadError at the end."""
        async with asyncio.timeout(PATIENCE):
            word, rest = struct.unpack(">II", await self.reader.readexactly(8))
            body = await self.reader.readexactly(rest & 0xFFFFFF)
        if word & 0x80000000:
            return Frame(word & 0xFFFF, 0, rest >> 24, body)
        return Frame(0, word, rest >> 24, body)

    async def frames(self) -> AsyncIterator[Frame]:
        """Until the server has closed the connection."""
        try:
            while True:
                yield await self.frame()
        except (asyncio.IncompleteReadError, ConnectionError):
            return

    async def heard(self, streams: Sequence[int]) -> dict[int, bytes]:
        """What came on streams until each of them has ended."""
        came: dict[int, bytes] = dict.fromkeys(streams, b"")
        open_streams = set(streams)
        async for frame in self.frames():
            if frame.kind == 0 and frame.stream in came:
                came[frame.stream] += frame.body
                if frame.flags & FIN:
                    open_streams.discard(frame.stream)
            if not open_streams:
                break
        return came

    async def close(self) -> None:
        self.writer.transport.abort()
        with suppress(OSError):
            await self.writer.wait_closed()


@asynccontextmanager
async def spdy(node: Node, path: str, *protocols: str) -> AsyncIterator[SpdyClient]:
    client = await SpdyClient.connect(node, path, *protocols)
    try:
        yield client
    finally:
        await client.close()
