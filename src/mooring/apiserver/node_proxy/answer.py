"""What a node sends back: a head, then a body or the bytes of another protocol.

Nothing is buffered here. Once the head is there, reading stops until a taker is given, and it
stops again whenever the taker asks for it.
"""

import asyncio
import ssl
from collections.abc import Mapping, Sequence
from typing import Protocol, cast

import httptools
import msgspec

MOST_HEAD = 64 * 1024
SLOWEST_HANDSHAKE = 10.0  # seconds


class Head(msgspec.Struct, frozen=True):
    status: int
    headers: Mapping[str, str]  # names in lower case; of repeated ones the last
    raw: bytes  # as it came, the empty line included
    pairs: Sequence[tuple[str, str]] = ()  # all headers, in their order


class ResponseReceiver(Protocol):
    """The receiver of the bytes after the head."""

    def node_sent(self, data: bytes) -> None: ...

    def node_ended(self, *, whole: bool) -> None:
        """Nothing more will come: all of it was there, or the node was cut off. Called once."""
        ...

    def node_full(self) -> None:
        """The node does not read: hold back until `node_free`."""
        ...

    def node_free(self) -> None: ...


class NodeAnswer(asyncio.Protocol):
    """The connection to the node, while it answers one request."""

    def __init__(self) -> None:
        self.head: asyncio.Future[Head] = asyncio.get_running_loop().create_future()
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._raw = bytearray()  # of the head, while it is incomplete
        self._pairs: list[tuple[str, str]] = []
        self._is_tunnel = False
        self._taker: ResponseReceiver | None = None
        self._held: list[bytes] = []  # came with the head
        self._is_full = False
        self._ended: bool | None = None  # whether all of it came; None: more may come

    # called by the proxy

    def send(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def give_to(self, taker: ResponseReceiver) -> None:
        """Hand everything behind the head to `taker`, from now on."""
        self._taker = taker
        held, self._held = self._held, []
        self.resume()
        for data in held:
            taker.node_sent(data)
        if self._is_full:
            taker.node_full()
        if self._ended is not None:
            taker.node_ended(whole=self._ended)

    async def become(self, inner: "NodeAnswer", tls: ssl.SSLContext | None) -> None:
        """Let `inner` have the connection, which is a tunnel and has not been used yet.

        With `tls`: encrypted once more, inside. Raises: OSError.
        """
        transport, self._transport = self._transport, None
        held, self._held = self._held, []
        if transport is None:
            raise ConnectionError("EOF")
        if tls is None:
            transport.set_protocol(inner)
            inner.connection_made(transport)
            transport.resume_reading()
            for data in held:
                inner.data_received(data)
            return
        try:
            inner.connection_made(await _encrypted(transport, inner, tls, held))
        except BaseException:
            transport.abort()
            raise

    def pause(self) -> None:
        if self._transport is not None:
            self._transport.pause_reading()

    def resume(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def close(self) -> None:
        """Send what was written, then hang up; what still comes is not wanted."""
        self._taker = None
        if not self.head.done():
            self.head.cancel()
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Hang up at once: neither side waits for what is under way."""
        transport = self._transport
        self.close()
        if transport is not None:
            transport.abort()

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if not self.head.done():
            self.head.set_exception(exc if isinstance(exc, OSError) else ConnectionError("EOF"))
        self._end(whole=self._is_whole_at_end())

    def data_received(self, data: bytes) -> None:
        if self._is_tunnel:
            self._pass(data)
            return
        if not self.head.done():
            self._raw += data
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._become_tunnel(len(self._raw) - len(data) + upgrade.args[0])
        except httptools.HttpParserError as error:
            self._refuse(f"malformed HTTP response: {error}")
        if not self.head.done() and len(self._raw) > MOST_HEAD:
            self._refuse("HTTP response headers exceeded 64 KiB")

    def pause_writing(self) -> None:
        self._is_full = True
        if self._taker is not None:
            self._taker.node_full()

    def resume_writing(self) -> None:
        self._is_full = False
        if self._taker is not None:
            self._taker.node_free()

    # httptools callbacks

    def on_message_begin(self) -> None:
        if not self.head.done():
            self._pairs = []  # of what was said before the answer

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.head.done():
            self._pairs.append((name.decode("latin-1").lower(), value.decode("latin-1")))

    def on_headers_complete(self) -> None:
        # An informational one precedes the answer, but for 101, complete where the tunnel begins.
        if self._parser.get_status_code() >= 200:
            self._answer(b"")

    def on_body(self, body: bytes) -> None:
        if self._ended is None:  # else of a second answer, to nothing that was asked
            self._pass(body)

    def on_message_complete(self) -> None:
        if self.head.done():
            self._end(whole=True)

    # inside

    def _answer(self, raw: bytes) -> None:
        if self._taker is None:
            self.pause()
        if not self.head.done():
            status = self._parser.get_status_code()
            self.head.set_result(Head(status, dict(self._pairs), raw, self._pairs))

    def _become_tunnel(self, length: int) -> None:
        self._is_tunnel = True
        raw = bytes(self._raw)
        self._answer(raw[:length])
        if len(raw) > length:
            self._pass(raw[length:])

    def _pass(self, data: bytes) -> None:
        if self._taker is not None:
            self._taker.node_sent(data)
        elif not self.head.cancelled():
            self._held.append(data)

    def _end(self, *, whole: bool) -> None:
        if self._ended is not None:
            return
        self._ended = whole
        if self._taker is not None:
            self._taker.node_ended(whole=whole)

    def _is_whole_at_end(self) -> bool:
        """A tunnel ends by hanging up, and so does a body of no stated length."""
        by_length = {"content-length", "transfer-encoding"} & dict(self._pairs).keys()
        return self._is_tunnel or not by_length

    def _refuse(self, why: str) -> None:
        if not self.head.done():
            self.head.set_exception(ValueError(why))
        if self._transport is not None:
            self._transport.abort()


async def _encrypted(
    transport: asyncio.Transport, inner: NodeAnswer, tls: ssl.SSLContext, held: Sequence[bytes]
) -> asyncio.Transport:
    """Raises: OSError."""
    if held:  # who speaks TLS lets the client begin
        raise ConnectionError("the pod does not speak TLS")
    encrypted = await asyncio.get_running_loop().start_tls(
        transport, inner, tls, server_hostname="", ssl_handshake_timeout=SLOWEST_HANDSHAKE
    )
    if encrypted is None:
        raise ConnectionError("EOF")
    return encrypted
