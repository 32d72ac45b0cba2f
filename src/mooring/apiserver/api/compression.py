"""Answers compressed for clients that ask for gzip: large ones, and watches that begin with a list.

Compressing is done in threads, but for short pieces; what is compressed once is shared by all
watchers that get the very same bytes. When too many answers are under way, further ones are sent as
they are, which every client takes.
"""

import asyncio
import zlib
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Iterable
from concurrent.futures import ThreadPoolExecutor

from mooring.apiserver.request.message import (
    BLOCK,
    Body,
    Joined,
    Response,
    Stream,
    StreamSource,
    Writer,
)

LEAST = 128 * 1024  # bytes of an answer from which on it is compressed, as upstream's
SHORT = 8 * 1024  # bytes that are compressed at once, where they are written
MOST_AT_ONCE = 64  # answers; each takes a quarter of a MiB while it is compressed
MOST_KEPT_BYTES = 4 << 20  # of frames that many watchers may want
THREADS = 2
_LEVEL = 1
_GZIP = 31  # for zlib: with the header and the end of gzip

_HEADERS = (("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding"))
_Member = bytes | asyncio.Future[bytes]


class Compression:
    """Of one server."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, "gzip")
        self._under_way = 0
        self._kept: OrderedDict[bytes, _Member] = OrderedDict()  # by frame, the oldest first
        self._kept_bytes = 0

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def compress(self, answer: Response) -> None:
        """Have a large answer compressed as it is sent."""
        body = answer.body
        length = getattr(body, "length", LEAST + 1) if not isinstance(body, bytes) else len(body)
        if length <= LEAST or self._under_way >= MOST_AT_ONCE:
            return
        answer.body = self._compressed(body)
        answer.headers = (*answer.headers, *_HEADERS)

    def compress_stream(self, answer: Stream) -> None:
        """Have each piece of a stream be a gzip member of its own, which can be read at once."""
        answer.source = _CompressedSource(self, answer.source)
        answer.headers = (*answer.headers, *_HEADERS)

    async def _compressed(self, body: Body) -> AsyncIterator[bytes]:
        self._under_way += 1
        try:
            compressor = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
            loop = asyncio.get_running_loop()
            async for block in _blocks(body):
                made = await loop.run_in_executor(self._threads, compressor.compress, block)
                if made:
                    yield made
            yield compressor.flush()
        finally:
            self._under_way -= 1

    def member(self, data: bytes) -> _Member:
        """These bytes as a gzip file, now or soon."""
        if len(data) <= SHORT:
            return _compress(data)
        loop = asyncio.get_running_loop()
        return loop.run_in_executor(self._threads, _compress, data)

    def shared_member(self, frame: bytes) -> _Member:
        """The same of what is in an HTTP chunk, which others may ask for too."""
        known = self._kept.get(frame)
        if known is None:
            known = self._kept[frame] = self.member(frame[frame.index(b"\r\n") + 2 : -2])
            self._kept_bytes += len(frame)
            while self._kept_bytes > MOST_KEPT_BYTES and len(self._kept) > 1:
                oldest, _ = self._kept.popitem(last=False)
                self._kept_bytes -= len(oldest)
        return known


def _compress(data: bytes) -> bytes:
    """A gzip file whose data ends before its last block.

    At the end of the last block Go's reader waits for the next file, and keeps what it had read of
    that block: the bookmark after a list would reach client-go with the next change.
    """
    compressor = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
    return compressor.compress(data) + compressor.flush(zlib.Z_SYNC_FLUSH) + compressor.flush()


async def _blocks(body: Body) -> AsyncIterator[bytes]:
    if isinstance(body, AsyncIterator):
        async for block in body:
            yield block
        return
    whole: Iterable[bytes] = body if isinstance(body, Joined) else (body,)
    for block in whole:
        for start in range(0, len(block), BLOCK):
            yield block[start : start + BLOCK]


class _CompressedSource:
    """A source between which and its client there is a compressing writer."""

    def __init__(self, compression: Compression, source: StreamSource) -> None:
        self._compression = compression
        self._source = source
        self._writer: _CompressingWriter | None = None

    def start(self, writer: Writer) -> None:
        self._writer = _CompressingWriter(self._compression, writer, self._source)
        self._source.start(self._writer)

    def on_ready(self) -> None:
        if self._writer is not None and self._writer.ready:
            self._source.on_ready()

    def on_closed(self) -> None:
        if self._writer is not None:
            self._writer.forget()
        self._source.on_closed()


class _CompressingWriter:
    """Keeps the order of what it is given while some of it is in a thread."""

    def __init__(self, compression: Compression, writer: Writer, source: StreamSource) -> None:
        self._compression = compression
        self._writer = writer
        self._source = source
        self._pending: deque[_Member] = deque()
        self._is_ending = False
        self._is_closed = False

    @property
    def ready(self) -> bool:
        return not self._pending and not self._is_closed and self._writer.ready

    def write(self, data: bytes) -> None:
        if data:
            self._add(self._compression.member(data))

    def write_framed(self, chunk: bytes) -> None:
        self._add(self._compression.shared_member(chunk))

    def end(self) -> None:
        self._is_ending = True
        self._flush()

    def cut(self) -> None:
        self.forget()
        self._writer.cut()

    def forget(self) -> None:
        self._is_closed = True
        self._pending.clear()

    def _add(self, member: _Member) -> None:
        if self._is_closed or self._is_ending:
            return
        self._pending.append(member)
        self._flush()
        if isinstance(member, asyncio.Future) and not member.done():
            member.add_done_callback(self._on_done)

    def _on_done(self, _: asyncio.Future[bytes]) -> None:
        if self._is_closed:
            return
        self._flush()
        if self.ready and not self._is_ending:
            self._source.on_ready()

    def _flush(self) -> None:
        while self._pending:
            first = self._pending[0]
            if isinstance(first, asyncio.Future):
                if not first.done():
                    return
                if first.cancelled() or first.exception() is not None:  # the server ends
                    self.cut()
                    return
                first = first.result()
            self._pending.popleft()
            self._writer.write(first)
        if self._is_ending and not self._is_closed:
            self._writer.end()
