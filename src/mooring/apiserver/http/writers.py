"""The writers that a connection gives to streams and tunnels: HTTP chunks, and plain bytes."""

import asyncio
from collections import deque

from mooring.apiserver.http.limits import SLICE
from mooring.apiserver.limits.turns import Turns
from mooring.apiserver.request.message import Stream

AT_ONCE = 4  # slices in one turn


class ChunkedWriter:
    """Sends a stream's pieces as HTTP chunks.

    Of a long one only slices are copied, as the client reads them: until then it is held as it was
    given, and may be held by many.
    """

    def __init__(
        self,
        transport: asyncio.Transport,
        writable: asyncio.Event,
        answer: Stream,
        turns: Turns,
    ) -> None:
        self.source = answer.source
        self._turns = turns
        self._has_turn = False
        self.ended = asyncio.Event()
        self._transport = transport
        self._writable = writable
        self._pending: deque[memoryview] = deque()
        self._is_ending = False

    @property
    def ready(self) -> bool:
        return self._writable.is_set() and not self._pending and not self.ended.is_set()

    @property
    def unsent(self) -> int:
        return sum(map(len, self._pending))

    def write(self, data: bytes) -> None:
        if data:
            self.write_framed(frame(data))

    def write_framed(self, chunk: bytes) -> None:
        if self.ended.is_set() or self._is_ending:
            return
        if self._pending or len(chunk) > SLICE:
            self._pending.append(memoryview(chunk))
            self._flush_in_turn()
        else:
            self._transport.write(chunk)

    def on_writable(self) -> None:
        """The client reads again."""
        if self._pending:
            self._flush_in_turn()
        elif not self.ended.is_set():
            self.source.on_ready()

    def end(self) -> None:
        self._is_ending = True
        self._finish()

    def cut(self) -> None:
        self._pending.clear()
        self.ended.set()  # without the last chunk: the client sees that the body is incomplete

    def _flush_in_turn(self) -> None:
        """A thousand may have the same long frame to send: one at a time, a few slices each."""
        if not self._has_turn:
            self._has_turn = True
            self._turns.call(self._flush)

    def _flush(self) -> None:
        self._has_turn = False
        pending = self._pending
        for _ in range(AT_ONCE):
            if not pending or not self._writable.is_set():
                break
            piece = pending[0]
            if len(piece) > SLICE:
                pending[0] = piece[SLICE:]
                self._transport.write(piece[:SLICE])
            else:
                pending.popleft()
                self._transport.write(piece)
        self._finish()
        if pending and self._writable.is_set():
            self._flush_in_turn()
        elif self.ready:
            self.source.on_ready()

    def _finish(self) -> None:
        if self._is_ending and not self._pending and not self.ended.is_set():
            self._transport.write(b"0\r\n\r\n")
            self.ended.set()


class TunnelOutlet:
    """The client's end of a connection that was handed over."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self.ended = asyncio.Event()
        self._transport = transport

    def write(self, data: bytes) -> None:
        if not self.ended.is_set():
            self._transport.write(data)

    def pause_reading(self) -> None:
        if not self.ended.is_set():
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if not self.ended.is_set():
            self._transport.resume_reading()

    def close(self) -> None:
        self.ended.set()


def frame(data: bytes) -> bytes:
    """`data` as one HTTP chunk."""
    return b"%x\r\n%b\r\n" % (len(data), data)
