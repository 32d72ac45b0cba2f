"""One client connection: parse requests, call the handler, send answers in order.

Requests on a connection are served one at a time, by one task that stays with the connection from
its first request on: a task for each would cost more than parsing the request does. While one is
being served, further bytes wait in the kernel: reading is paused, so a client cannot fill our
memory by pipelining.
"""

import asyncio
from collections import deque
from collections.abc import Coroutine
from typing import Any, Protocol, cast

import httptools

from mooring import log
from mooring.apiserver.http.ends import ChunkedWriter, TunnelOutlet
from mooring.apiserver.http.heads import head_of, to_headers
from mooring.apiserver.http.message import Handler, Request, Response, Stream, Tunnel, Upgrade

LOG = log.get("mooring.http")

MOST_BODY = 3 * 1024 * 1024
MOST_DISCARDED = 64 * 1024 * 1024  # a larger body is not even read to its end
MOST_HEADER_BYTES = 64 * 1024
HIGH_WATER = 256 * 1024  # unsent bytes at which a sender has to wait
SHORT_PATIENCE = 1.0  # seconds for which a client that was refused may go on sending

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_BAD_REQUEST = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
_TOO_LARGE = (
    b"HTTP/1.1 413 Request Entity Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
)
_HEADERS_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"Connection: close\r\nContent-Length: 0\r\n\r\n"
)


class Owner(Protocol):
    """The server a connection belongs to."""

    handler: Handler
    draining: bool

    def joined(self, connection: "Connection") -> None: ...

    def left(self, connection: "Connection") -> None: ...

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` as a task that the server owns."""
        ...

    def date(self) -> str:
        """The `Date` header of now."""
        ...

    def seconds(self) -> float:
        """The event loop's time."""
        ...


class Connection(asyncio.Protocol):
    _headers: dict[str, str]  # of the request being received

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None
        self._queue: deque[tuple[Request, bool]] = deque()
        self._busy = False
        self._arrival: asyncio.Future[None] | None = None  # what its task waits for between two
        self._is_deaf = False  # nothing that comes in matters any more
        self._patience: asyncio.TimerHandle | None = None
        self._last_words = b""  # sent when all requests are answered; then the connection closes
        self._completed = 0  # requests
        self._writable = asyncio.Event()
        self._writable.set()
        self._stream: ChunkedWriter | None = None
        self._early: bytearray | None = None  # came behind a request for another protocol
        self._tunnel: Tunnel | None = None  # who speaks that protocol
        self._outlet: TunnelOutlet | None = None
        self.began: float | None = None  # when the request being received began
        self._begin()

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(
            asyncio.Transport, transport
        )  # uvloop's TLS transport is no subclass
        self._transport.set_write_buffer_limits(high=HIGH_WATER)
        self._owner.joined(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._owner.left(self)
        self._transport = None
        if self._patience is not None:
            self._patience.cancel()
        self._queue.clear()
        self._wake()
        self._writable.set()
        if self._stream is not None:
            self._stream.cut()
        if self._outlet is not None:
            self._outlet.close()

    def data_received(self, data: bytes) -> None:
        if self._is_deaf:
            self._overhear(data)
            return
        mark = (self._completed, self._received)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._is_deaf = True  # of HTTP, this request is the last one
            self._early = bytearray(data[upgrade.args[0] :])
        except httptools.HttpParserError:
            self._refuse(_BAD_REQUEST)
        if mark == (self._completed, self._received):  # all of it head: the parser keeps that
            self._head_bytes += len(data)
            if self._head_bytes > MOST_HEADER_BYTES:
                self._refuse(_HEADERS_TOO_LARGE)

    def pause_writing(self) -> None:
        self._writable.clear()
        if self._tunnel is not None:
            self._tunnel.on_full()

    def resume_writing(self) -> None:
        self._writable.set()
        if self._tunnel is not None:
            self._tunnel.on_ready()
        if self._stream is not None:
            self._stream.source.on_ready()

    # httptools callbacks

    def on_message_begin(self) -> None:
        self.began = self._owner.seconds()

    def on_url(self, url: bytes) -> None:
        self._url += url
        self._count_header(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_body:  # a trailer: nobody asked for one
            self._count_header(len(name) + len(value))
        else:
            self._sent_headers += (name, value)

    def on_headers_complete(self) -> None:
        self._in_body = True
        sent = self._sent_headers
        self._count_header(sum(map(len, sent)))
        self._headers = headers = to_headers(sent[::2], sent[1::2])
        if self._parser.get_http_version() not in ("1.1", "1.0"):
            self._refuse(_BAD_REQUEST)
        elif "expect" in headers and headers["expect"].lower() == "100-continue" and self.idle:
            # Not while an earlier request is being answered: the two would get mixed up.
            self._write(_CONTINUE)

    def on_body(self, body: bytes) -> None:
        self._received += len(body)
        if self._received <= MOST_BODY:
            self._body.append(body)
        else:
            self._body.clear()
            if self._received > MOST_DISCARDED:
                self._refuse(_TOO_LARGE)

    def on_message_complete(self) -> None:
        if self._is_deaf:
            return
        parser = self._parser
        path, _, query = self._url.decode("latin-1").partition("?")
        request = Request(
            parser.get_method().decode("latin-1"),
            path,
            query,
            self._headers,
            b"".join(self._body),
            self._received > MOST_BODY,
        )
        self._queue.append((request, parser.should_keep_alive() and not parser.should_upgrade()))
        self._completed += 1
        self._begin()
        if self._busy:
            if self._transport:
                self._transport.pause_reading()
            return
        self._busy = True
        if self._arrival is None:
            self._owner.spawn(self._serve())
        else:
            self._wake()

    # serving

    @property
    def idle(self) -> bool:
        return not self._busy

    @property
    def has_nothing_to_say(self) -> bool:
        transport = self._transport
        return self.idle or (
            transport is not None
            and transport.is_closing()
            and not transport.get_write_buffer_size()
        )

    def abort(self) -> None:
        if self._transport:
            self._transport.abort()

    def finish(self) -> None:
        """Close as soon as what is under way has been answered; streams and tunnels end now."""
        if self._stream is not None:
            self._stream.end()
        elif self._outlet is not None:
            self._outlet.close()
        elif self.idle and self._transport:
            self._transport.close()

    def _begin(self) -> None:
        self._url = b""
        self._sent_headers: list[bytes] = []  # name, value, name, value, ...
        self._headers = {}
        self._body: list[bytes] = []
        self._received = 0
        self._in_body = False
        self._header_bytes = 0  # of names and values that are complete
        self._head_bytes = 0  # of pieces that held no more than a part of a head
        self.began = None

    def _count_header(self, size: int) -> None:
        self._header_bytes += size
        if self._header_bytes > MOST_HEADER_BYTES:
            self._refuse(_HEADERS_TOO_LARGE)

    def _refuse(self, answer: bytes) -> None:
        """Say what is wrong, behind the answers to what was right, and close."""
        if self._is_deaf:
            return
        self._is_deaf = True
        self._last_words = answer
        if self.idle:
            self._close()

    def _close(self) -> None:
        if self._last_words:
            self._write(self._last_words)
        if self._transport:
            self._transport.close()
            self._patience = asyncio.get_running_loop().call_later(SHORT_PATIENCE, self.abort)

    def _write(self, data: bytes) -> None:
        if self._transport and not self._transport.is_closing():
            self._transport.write(data)

    def _wake(self) -> None:
        if self._arrival is not None and not self._arrival.done():
            self._arrival.set_result(None)

    async def _serve(self) -> None:
        """Answer requests until the connection ends."""
        try:
            while await self._answer_all():
                self._arrival = asyncio.get_running_loop().create_future()
                await self._arrival
        except Exception:  # a bug met by one client must not end the server for all
            LOG.exception("connection failed")
            self.abort()

    async def _answer_all(self) -> bool:
        """Answer what has come; whether there may be more."""
        while self._queue:
            request, keep_alive = self._queue.popleft()
            answer = await self._owner.handler(request)
            keep_alive = keep_alive and not self._owner.draining
            if isinstance(answer, Response):
                rest = self._send(answer, keep_alive, request.method == "HEAD")
                if rest or not self._writable.is_set():
                    await self._send_rest(rest)
            elif isinstance(answer, Stream):
                await self._send_stream(answer)
                keep_alive = False
            else:
                await self._hand_over(answer)
                keep_alive = False
            if self._transport is None:
                return False
            if not keep_alive:
                self._transport.close()
                return False
            if not self._queue:
                self._transport.resume_reading()
        self._busy = False
        if self._is_deaf:
            self._close()
        return self._transport is not None and not self._is_deaf

    def _send(
        self,
        answer: Response,
        keep_alive: bool,  # noqa: FBT001  as in `head_of`
        head_only: bool,  # noqa: FBT001
    ) -> list[bytes]:
        """Send the head and what fits with it; what is left goes no faster than it is read."""
        if self._transport is None:
            return []
        parts = [answer.body] if isinstance(answer.body, bytes) else answer.body
        length = sum(map(len, parts))
        status = answer.status
        first = head_of(status, answer.content_type, answer.headers, self._owner.date(), keep_alive)
        first += b"\r\n" if status in (204, 304) else b"Content-Length: %d\r\n\r\n" % length
        if head_only or not length:
            parts = []
        elif len(parts) == 1 and length < HIGH_WATER:
            first, parts = first + parts[0], []
        self._transport.write(first)
        return parts

    async def _send_rest(self, parts: list[bytes]) -> None:
        await self._writable.wait()
        for part in parts:
            if self._transport is None:
                return
            self._transport.write(part)
            await self._writable.wait()

    async def _send_stream(self, answer: Stream) -> None:
        if self._transport is None:
            answer.source.on_closed()
            return
        head = head_of(
            answer.status,
            answer.content_type,
            answer.headers,
            self._owner.date(),
            False,  # noqa: FBT003  a stream is the last thing on its connection, and says so
        )
        self._transport.write(head + b"Transfer-Encoding: chunked\r\n\r\n")
        writer = ChunkedWriter(self._transport, self._writable, answer)
        self._stream = writer
        answer.source.start(writer)
        await writer.ended.wait()
        self._stream = None
        answer.source.on_closed()

    async def _hand_over(self, answer: Upgrade) -> None:
        """Let the tunnel have the connection, until it closes it or the client is gone."""
        tunnel, early, self._early = answer.tunnel, self._early, None
        if self._transport is None or early is None:
            tunnel.on_closed()
            return
        self._transport.write(answer.head)
        self._outlet = outlet = TunnelOutlet(self._transport)
        self._tunnel = tunnel
        self._transport.resume_reading()
        tunnel.start(outlet)
        if early:
            tunnel.received(bytes(early))
        if not self._writable.is_set():
            tunnel.on_full()
        await outlet.ended.wait()
        self._tunnel = self._outlet = None
        tunnel.on_closed()

    def _overhear(self, data: bytes) -> None:
        """Bytes that are not HTTP: a tunnel's, or kept until there is one."""
        if self._tunnel is not None:
            self._tunnel.received(data)
        elif self._early is not None:
            self._early += data
            if len(self._early) > HIGH_WATER and self._transport is not None:
                self._transport.pause_reading()
