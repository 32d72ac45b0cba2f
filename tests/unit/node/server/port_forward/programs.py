"""Programs that listen on a port of the loopback, as those of a pod do."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Program:
    """`serve` is called for each connection; `ended` counts those that are over."""

    def __init__(self, serve: Serve) -> None:
        self._serve = serve
        self._tasks: set[asyncio.Task[object]] = set()
        self.port = 0
        self.begun = 0
        self.ended = 0

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.begun += 1
        try:
            with suppress(OSError, asyncio.CancelledError):  # the latter: the test is over
                await self._serve(reader, writer)
        finally:
            self.ended += 1
            writer.transport.abort() if self._is_over else writer.close()
            self._tasks.discard(task)

    _is_over = False

    @asynccontextmanager
    async def running(self, host: str = "127.0.0.1") -> AsyncIterator["Program"]:
        server = await asyncio.start_server(self._connected, host, 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            self._is_over = True
            server.close()
            for task in tuple(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()


async def count(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Says how much it heard, when the other side has ended: needs a half-closed connection."""
    heard = await reader.read()
    writer.write(b"%d bytes" % len(heard))
    await writer.drain()


async def deaf(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Never reads, until it is cut off."""
    reader._transport.pause_reading()  # type: ignore[attr-defined]
    await asyncio.get_running_loop().create_future()


async def break_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """As a program that crashes: the connection is reset."""
    await reader.read(1)
    linger = struct.pack("ii", 1, 0)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.transport.abort()


async def free_port() -> int:
    """One that nobody listens on."""
    async with Program(echo).running() as program:
        return program.port
