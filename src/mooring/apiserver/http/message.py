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
    content_type: str = JSON
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


Answer = Response | Stream
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
