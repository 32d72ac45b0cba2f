"""What a handler is given and what it answers."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

import msgspec

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"


class Request(msgspec.Struct, frozen=True):
    method: str
    path: str  # as sent: still percent-encoded
    query: str = ""
    headers: Mapping[str, str] = {}  # names in lower case; repeated ones joined by newlines
    body: bytes = b""
    too_large: bool = False  # the body was over the limit and was not kept

    def header(self, name: str) -> str | None:
        return self.headers.get(name)


class Response(msgspec.Struct):
    """A whole answer. A body in parts is sent piece by piece, no faster than the client reads."""

    status: int
    body: bytes | list[bytes] = b""
    content_type: str = JSON  # empty: of nothing at all
    headers: tuple[tuple[str, str], ...] = ()


class Writer(Protocol):
    """The sending side of a stream."""

    @property
    def ready(self) -> bool:
        """False while the client is not reading: hold back, `on_ready` will be called."""
        ...

    def write(self, data: bytes) -> None:
        """Send one piece (framed as an HTTP chunk)."""
        ...

    def write_framed(self, chunk: bytes) -> None:
        """Send what `frame` made: one frame may be shared by many streams."""
        ...

    def end(self) -> None:
        """Finish the stream cleanly. Repeated: nothing happens."""
        ...

    def cut(self) -> None:
        """Finish it so that the client sees that something is missing."""
        ...


class Source(Protocol):
    """What feeds a stream."""

    def start(self, writer: Writer) -> None:
        """Called once, when the head has been sent."""
        ...

    def on_ready(self) -> None:
        """The client reads again."""
        ...

    def on_closed(self) -> None:
        """The client is gone, or `end` was called. Called exactly once."""
        ...


class Stream(msgspec.Struct):
    """An answer without an end of its own; chunked."""

    source: Source
    status: int = 200
    content_type: str = JSON
    headers: tuple[tuple[str, str], ...] = ()


class Outlet(Protocol):
    """The client's end of a connection that was handed over."""

    def write(self, data: bytes) -> None: ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def close(self) -> None:
        """Send what was written, then close. Repeated: nothing happens."""
        ...


class Tunnel(Protocol):
    """Who takes a connection over, to speak another protocol on it."""

    def start(self, client: Outlet) -> None:
        """Called once, when the head has been sent; before any byte of the client's."""
        ...

    def received(self, data: bytes) -> None:
        """What the client sent, in order; what came right behind its request is the first."""
        ...

    def on_full(self) -> None:
        """The client does not read: hold back until `on_ready`."""
        ...

    def on_ready(self) -> None: ...

    def on_closed(self) -> None:
        """The client is gone, or `close` was called. Called exactly once, without `start` too."""
        ...


class Upgrade(msgspec.Struct):
    """An answer after which the connection is no longer HTTP; only for requests that asked so."""

    tunnel: Tunnel
    head: bytes  # as it is sent: status line, headers, empty line
    status: int = 101


Answer = Response | Stream | Upgrade
Handler = Callable[[Request], Awaitable[Answer]]


def frame(data: bytes) -> bytes:
    """`data` as one HTTP chunk."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def in_blocks(parts: Sequence[bytes], separator: bytes, size: int = 1 << 18) -> list[bytes]:
    """Join parts into blocks of about `size` bytes, separators in between.

    Sending can pause between blocks; parts that are large by themselves are not copied.
    """
    per_block = max(1, len(parts) * size // max(1, sum(map(len, parts))))
    blocks: list[bytes] = []
    for start in range(0, len(parts), per_block):
        if start:
            blocks.append(separator)
        blocks.append(separator.join(parts[start : start + per_block]))
    return blocks
