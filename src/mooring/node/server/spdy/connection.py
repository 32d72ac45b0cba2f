"""One SPDY connection of a client: its streams, and their buffered data.

The HTTP server that accepted the connection goes on reading from it, and passes the data on.
"""

import asyncio
from collections import deque

from aiohttp import web

from mooring.node.server.spdy import frames
from mooring.node.server.spdy.errors import SpdyError
from mooring.node.server.spdy.frames import (
    Data,
    Event,
    FrameReader,
    FrameWriter,
    GoingAway,
    Opened,
    Pinged,
    Reset,
)

MOST_HELD = 256 << 10  # received bytes that are not read yet; then the client must wait
MOST_UNSENT = 1 << 20  # bytes of answers for a client that does not read
MOST_STREAMS = 256  # open at a time
PIECE = 32 << 10  # bytes in a data frame; others get their turn in between

_REFUSED, _CANCEL = 3, 5  # why a stream is reset


class SpdyStream:
    """A stream that the client opened; both directions end on their own."""

    def __init__(self, connection: "SpdyConnection", opened: Opened) -> None:
        self.id = opened.stream
        self.headers = opened.headers
        self._connection = connection
        self._pieces: deque[bytes] = deque()
        self._changed = asyncio.Event()
        self._has_ended = opened.is_last
        self._is_finished = False
        self._is_ignored = False

    @property
    def type(self) -> str:
        return self.headers.get("streamtype", "")

    @property
    def is_done(self) -> bool:
        return self._has_ended and self._is_finished

    async def read(self) -> bytes:
        """What came next; empty at the end, which is also when the client has left."""
        while not self._pieces:
            if self._has_ended:
                return b""
            self._changed.clear()
            await self._changed.wait()
        piece = self._pieces.popleft()
        self._connection.took(len(piece))
        return piece

    def ignore(self) -> None:
        """Discard the data of this stream."""
        self._is_ignored = True
        while self._pieces:
            self._connection.took(len(self._pieces.popleft()))

    async def write(self, content: bytes) -> None:
        """Raises: ConnectionError when the client has left."""
        for start in range(0, len(content), PIECE):
            if not self._is_finished:
                await self._connection.send(frames.data(self.id, content[start : start + PIECE]))

    async def finish(self) -> None:
        """Nothing more is written. Repeated: nothing. Raises: ConnectionError."""
        if not self._is_finished:
            self._is_finished = True
            await self._connection.send(frames.last(self.id))
            self._connection.forget_done(self)

    async def reset(self) -> None:
        """End both directions. Raises: ConnectionError."""
        self.ended()
        self._is_finished = True
        await self._connection.send(frames.reset(self.id, _CANCEL))
        self._connection.forget_done(self)

    # called by the connection

    def arrived(self, piece: bytes) -> int:
        """How many bytes are kept."""
        if self._is_ignored or self._has_ended or not piece:
            return 0
        self._pieces.append(piece)
        self._changed.set()
        return len(piece)

    def ended(self) -> None:
        self._has_ended = True
        self._changed.set()

    def was_reset(self) -> None:
        self.ended()
        self._is_finished = True


class SpdyConnection:
    """`request` is one that asked for SPDY and has been answered with `response` (101)."""

    def __init__(self, request: web.Request, response: web.StreamResponse) -> None:
        self._request = request
        self._response = response
        self._reader = FrameReader()
        self._writer = FrameWriter()
        self._streams: dict[int, SpdyStream] = {}
        self._opened: deque[SpdyStream] = deque()
        self._changed = asyncio.Event()
        self._held = 0
        self._is_paused = False
        self._last_stream = 0
        self._ping = 0
        self.left = asyncio.Event()

    @property
    def has_left(self) -> bool:
        return self.left.is_set()

    async def accept(self) -> SpdyStream | None:
        """The next stream that the client opens; None when it has left."""
        while not self._opened:
            if self.has_left:
                return None
            self._changed.clear()
            await self._changed.wait()
        return self._opened.popleft()

    async def send(self, frame: bytes) -> None:
        """Raises: ConnectionError."""
        await self._response.write(frame)

    async def probe(self) -> None:
        """Say something, so that a client that is gone is found out. Raises: ConnectionError."""
        self._ping += 2  # even: pings of the server
        await self.send(frames.ping(self._ping))

    async def close(self) -> None:
        """Say that nothing follows."""
        if not self.has_left:
            try:
                await self.send(frames.go_away(self._last_stream))
            except ConnectionError:
                self._leave()

    # called by streams

    def took(self, count: int) -> None:
        self._held -= count
        transport = self._transport
        if self._is_paused and self._held <= MOST_HELD // 2 and transport is not None:
            self._is_paused = False
            transport.resume_reading()

    def forget_done(self, stream: SpdyStream) -> None:
        if stream.is_done:
            self._streams.pop(stream.id, None)

    # called by the HTTP server

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        """Whether this was the end, and what of the data was not used."""
        if self.has_left:
            return True, b""
        try:
            for event in self._reader.feed(bytes(data)):
                self._hear(event)
        except SpdyError:
            self._answer(frames.go_away(self._last_stream))
            self._leave()
            if self._transport is not None:
                self._transport.close()
            return True, b""
        transport = self._transport
        if self._held > MOST_HELD and not self._is_paused and transport is not None:
            self._is_paused = True
            transport.pause_reading()
        return False, b""

    def feed_eof(self) -> None:
        self._leave()

    def _hear(self, event: Event) -> None:
        match event:
            case Opened():
                self._open(event)
            case Data(id, piece, is_last):
                stream = self._streams.get(id)
                if stream is not None:
                    self._held += stream.arrived(piece)
                    if is_last:
                        stream.ended()
                        self.forget_done(stream)
            case Reset(id):
                if stream := self._streams.pop(id, None):
                    stream.was_reset()
            case Pinged(id):
                if id % 2:  # even: an answer to one of ours
                    self._answer(frames.ping(id))
            case GoingAway():
                self._leave()

    def _open(self, opened: Opened) -> None:
        if opened.stream <= self._last_stream or opened.stream % 2 == 0:
            raise SpdyError(f"stream {opened.stream} is out of order")
        self._last_stream = opened.stream
        if len(self._streams) >= MOST_STREAMS:
            self._answer(frames.reset(opened.stream, _REFUSED))
            return
        stream = self._streams[opened.stream] = SpdyStream(self, opened)
        self._answer(self._writer.accept(opened.stream))
        self._opened.append(stream)
        self._changed.set()

    def _answer(self, frame: bytes) -> None:
        """At once: the client would wait for it, and its order matters."""
        transport = self._transport
        if transport is None:
            return
        if transport.get_write_buffer_size() > MOST_UNSENT:
            transport.abort()  # it asks and asks, and does not read the answers
            return
        transport.write(frame)

    @property
    def _transport(self) -> asyncio.Transport | None:
        """None when the connection is over."""
        transport = self._request.transport
        return None if transport is None or transport.is_closing() else transport

    def _leave(self) -> None:
        self.left.set()
        self._changed.set()
        for stream in self._streams.values():
            stream.was_reset()
        self._streams.clear()
