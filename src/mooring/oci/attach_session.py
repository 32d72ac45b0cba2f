"""Talking to a container itself, through the socket of its shim.

Each packet from the shim begins with a byte that names the stream; what is sent to it goes to the
container's standard input.
"""

import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from mooring.oci import conmon, process
from mooring.oci.contract import RuntimeRefused, Size

_PACKET = 8192  # bytes that the shim surely takes in one piece; a longer one may be cut
_STREAMS = {2: 1, 3: 2}  # the shim's stream number -> the file descriptor


class AttachSession:
    """A `Session` of a container that goes on when it is closed."""

    def __init__(
        self, connection: socket.socket, place: Path, ended: Callable[[], Awaitable[int]]
    ) -> None:
        self._connection = connection
        self._place = place
        self._ended = ended
        self._has_input = True
        self._readiness = process.Readiness()

    async def output(self) -> AsyncIterator[tuple[int, bytes]]:
        while self._connection.fileno() >= 0:
            await self._readiness.readable(self._connection.fileno())
            try:
                packet = self._connection.recv(_PACKET + 1)
            except BlockingIOError:
                continue
            except OSError:
                return
            if not packet:
                return
            stream = _STREAMS.get(packet[0])
            if stream is not None and len(packet) > 1:
                yield stream, packet[1:]

    async def write(self, data: bytes) -> None:
        view = memoryview(data)
        while view and self._has_input:
            try:
                view = view[self._connection.send(view[:_PACKET], socket.MSG_NOSIGNAL) :]
            except BlockingIOError:
                await self._readiness.writable(self._connection.fileno())
            except OSError:  # the container has ended
                return

    async def end_input(self) -> None:
        if self._has_input:
            self._has_input = False
            with suppress(OSError):
                self._connection.shutdown(socket.SHUT_WR)

    def resize(self, size: Size) -> None:
        conmon.resize(self._place, size)

    async def wait(self) -> int:
        return await self._ended()

    async def close(self) -> None:
        self._has_input = False
        self._readiness.stop()
        self._connection.close()


def connect(place: Path, ended: Callable[[], Awaitable[int]]) -> AttachSession:
    """Raises: RuntimeRefused when the shim does not listen."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        connection.setblocking(False)  # noqa: FBT003  as the standard library has it
        _connect(connection, place)
    except OSError as error:
        connection.close()
        raise RuntimeRefused(f"cannot attach: {error.strerror}") from error
    return AttachSession(connection, place, ended)


def _connect(connection: socket.socket, place: Path) -> None:
    """By a descriptor: the path itself may be longer than an address can be."""
    opened = os.open(place, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        connection.connect(f"/proc/self/fd/{opened}/{conmon.ATTACH}")
    finally:
        os.close(opened)
