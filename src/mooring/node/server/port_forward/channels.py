"""Port forwarding over WebSocket channels, as older clients speak it: one connection per port.

Port number `i` has channel `2i` for data and `2i + 1` for its error; the first message on each is
the port, two bytes, little endian. No direction can end on its own here.
"""

import asyncio
import base64
import binascii
import struct
from collections import deque
from collections.abc import Sequence

from aiohttp import WSMsgType, web

from mooring.clock import Clock
from mooring.node.server.conversation import PROBED_EVERY
from mooring.node.server.port_forward.forwarding import IDLE, ForwardedPod
from mooring.node.server.port_forward.ports import NotForwarded, PodPorts
from mooring.node.server.port_forward.relay import relay

MOST_BYTES = 1 << 20  # of one message
BINARY, TEXT = "v4.channel.k8s.io", "v4.base64.channel.k8s.io"

_PORT = struct.Struct("<H")


class _Channel:
    """What a client says to one port, and hears of it. A `ClientStream`."""

    is_held_up = True  # no further message is read while one waits

    def __init__(self, server: "ChannelForwarding", number: int) -> None:
        self._server = server
        self.number = number
        self._pieces: deque[bytes] = deque()
        self._changed = asyncio.Event()
        self.given_up = asyncio.Event()

    async def arrived(self, piece: bytes) -> None:
        """Returns when it has been read: the client waits until then."""
        self._pieces.append(piece)
        self._changed.set()
        while self._pieces and not self.given_up.is_set():
            self._changed.clear()
            await self._changed.wait()

    async def read(self) -> bytes:
        while not self._pieces:
            if self.given_up.is_set():
                return b""
            self._changed.clear()
            await self._changed.wait()
        piece = self._pieces.popleft()
        self._changed.set()
        return piece

    async def write(self, content: bytes) -> None:
        await self._server.send(self.number, content)

    async def finish(self) -> None:
        """The protocol has no word for it: the connection ends in both directions."""
        await self.reset()

    async def reset(self) -> None:
        self.given_up.set()
        self._pieces.clear()
        self._changed.set()


class ChannelForwarding:
    """Serves one client until it leaves, all of its connections ended, or nothing moves."""

    def __init__(self, pod: ForwardedPod, ports: PodPorts, clock: Clock) -> None:
        self._pod = pod
        self._ports = ports
        self._clock = clock
        self._socket: web.WebSocketResponse
        self._moved = 0

    async def serve(self, socket: web.WebSocketResponse, ports: Sequence[int]) -> None:
        """Raises: ConnectionError."""
        self._socket = socket
        channels = [_Channel(self, 2 * index) for index in range(len(ports))]
        for index, port in enumerate(ports):
            for number in (2 * index, 2 * index + 1):
                await self.send(number, _PORT.pack(port))
        listening = asyncio.create_task(self._listen(channels))
        watching = asyncio.create_task(self._watch())
        forwarding = asyncio.gather(
            *(self._forward(channel, port) for channel, port in zip(channels, ports, strict=True))
        )
        parts = (listening, watching, forwarding)
        try:
            await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for part in parts:
                part.cancel()
            await asyncio.gather(*parts, return_exceptions=True)
            await socket.close()

    async def send(self, channel: int, data: bytes) -> None:
        """Raises: ConnectionError."""
        self._moved += 1
        if self._socket.ws_protocol == TEXT:
            await self._socket.send_str(chr(ord("0") + channel) + base64.b64encode(data).decode())
        else:
            await self._socket.send_bytes(bytes([channel]) + data)

    async def _listen(self, channels: Sequence[_Channel]) -> None:
        async for message in self._socket:
            if message.type not in {WSMsgType.BINARY, WSMsgType.TEXT} or not message.data:
                return
            self._moved += 1
            found = _read(message.data)
            if found is None:
                return
            number, data = found
            index, is_error = divmod(number, 2)
            if (
                data
                and not is_error
                and index < len(channels)
                and not channels[index].given_up.is_set()
            ):
                await channels[index].arrived(data)

    async def _forward(self, channel: _Channel, port: int) -> None:
        pod = self._pod
        try:
            async with self._ports.connected(pod.key, pod.uid, port) as connection:
                await relay(channel, connection, self._clock)
        except NotForwarded as refusal:
            await self.send(channel.number + 1, str(refusal).encode())

    async def _watch(self) -> None:
        moved, since = -1, self._clock.monotonic()
        while moved != self._moved or self._clock.monotonic() - since < IDLE:
            if moved != self._moved:
                moved, since = self._moved, self._clock.monotonic()
            await self._clock.sleep(PROBED_EVERY)
            await self._socket.ping()


def _read(message: bytes | str) -> tuple[int, bytes] | None:
    """The channel and its data; None: not understood."""
    if isinstance(message, bytes):
        return message[0], message[1:]
    try:
        return ord(message[0]) - ord("0"), base64.b64decode(message[1:], validate=True)
    except (binascii.Error, ValueError):
        return None
