"""Joins a client's stream and a connection to a pod, until both directions have ended.

Neither is read faster than the other one takes it; each direction ends on its own.
"""

import asyncio
from contextlib import suppress
from typing import Protocol

from mooring.clock import Clock
from mooring.node.server.port_forward.ports import Connection

PIECE = 32 << 10  # bytes
PATIENCE = 30.0  # seconds for a pod that does not read while other streams have to wait for it


class ClientStream(Protocol):
    """The client's end: a stream of its own, or a channel."""

    @property
    def given_up(self) -> asyncio.Event:
        """Set when the client has no use any more for what is under way."""
        ...

    @property
    def is_held_up(self) -> bool:
        """Whether others wait until this stream has been read."""
        ...

    async def read(self) -> bytes:
        """What came next; empty at the end."""
        ...

    async def write(self, content: bytes) -> None:
        """Raises: ConnectionError."""
        ...

    async def finish(self) -> None:
        """Nothing more is written. Raises: ConnectionError."""
        ...

    async def reset(self) -> None:
        """Raises: ConnectionError."""
        ...


async def relay(stream: ClientStream, connection: Connection, clock: Clock) -> None:
    """Raises: ConnectionError when the client has left."""
    reader, writer = connection
    joined = asyncio.gather(_to_pod(stream, writer, clock), _to_client(reader, stream))
    given_up = asyncio.ensure_future(stream.given_up.wait())
    try:
        await asyncio.wait((joined, given_up), return_when=asyncio.FIRST_COMPLETED)
        if not joined.done():
            writer.transport.abort()
            return
        joined.result()
    finally:
        for part in (joined, given_up):
            part.cancel()
        await asyncio.gather(joined, given_up, return_exceptions=True)


async def _to_pod(stream: ClientStream, writer: asyncio.StreamWriter, clock: Clock) -> None:
    while data := await stream.read():
        if not await _is_taken(data, stream, writer, clock):
            writer.transport.abort()
            await stream.reset()
            return
    if not stream.given_up.is_set() and not writer.is_closing():
        with suppress(OSError):  # it has ended anyway
            writer.write_eof()


async def _is_taken(
    data: bytes, stream: ClientStream, writer: asyncio.StreamWriter, clock: Clock
) -> bool:
    """Send it to the pod; False when the pod is gone, or holds up others for too long."""
    try:
        writer.write(data)
        if writer.transport.get_write_buffer_size() < PIECE:
            await writer.drain()
            return True
        return await _is_drained(stream, writer, clock)
    except OSError:
        return False


async def _is_drained(stream: ClientStream, writer: asyncio.StreamWriter, clock: Clock) -> bool:
    draining = asyncio.ensure_future(writer.drain())
    try:
        while not draining.done():
            waiting = asyncio.ensure_future(clock.sleep(PATIENCE))
            try:
                await asyncio.wait((draining, waiting), return_when=asyncio.FIRST_COMPLETED)
            finally:
                waiting.cancel()
            if not draining.done() and stream.is_held_up:
                return False
        draining.result()
        return True
    finally:
        draining.cancel()


async def _to_client(reader: asyncio.StreamReader, stream: ClientStream) -> None:
    while (data := await _from_pod(reader)) != b"":
        if data is None:  # the pod broke off: so does the client's connection
            await stream.reset()
            return
        await stream.write(data)
    await stream.finish()


async def _from_pod(reader: asyncio.StreamReader) -> bytes | None:
    """None: it broke off."""
    try:
        return await reader.read(PIECE)
    except OSError:
        return None
