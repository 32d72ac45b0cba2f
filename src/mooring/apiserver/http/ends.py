"""The sending ends that a connection lends to whoever feeds an answer without an end of its own."""

import asyncio

from mooring.apiserver.http.message import Stream, frame


class ChunkedWriter:
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

    def cut(self) -> None:
        self.ended.set()  # without the last chunk: whoever reads knows that there was more


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
