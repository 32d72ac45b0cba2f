"""What carries SPDY: an upgraded HTTP connection, or the messages of a WebSocket."""

import asyncio

from aiohttp import WSMsgType, web

from mooring.node.server.spdy.connection import SpdyConnection

MOST_UNSENT = 1 << 20  # bytes of answers for a client that does not read


class UpgradedCarrier:
    """`request` asked for SPDY and has been answered with `response` (101).

    The HTTP server goes on reading, and passes the data on to the connection.
    """

    def __init__(self, request: web.Request, response: web.StreamResponse) -> None:
        self._request = request
        self._response = response

    async def send(self, data: bytes) -> None:
        await self._response.write(data)

    def send_now(self, data: bytes) -> None:
        """At once: the client would wait for it, and its order matters."""
        transport = self._transport
        if transport is None:
            return
        if transport.get_write_buffer_size() > MOST_UNSENT:
            transport.abort()  # it asks and asks, and does not read the answers
            return
        transport.write(data)

    def pause(self) -> None:
        if (transport := self._transport) is not None:
            transport.pause_reading()

    def resume(self) -> None:
        if (transport := self._transport) is not None:
            transport.resume_reading()

    def close(self) -> None:
        if (transport := self._transport) is not None:
            transport.close()

    @property
    def _transport(self) -> asyncio.Transport | None:
        """None when the connection is over."""
        transport = self._request.transport
        return None if transport is None or transport.is_closing() else transport


class WebSocketCarrier:
    """SPDY in binary messages: `carry` reads them until the client leaves."""

    def __init__(self, socket: web.WebSocketResponse) -> None:
        self._socket = socket
        self._answers = bytearray()  # to be sent before anything else
        self._may_read = asyncio.Event()
        self._may_read.set()
        self._is_closed = False

    async def send(self, data: bytes) -> None:
        answers = bytes(self._answers)
        self._answers.clear()
        await self._socket.send_bytes(answers + data)

    def send_now(self, data: bytes) -> None:
        """`carry` sends it before it reads on, so a client cannot make these pile up."""
        self._answers += data

    def pause(self) -> None:
        self._may_read.clear()

    def resume(self) -> None:
        self._may_read.set()

    def close(self) -> None:
        self._is_closed = True

    async def carry(self, connection: SpdyConnection) -> None:
        """Pass on what the client sends. After: the connection knows that the client has left."""
        try:
            while not self._is_closed:
                await self._may_read.wait()
                message = await self._socket.receive()
                if message.type is not WSMsgType.BINARY:
                    return
                connection.feed_data(message.data)
                if self._answers:
                    await self.send(b"")
        except ConnectionError:
            pass  # the client has left
        finally:
            connection.feed_eof()
