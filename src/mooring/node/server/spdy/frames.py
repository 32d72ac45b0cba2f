"""Frames of SPDY/3.1: bytes to events, and events to bytes.

Frames that are not needed here (settings, and window updates, since no peer limits its data by
them) are read and ignored. Data is passed on as it comes: no frame is ever buffered as a whole.
"""

import struct
from collections.abc import Iterator, Mapping
from enum import IntEnum

import msgspec

from mooring.node.server.spdy.errors import SpdyError
from mooring.node.server.spdy.headers import HeaderReader, HeaderWriter

MOST_CONTROL_BYTES = 16 << 10  # of a frame that is no data

_VERSION = 3
_IS_CONTROL = 0x8000_0000
_FIN = 1
_SIZE_MASK = 0xFF_FFFF
_ID_MASK = 0x7FFF_FFFF

_HEAD = struct.Struct(">II")  # of every frame: what it is; flags and how many bytes follow
_ONE, _TWO = struct.Struct(">I"), struct.Struct(">II")
_SYN = struct.Struct(">IIH")  # stream, associated stream, priority and slot


class FrameType(IntEnum):
    SYN_STREAM = 1
    SYN_REPLY = 2
    RST_STREAM = 3
    PING = 6
    GOAWAY = 7
    HEADERS = 8


class Opened(msgspec.Struct, frozen=True):
    stream: int
    headers: Mapping[str, str]
    is_last: bool


class Data(msgspec.Struct, frozen=True):
    stream: int
    data: bytes
    is_last: bool


class Reset(msgspec.Struct, frozen=True):
    stream: int


class Pinged(msgspec.Struct, frozen=True):
    id: int


class GoingAway(msgspec.Struct, frozen=True):
    pass


Event = Opened | Data | Reset | Pinged | GoingAway


class FrameReader:
    """What one side of a connection says."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._headers = HeaderReader()
        self._stream = 0  # of the data frame that is being read
        self._left = 0  # bytes of it that are still to come
        self._ends = False

    def feed(self, data: bytes) -> Iterator[Event]:
        """Raises: SpdyError."""
        self._buffer += data
        while True:
            if self._left:
                if not self._buffer:
                    return
                yield self._more()
                continue
            if len(self._buffer) < _HEAD.size:
                return
            word, rest = _HEAD.unpack_from(self._buffer)
            flags, size = rest >> 24, rest & _SIZE_MASK
            if word & _IS_CONTROL:
                if size > MOST_CONTROL_BYTES:
                    raise SpdyError(f"a control frame of {size} bytes")
                if len(self._buffer) < _HEAD.size + size:
                    return
                body = bytes(self._buffer[_HEAD.size : _HEAD.size + size])
                del self._buffer[: _HEAD.size + size]
                yield from self._control(word, flags, body)
            else:
                del self._buffer[: _HEAD.size]
                self._stream, self._left, self._ends = word, size, bool(flags & _FIN)
                if not size:
                    yield Data(word, b"", self._ends)

    def _more(self) -> Data:
        part = bytes(self._buffer[: self._left])
        del self._buffer[: len(part)]
        self._left -= len(part)
        return Data(self._stream, part, self._ends and not self._left)

    def _control(self, word: int, flags: int, body: bytes) -> Iterator[Event]:
        version, kind = (word & ~_IS_CONTROL) >> 16, word & 0xFFFF
        if version != _VERSION:
            raise SpdyError(f"SPDY version {version}")
        try:
            match kind:
                case FrameType.SYN_STREAM:
                    stream, _, _ = _SYN.unpack_from(body)
                    headers = self._headers.read(body[_SYN.size :])
                    yield Opened(stream & _ID_MASK, headers, bool(flags & _FIN))
                case (
                    FrameType.SYN_REPLY | FrameType.HEADERS
                ):  # unpacked, or the next block makes no sense
                    self._headers.read(body[_ONE.size :])
                case FrameType.RST_STREAM:
                    stream, _ = _TWO.unpack_from(body)
                    yield Reset(stream & _ID_MASK)
                case FrameType.PING:
                    yield Pinged(*_ONE.unpack_from(body))
                case FrameType.GOAWAY:
                    yield GoingAway()
                case _:
                    pass  # settings and windows
        except struct.error as error:
            raise SpdyError(f"a frame of type {kind} is too short") from error


class FrameWriter:
    """What the other side says."""

    def __init__(self) -> None:
        self._headers = HeaderWriter()

    def accept(self, stream: int) -> bytes:
        return _control(FrameType.SYN_REPLY, _ONE.pack(stream) + self._headers.write({}))


def data(stream: int, content: bytes) -> bytes:
    return _HEAD.pack(stream, len(content)) + content


def last(stream: int) -> bytes:
    """The end of what one side says on a stream."""
    return _HEAD.pack(stream, _FIN << 24)


def reset(stream: int, status: int) -> bytes:
    return _control(FrameType.RST_STREAM, _TWO.pack(stream, status))


def ping(id: int) -> bytes:
    return _control(FrameType.PING, _ONE.pack(id))


def go_away(last_stream: int) -> bytes:
    return _control(FrameType.GOAWAY, _TWO.pack(last_stream, 0))


def _control(kind: FrameType, body: bytes) -> bytes:
    return _HEAD.pack(_IS_CONTROL | _VERSION << 16 | kind, len(body)) + body
