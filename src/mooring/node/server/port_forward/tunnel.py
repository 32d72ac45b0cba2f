"""One connection to a pod's port as plain bytes, for the API server's `pods/proxy`."""

import asyncio
from collections import deque

from aiohttp import web

from mooring.clock import Clock
from mooring.node.server.port_forward.ports import Connection
from mooring.node.server.port_forward.relay import relay
from mooring.node.server.refusal import Refusal

UPGRADE = "tcp"
MOST_HELD = 256 << 10  # received bytes that the pod has not read yet


def check_upgrade(request: web.Request) -> None:
    """Raises: Refusal."""
    is_upgrade = "upgrade" in request.headers.get("Connection", "").lower()
    if not is_upgrade or request.headers.get("Upgrade", "").strip().lower() != UPGRADE:
        raise Refusal(400, "Upgrade request required")


async def serve_tunnel(
    request: web.Request, connection: Connection, clock: Clock
) -> web.StreamResponse:
    """Answer 101, then join the client and the pod. Raises: ConnectionError."""
    response = web.StreamResponse(status=101, headers={"Connection": "Upgrade", "Upgrade": UPGRADE})
    response.force_close()
    stream = _RawStream(request, response)
    # Before the answer: what comes after it is no HTTP any more.
    request.protocol.set_parser(stream)  # type: ignore[arg-type]  # has what is called of it
    request.protocol.keep_alive(False)  # noqa: FBT003  not our signature
    await response.prepare(request)
    await relay(stream, connection, clock)
    return response


class _RawStream:
    """The rest of an upgraded connection. A `ClientStream`.

    TLS ends in both directions at once, and so does this.
    """

    is_held_up = False  # nobody else waits for it

    def __init__(self, request: web.Request, response: web.StreamResponse) -> None:
        self._request = request
        self._response = response
        self._pieces: deque[bytes] = deque()
        self._held = 0
        self._is_paused = False
        self._changed = asyncio.Event()
        self.given_up = asyncio.Event()

    async def read(self) -> bytes:
        while not self._pieces:
            if self.given_up.is_set():
                return b""
            self._changed.clear()
            await self._changed.wait()
        piece = self._pieces.popleft()
        self._held -= len(piece)
        transport = self._request.transport
        if self._is_paused and self._held <= MOST_HELD // 2 and transport is not None:
            self._is_paused = False
            transport.resume_reading()
        return piece

    async def write(self, content: bytes) -> None:
        await self._response.write(content)

    async def finish(self) -> None:
        self.feed_eof()

    async def reset(self) -> None:
        """What was said so far must not look whole."""
        if (transport := self._request.transport) is not None:
            transport.abort()
        self.feed_eof()

    # called by the HTTP server

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        if self.given_up.is_set():
            return True, b""
        self._pieces.append(bytes(data))
        self._held += len(data)
        self._changed.set()
        transport = self._request.transport
        if self._held > MOST_HELD and not self._is_paused and transport is not None:
            self._is_paused = True
            transport.pause_reading()
        return False, b""

    def feed_eof(self) -> None:
        self.given_up.set()
        self._changed.set()
