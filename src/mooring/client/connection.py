"""One HTTP/1.1 connection to an API server: requests in turns, answers whole or in pieces."""

import asyncio
from collections.abc import Callable
from typing import Final, cast

import httptools

MOST_HEAD_BYTES: Final = 1 << 16  # of the head of an answer, or between two parts of its body
MOST_HELD_BYTES: Final = 1 << 18  # of a stream that nobody reads; more wait in the kernel
MOST_ANSWER_BYTES: Final = 1 << 30  # of one that is not a stream: a page of the largest objects

_NOBODYS = httptools.HttpResponseParser(None)


class BrokenOff(OSError):
    """The connection ended before the answer did."""


class Answer:
    """The answer to one request, as it arrives."""

    def __init__(self, connection: "Connection", *, is_stream: bool) -> None:
        self.status = 0  # until the head is here
        self.retry_after: str | None = None
        self.is_framed = False  # its end does not depend on that of the connection
        self._connection = connection
        self._is_stream = is_stream  # who asked reads while it arrives
        self._pieces: list[bytes] = []
        self._held = 0  # bytes
        self._is_over = False
        self._error: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None

    # of who asked; all that wait raise: OSError, ValueError

    async def ready(self) -> None:
        """Until all of it is here; of a stream, the head."""
        while not (self._is_over or (self._is_stream and self.status)):
            await self._change()
        if self._error is not None:
            raise self._error

    async def rest(self) -> bytes:
        """All that was not read yet."""
        pieces = []
        while piece := await self.some():
            pieces.append(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def some(self) -> bytes:
        """What has arrived since the last time; nothing at the end."""
        while not (self._pieces or self._is_over):
            await self._change()
        if self._error is not None and not self._pieces:
            raise self._error
        return self._take()

    def close(self) -> None:
        """Whoever asked has no more use for it: what is under way ends with its connection, at
        once, for a TLS shutdown would wait for the server."""
        if not self._is_over:
            self._connection.abort()

    def _take(self) -> bytes:
        pieces, self._pieces, self._held = self._pieces, [], 0
        self._connection.go_on()
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def _change(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        await self._waiter

    # of the connection

    def begun(self, status: int) -> None:
        self.status = status
        if self._is_stream:
            self._wake()

    def arrived(self, piece: bytes) -> bool:
        """Whether that is enough for now."""
        self._pieces.append(piece)
        self._held += len(piece)
        if not self._is_stream:
            return False
        self._wake()
        return self._held > MOST_HELD_BYTES

    @property
    def is_too_long(self) -> bool:
        return not self._is_stream and self._held > MOST_ANSWER_BYTES

    def ended(self, error: Exception | None = None) -> None:
        self._is_over, self._error = True, error
        self._wake()

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)


Told = Callable[["Connection"], None]


class Connection(asyncio.Protocol):
    def __init__(self, freed: Told | None, left: Told) -> None:
        """`freed` is called when an answer is over, `left` when it is closed. Without `freed` it
        is left to who asked: what follows a proxy's answer is not the proxy's."""
        self._freed = freed
        self._left = left
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._answer: Answer | None = None  # under way
        self._head_bytes = 0  # that came since a part of a body did, approximately
        self._is_paused = False

    @property
    def is_free(self) -> bool:
        """Whether another request may be sent."""
        transport = self._transport
        return self._answer is None and transport is not None and not transport.is_closing()

    @property
    def transport(self) -> asyncio.Transport:
        """Raises: BrokenOff."""
        if self._transport is None:
            raise BrokenOff("it is closed")
        return self._transport

    def ask(self, request: bytes, *, is_stream: bool = False) -> Answer:
        """Before: it is free. Raises: BrokenOff."""
        answer = Answer(self, is_stream=is_stream)
        self.transport.write(request)
        self._answer, self._head_bytes = answer, 0
        return answer

    def go_on(self) -> None:
        """What has arrived was read."""
        if self._is_paused and self._transport is not None:
            self._is_paused = False
            self._transport.resume_reading()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(
            asyncio.Transport, transport
        )  # uvloop's TLS transport is no subclass

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._parser = _NOBODYS  # the two hold each other
        answer, self._answer = self._answer, None
        if answer is not None:
            is_whole = exc is None and answer.status and not answer.is_framed
            answer.ended(None if is_whole else exc or BrokenOff("the server closed it"))
        self._left(self)

    def data_received(self, data: bytes) -> None:
        self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._refuse(ValueError(f"what it sent is no answer: {error}"))
            return
        if self._answer is None:
            return
        if self._head_bytes > MOST_HEAD_BYTES:
            self._refuse(ValueError(f"its answer has a head of over {MOST_HEAD_BYTES} bytes"))
        elif self._answer.is_too_long:
            self._refuse(ValueError(f"its answer has over {MOST_ANSWER_BYTES} bytes"))

    def _refuse(self, error: ValueError) -> None:
        answer, self._answer = self._answer, None
        if answer is not None:
            answer.ended(error)
        self.abort()

    # httptools callbacks

    def on_header(self, name: bytes, value: bytes) -> None:
        match name.lower():
            case b"content-length" | b"transfer-encoding":
                self._current().is_framed = True
            case b"retry-after":
                self._current().retry_after = value.decode("latin-1")
            case _:
                pass

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status >= 200:  # else the answer is still to come
            self._current().begun(status)

    def on_body(self, piece: bytes) -> None:
        self._head_bytes = 0
        is_enough = self._current().arrived(piece)
        if is_enough and not self._is_paused and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()

    def on_message_complete(self) -> None:
        answer = self._current()
        if not answer.status:
            return
        self._answer = None
        answer.ended()
        self.go_on()  # who asked may have left without reading
        if self._freed is None:
            return
        if self._parser.should_keep_alive():
            self._freed(self)
        else:
            self.abort()

    def _current(self) -> Answer:
        """Raises: ValueError when nothing was asked."""
        if self._answer is None:
            raise ValueError("nothing was asked")
        return self._answer
