"""One client connection: parse requests, call the handler, send answers in order.

Requests on a connection are served one at a time. While one is being served, further bytes wait in
the kernel: reading is paused, so a client cannot fill our memory by pipelining.
"""

import asyncio
from collections import deque
from collections.abc import Coroutine
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Protocol, cast

import httptools

from mooring import log
from mooring.apiserver.http.message import Handler, Request, Response, Stream, frame

LOG = log.get("mooring.http")

MOST_BODY = 3 * 1024 * 1024
MOST_DISCARDED = 64 * 1024 * 1024  # a larger body is not even read to its end
MOST_HEADER_BYTES = 64 * 1024
HIGH_WATER = 256 * 1024  # unsent bytes at which a sender has to wait

_REASONS = {status.value: status.phrase for status in HTTPStatus}
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
    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None
        self._queue: deque[tuple[Request, bool]] = deque()
        self._busy = False
        self._is_deaf = False  # nothing that comes in matters any more
        self._last_words = b""  # sent when all requests are answered; then the connection closes
        self._completed = 0  # requests
        self._writable = asyncio.Event()
        self._writable.set()
        self._stream: _ChunkedWriter | None = None
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
        self._queue.clear()
        self._writable.set()
        if self._stream is not None:
            self._stream.lost()

    def data_received(self, data: bytes) -> None:
        if self._is_deaf:
            return
        mark = (self._completed, self._received)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._is_deaf = True  # no other protocol is spoken: its request is the last one
        except httptools.HttpParserError:
            self._refuse(_BAD_REQUEST)
        if mark == (self._completed, self._received):  # all of it head: the parser keeps that
            self._head_bytes += len(data)
            if self._head_bytes > MOST_HEADER_BYTES:
                self._refuse(_HEADERS_TOO_LARGE)

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()
        if self._stream is not None:
            self._stream.source.on_ready()

    # httptools callbacks

    def on_message_begin(self) -> None:
        self.began = self._owner.seconds()

    def on_url(self, url: bytes) -> None:
        self._url += url
        self._count_header(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count_header(len(name) + len(value))
        if self._in_body:
            return  # a trailer: nobody asked for one
        key = name.decode("latin-1").lower()
        text = value.decode("latin-1")
        known = self._headers.get(key)
        self._headers[key] = text if known is None else f"{known}\n{text}"

    def on_headers_complete(self) -> None:
        self._in_body = True
        if self._parser.get_http_version() not in ("1.1", "1.0"):
            self._refuse(_BAD_REQUEST)
        elif self._headers.get("expect", "").lower() == "100-continue" and self.idle:
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
        path, _, query = self._url.partition(b"?")
        request = Request(
            method=self._parser.get_method().decode("latin-1"),
            path=path.decode("latin-1"),
            query=query.decode("latin-1"),
            headers=self._headers,
            body=b"".join(self._body),
            too_large=self._received > MOST_BODY,
        )
        parser = self._parser
        self._queue.append((request, parser.should_keep_alive() and not parser.should_upgrade()))
        self._completed += 1
        self._begin()
        if not self._busy:
            self._busy = True
            self._owner.spawn(self._serve())
        elif self._transport:
            self._transport.pause_reading()

    # serving

    @property
    def idle(self) -> bool:
        return not self._busy

    def abort(self) -> None:
        if self._transport:
            self._transport.abort()

    def finish(self) -> None:
        """Close as soon as what is under way has been answered; streams end now."""
        if self._stream is not None:
            self._stream.end()
        elif self.idle and self._transport:
            self._transport.close()

    def _begin(self) -> None:
        self._url = b""
        self._headers: dict[str, str] = {}
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

    def _write(self, data: bytes) -> None:
        if self._transport and not self._transport.is_closing():
            self._transport.write(data)

    async def _serve(self) -> None:
        try:
            await self._answer_all()
        except Exception:  # a bug met by one client must not end the server for all
            LOG.exception("connection failed")
            self.abort()

    async def _answer_all(self) -> None:
        while self._queue:
            request, keep_alive = self._queue.popleft()
            answer = await self._owner.handler(request)
            keep_alive = keep_alive and not self._owner.draining
            if isinstance(answer, Response):
                await self._send(answer, keep_alive=keep_alive, head_only=request.method == "HEAD")
            else:
                await self._send_stream(answer)
                keep_alive = False
            if self._transport is None:
                return
            if not keep_alive:
                self._transport.close()
                return
            if not self._queue:
                self._transport.resume_reading()
        self._busy = False
        if self._is_deaf:
            self._close()

    async def _send(self, answer: Response, *, keep_alive: bool, head_only: bool) -> None:
        parts = [answer.body] if isinstance(answer.body, bytes) else answer.body
        length = sum(map(len, parts))
        head = _head(
            answer.status, answer.content_type, answer.headers, self._owner.date(), keep_alive
        )
        if answer.status not in (204, 304):
            head += f"Content-Length: {length}\r\n"
        first = f"{head}\r\n".encode("latin-1")
        if head_only or not length:
            parts = []
        elif len(parts) == 1 and length < HIGH_WATER:
            first, parts = first + parts[0], []
        for part in (first, *parts):
            if self._transport is None:
                return
            self._transport.write(part)
            if not self._writable.is_set():
                await self._writable.wait()

    async def _send_stream(self, answer: Stream) -> None:
        if self._transport is None:
            answer.source.on_closed()
            return
        head = _head(
            answer.status,
            answer.content_type,
            answer.headers,
            self._owner.date(),
            False,  # noqa: FBT003  a stream is the last thing on its connection, and says so
        )
        self._transport.write(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode("latin-1"))
        writer = _ChunkedWriter(self._transport, self._writable, answer)
        self._stream = writer
        answer.source.start(writer)
        await writer.ended.wait()
        self._stream = None
        answer.source.on_closed()


class _ChunkedWriter:
    """Sends a stream's pieces as HTTP chunks."""

    def __init__(
        self, transport: asyncio.Transport, writable: asyncio.Event, answer: Stream
    ) -> None:
        self.source = answer.source
        self.ended = asyncio.Event()
        self._transport = transport
        self._writable = writable

    @property
    def ready(self) -> bool:
        return self._writable.is_set() and not self.ended.is_set()

    def write(self, data: bytes) -> None:
        if data:
            self.write_framed(frame(data))

    def write_framed(self, chunk: bytes) -> None:
        if not self.ended.is_set():
            self._transport.write(chunk)

    def end(self) -> None:
        if not self.ended.is_set():
            self._transport.write(b"0\r\n\r\n")
            self.ended.set()

    def lost(self) -> None:
        self.ended.set()


@lru_cache(maxsize=256)
def _head(  # kept for a second, until the date changes: most answers begin alike
    status: int,
    content_type: str,
    headers: tuple[tuple[str, str], ...],
    date: str,
    keep_alive: bool,  # noqa: FBT001  lru_cache keys positional arguments faster
) -> str:
    reason = _REASONS.get(status, "Unknown")
    lines = [f"HTTP/1.1 {status} {reason}\r\nContent-Type: {content_type}\r\nDate: {date}\r\n"]
    if not any(name == "Cache-Control" for name, _ in headers):
        lines.append("Cache-Control: no-cache, private\r\n")
    lines.extend(f"{name}: {_one_line(value)}\r\n" for name, value in headers)
    if not keep_alive:
        lines.append("Connection: close\r\n")
    return "".join(lines)


def _one_line(value: str) -> str:
    """A header value cannot end its header."""
    return (
        value.replace("\r", " ").replace("\n", " ").encode("latin-1", "replace").decode("latin-1")
    )
