"""Requests and answers, apart from how they are carried: `http/` sends and receives them."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Protocol

import msgspec

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"

BLOCK = 1 << 17  # bytes of a long answer that are put together and sent at a time


class Request(msgspec.Struct, frozen=True):
    method: str
    path: str  # as sent: still percent-encoded
    query: str = ""
    headers: Mapping[str, str] = {}  # names in lower case; repeated ones joined by newlines
    body: bytes = b""
    too_large: bool = False  # the body was over the limit and was not kept
    crowded: bool = False  # nor was this one: too many bytes are under way already

    def header(self, name: str) -> str | None:
        return self.headers.get(name)


class Joined:
    """A long body out of pieces that others hold too: joined block by block, as it is sent.

    A client that does not read it costs a list of references, not a copy.
    """

    def __init__(
        self,
        pieces: Sequence[bytes | memoryview],
        separator: bytes = b"",
        head: bytes = b"",
        tail: bytes = b"",
    ) -> None:
        self._pieces = pieces
        self._separator = separator
        self._head = head
        self._tail = tail
        between = len(separator) * max(0, len(pieces) - 1)
        self.length = sum(map(len, pieces)) + between + len(head) + len(tail)

    def __iter__(self) -> Iterator[bytes]:
        return self.blocks(BLOCK)

    def blocks(self, size: int) -> Iterator[bytes]:
        """Blocks of about `size` bytes; a piece that is larger by itself is not copied."""
        if self._head:
            yield self._head
        pieces, separator = self._pieces, self._separator
        per_block = max(1, len(pieces) * size // max(1, self.length))
        for start in range(0, len(pieces), per_block):
            if start and separator:
                yield separator
            some = pieces[start : start + per_block]
            only = some[0]
            yield only if len(some) == 1 and type(only) is bytes else separator.join(some)
        if self._tail:
            yield self._tail


Body = bytes | Joined | AsyncIterator[bytes]


class Response(msgspec.Struct):
    """A response of finite length. All but plain bytes is sent block by block, as the client reads.

    A body that is an iterator is made while it is sent, without a Content-Length.
    """

    status: int
    body: Body = b""
    content_type: str = JSON  # empty: of nothing at all
    headers: tuple[tuple[str, str], ...] = ()


class Writer(Protocol):
    """The sending side of a stream."""

    @property
    def ready(self) -> bool:
        """False while the client is not reading: hold back, `on_ready` will be called."""
        ...

    def write(self, data: bytes) -> None:
        """Send one piece; it is framed on the way."""
        ...

    def write_framed(self, chunk: bytes) -> None:
        """Send what is framed already: one frame may be shared by many streams."""
        ...

    def end(self) -> None:
        """Finish the stream cleanly. Repeated: nothing happens."""
        ...

    def cut(self) -> None:
        """Finish it so that the client sees that something is missing."""
        ...


class StreamSource(Protocol):
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

    source: StreamSource
    status: int = 200
    content_type: str = JSON
    headers: tuple[tuple[str, str], ...] = ()
    behind: int = 0  # bytes that are held elsewhere while the client does not read


class Outlet(Protocol):
    """The client's end of a connection that was handed over."""

    def write(self, data: bytes) -> None: ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def close(self) -> None:
        """Send what was written, then close. Repeated: nothing happens."""
        ...


class Tunnel(Protocol):
    """Takes over a connection after an upgrade to another protocol."""

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
    behind: int = 0  # as of a Stream


Answer = Response | Stream | Upgrade
Handler = Callable[[Request], Awaitable[Answer]]
