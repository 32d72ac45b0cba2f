"""Connections to a pod's ports. Pods share the network of their node: these are its loopback's."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from mooring.errors import MooringError
from mooring.model.keys import Key

MOST_CONNECTIONS = 1024  # to pods of this node at a time, of all clients together
LONGEST_DIAL = 10.0  # seconds
SLOWEST_GOODBYE = 5.0
HOSTS = ("127.0.0.1", "::1")  # in this order, as container runtimes do
MOST_HELD = 64 << 10  # bytes of a pod that are read ahead of its client

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class NotForwarded(MooringError):
    """Nothing was connected; the text is for the client."""


class PodPorts:
    """Connects to ports, within a budget."""

    def __init__(self) -> None:
        self._count = 0

    @property
    def count(self) -> int:
        """Connections that are open."""
        return self._count

    @asynccontextmanager
    async def connected(self, pod: Key, uid: str, port: int) -> AsyncIterator[Connection]:
        """A connection, closed afterwards. Raises: NotForwarded."""
        if self._count >= MOST_CONNECTIONS:
            raise NotForwarded(
                f"error forwarding port {port} to pod {pod.name}, uid {uid}: "
                f"{MOST_CONNECTIONS} connections are open already; close some and try again"
            )
        self._count += 1
        try:
            reader, writer = await _dial(pod, uid, port)
            try:
                yield reader, writer
                await _say_goodbye(writer)
            finally:
                writer.transport.abort()
        finally:
            self._count -= 1


async def _say_goodbye(writer: asyncio.StreamWriter) -> None:
    """Let the pod read what was written last."""
    writer.close()
    with suppress(OSError):
        async with asyncio.timeout(SLOWEST_GOODBYE):
            await writer.wait_closed()


async def _dial(pod: Key, uid: str, port: int) -> Connection:
    refusals = []
    for host in HOSTS:
        try:
            async with asyncio.timeout(LONGEST_DIAL):
                return await asyncio.open_connection(host, port, limit=MOST_HELD)
        except TimeoutError:
            refusals.append(f"dial {host} port {port}: i/o timeout")
        except OSError as error:
            why = "connection refused" if isinstance(error, ConnectionRefusedError) else error
            refusals.append(f"dial {host} port {port}: {why}")
    raise NotForwarded(
        f"error forwarding port {port} to pod {pod.name}, uid {uid}: "
        f"failed to connect: {refusals[0]}"
    )
