"""Talking to a process over a WebSocket: each message begins with the number of its channel.

`v5.channel.k8s.io` can say that standard input ends; `v4.` and `v5.` end with a Status, the older
ones with plain text; the `base64.` ones are for clients that can only send text.
"""

import base64
import binascii

import msgspec
from aiohttp import WSMsgType, web

from mooring.node.server.outcome import Outcome
from mooring.node.server.refusal import Refusal
from mooring.node.server.resizing import SizeReader
from mooring.node.server.stream_options import Streams
from mooring.oci.contract import Session

MOST_BYTES = 32 << 20  # of one message, as upstream
SLOWEST_GOODBYE = 2.0  # seconds

_STDIN, _STDOUT, _STDERR, _ERROR, _RESIZE, _CLOSE = 0, 1, 2, 3, 4, 255


class Protocol(msgspec.Struct, frozen=True):
    """One way of speaking; the client names it."""

    is_text: bool = False
    has_status: bool = False
    can_end_input: bool = False


PROTOCOLS = {
    "v5.channel.k8s.io": Protocol(has_status=True, can_end_input=True),
    "v4.channel.k8s.io": Protocol(has_status=True),
    "v4.base64.channel.k8s.io": Protocol(is_text=True, has_status=True),
    "channel.k8s.io": Protocol(),
    "base64.channel.k8s.io": Protocol(is_text=True),
}


def is_websocket(request: web.Request) -> bool:
    return request.headers.get("Upgrade", "").strip().lower() == "websocket"


async def open_channels(request: web.Request, streams: Streams) -> "Channels":
    """Upgrade the connection. Raises: Refusal, ConnectionError."""
    offered = [
        name.strip()
        for header in request.headers.getall("Sec-WebSocket-Protocol", ())
        for name in header.split(",")
    ]
    if offered and not PROTOCOLS.keys() & offered:
        raise Refusal(403, f"requested protocol(s) are not supported: [{' '.join(offered)}]")
    socket = web.WebSocketResponse(
        protocols=tuple(PROTOCOLS),
        compress=False,
        max_msg_size=MOST_BYTES,
        timeout=SLOWEST_GOODBYE,
    )
    try:
        await socket.prepare(request)
    except web.HTTPBadRequest as error:
        raise Refusal(400, error.text or "") from error
    channels = Channels(socket, streams, PROTOCOLS.get(socket.ws_protocol or "", Protocol()))
    await channels.greet()
    return channels


class Channels:
    """A `Client`."""

    def __init__(self, socket: web.WebSocketResponse, streams: Streams, protocol: Protocol) -> None:
        self.response = socket
        self._socket = socket
        self._streams = streams
        self._protocol = protocol
        self._sizes = SizeReader()

    async def greet(self) -> None:
        """An empty message, by which the client knows that all is set up."""
        lowest = _STDERR if self._streams.stderr else _ERROR
        await self._send(_STDOUT if self._streams.stdout else lowest, b"")

    async def listen(self, session: Session) -> None:
        async for message in self._socket:
            match message.type:
                case WSMsgType.BINARY:
                    data = message.data
                case WSMsgType.TEXT:
                    data = message.data.encode()
                case _:
                    return
            if data and not await self._hear(data, session):
                return

    async def _hear(self, message: bytes, session: Session) -> bool:
        """Whether the client can go on after this."""
        channel, data = message[0], message[1:]
        if self._protocol.can_end_input and channel == _CLOSE:
            if data == bytes([_STDIN]):
                await session.end_input()
            return len(data) == 1 and data[0] <= _RESIZE
        if self._protocol.is_text:
            channel -= ord("0")
            try:
                data = base64.b64decode(data, validate=True)
            except binascii.Error:
                return True  # upstream passes over it, too
        if channel == _STDIN and self._streams.stdin and data:
            await session.write(data)
        elif channel == _RESIZE and self._streams.tty:
            for size in self._sizes.feed(data):
                session.resize(size)
        return True

    async def tell(self, stream: int, data: bytes) -> None:
        if (channel := self._streams.where(stream)) is not None:
            await self._send(channel, data)

    async def probe(self) -> None:
        await self._socket.ping()

    async def finish(self, outcome: Outcome) -> None:
        if self._protocol.has_status:
            await self._send(_ERROR, outcome.status)
        elif outcome.text:
            await self._send(_ERROR, outcome.text.encode())
        await self._socket.close()

    async def _send(self, channel: int, data: bytes) -> None:
        if self._protocol.is_text:
            await self._socket.send_str(f"{channel}{base64.b64encode(data).decode()}")
        else:
            await self._socket.send_bytes(bytes([channel]) + data)
