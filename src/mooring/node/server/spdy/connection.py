"""One SPDY connection of a client: its streams, and their buffered data.

What carries its bytes (`carriers.py`) passes on what the client sends.
"""

import asyncio
from collections import deque
from typing import Protocol

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
MOST_STREAMS = 256  # open at a time
PIECE = 32 << 10  # bytes in a data frame; others get their turn in between

_REFUSED, _CANCEL = 3, 5  # why a stream is reset


class Carrier(Protocol):
    """What carries the bytes of a connection to the client, and holds the client back."""

    async def send(self, data: bytes) -> None:
        """Waits for a client that does not read. Raises: ConnectionError."""
        ...

    def send_now(self, data: bytes) -> None: ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def close(self) -> None: ...


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
        self.given_up = asyncio.Event()  # the client reset it, or has left: not a proper end

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
        self.given_up.set()
        self.ended()
        self._is_finished = True


class SpdyConnection:
    def __init__(self, carrier: Carrier) -> None:
        self._carrier = carrier
        self._reader = FrameReader()
        self._writer = FrameWriter()
        self._streams: dict[int, SpdyStream] = {}
        self._opened: deque[SpdyStream] = deque()
        self._changed = asyncio.Event()
        self._held = 0
        self._is_paused = False
        self._last_stream = 0
        self._ping = 0
        self.moved = 0  # frames of streams, in both directions; pings do not count
        self.left = asyncio.Event()

    @property
    def has_left(self) -> bool:
        return self.left.is_set()

    @property
    def is_held_up(self) -> bool:
        """Whether the client must wait until some stream has been read."""
        return self._is_paused

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
        self.moved += 1
        await self._carrier.send(frame)

    async def probe(self) -> None:
        """Say something, so that a client that is gone is found out. Raises: ConnectionError."""
        self._ping += 2  # even: pings of the server
        await self._carrier.send(frames.ping(self._ping))

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
        if self._is_paused and self._held <= MOST_HELD // 2:
            self._is_paused = False
            self._carrier.resume()

    def forget_done(self, stream: SpdyStream) -> None:
        if stream.is_done:
            self._streams.pop(stream.id, None)

    # called by the carrier

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        """Whether this was the end, and what of the data was not used."""
        if self.has_left:
            return True, b""
        try:
            for event in self._reader.feed(bytes(data)):
                self._hear(event)
        except SpdyError:
            self._carrier.send_now(frames.go_away(self._last_stream))
            self._leave()
            self._carrier.close()
            return True, b""
        if self._held > MOST_HELD and not self._is_paused:
            self._is_paused = True
            self._carrier.pause()
        return False, b""

    def feed_eof(self) -> None:
        self._leave()

    def _hear(self, event: Event) -> None:
        match event:
            case Opened():
                self.moved += 1
                self._open(event)
            case Data(id, piece, is_last):
                self.moved += 1
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
                    self._carrier.send_now(frames.ping(id))
            case GoingAway():
                self._leave()

    def _open(self, opened: Opened) -> None:
        if opened.stream <= self._last_stream or opened.stream % 2 == 0:
            raise SpdyError(f"stream {opened.stream} is out of order")
        self._last_stream = opened.stream
        if len(self._streams) >= MOST_STREAMS:
            self._carrier.send_now(frames.reset(opened.stream, _REFUSED))
            return
        stream = self._streams[opened.stream] = SpdyStream(self, opened)
        self._carrier.send_now(self._writer.accept(opened.stream))
        self._opened.append(stream)
        self._changed.set()

    def _leave(self) -> None:
        self.left.set()
        self._changed.set()
        for stream in self._streams.values():
            stream.was_reset()
        self._streams.clear()
