"""Bytes in order: out of a file, decompressed and hashed on the way, read ahead in a thread."""

import bz2
import hashlib
import importlib
import lzma
import os
import queue
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol

from mooring.oci.refused import ImageRefused

PIECE = 1 << 20
_XZ_MEMORY = 128 << 20  # `xz -9` needs half of it
_AHEAD = 8  # pieces
_ZSTD = ("compression.zstd", "backports.zstd")  # of Python 3.14, and for those before
_ENDS_EARLY = "it ends in the middle"

Chunk = bytes | memoryview


class Reader(Protocol):
    """What a reader of archives reads from."""

    def some(self, most: int) -> Chunk:
        """The next bytes, `most` at the most; none only at the end."""
        ...

    def exactly(self, count: int) -> bytes:
        """Raises: ImageRefused when there are fewer."""
        ...

    def skip(self, count: int) -> None: ...


class Stream:
    """A reader of what comes in chunks, and is seen once."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._left = memoryview(b"")

    def some(self, most: int) -> Chunk:
        while not self._left:
            chunk = next(self._chunks, None)
            if chunk is None:
                return b""
            self._left = memoryview(chunk)
        taken, self._left = self._left[:most], self._left[most:]
        return taken

    def exactly(self, count: int) -> bytes:
        if len(self._left) >= count:
            return bytes(self.some(count))
        gathered = bytearray()
        while len(gathered) < count:
            some = self.some(count - len(gathered))
            if not some:
                raise ImageRefused(_ENDS_EARLY)
            gathered += some
        return bytes(gathered)

    def skip(self, count: int) -> None:
        while count:
            some = self.some(count)
            if not some:
                raise ImageRefused(_ENDS_EARLY)
            count -= len(some)

    def drain(self) -> None:
        """Read to the end, for a reader that hashes on the way."""
        while self.some(PIECE):
            pass


class FileReader:
    """A reader that jumps over what is skipped."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._size = os.fstat(descriptor).st_size
        self.offset = 0

    def some(self, most: int) -> Chunk:
        read = os.pread(self._descriptor, most, self.offset)
        self.offset += len(read)
        return read

    def exactly(self, count: int) -> bytes:
        read = self.some(count)
        if len(read) < count:
            raise ImageRefused(_ENDS_EARLY)
        return bytes(read)

    def skip(self, count: int) -> None:
        self.offset += count
        if self.offset > self._size:
            raise ImageRefused(_ENDS_EARLY)


class Hashed:
    """Chunks passed on as they are; when all have been, `digest` is that of them all."""

    def __init__(self, chunks: Iterable[bytes], algorithm: str) -> None:
        self._chunks = chunks
        self._algorithm = algorithm
        self._hash = hashlib.new(algorithm)

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._chunks:
            self._hash.update(chunk)
            yield chunk

    @property
    def digest(self) -> str:
        return f"{self._algorithm}:{self._hash.hexdigest()}"


def section(descriptor: int, offset: int, size: int) -> Iterator[bytes]:
    """Part of a file. Raises: ImageRefused when the file is shorter."""
    end = offset + size
    while offset < end:
        piece = os.pread(descriptor, min(PIECE, end - offset), offset)
        if not piece:
            raise ImageRefused(_ENDS_EARLY)
        offset += len(piece)
        yield piece


class _Decompressor(Protocol):
    """The likeness of those in Python: it never gives more than it is asked for."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _Gzip:
    """zlib, in the likeness of the others."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=31)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        given = self._inner.decompress(self._inner.unconsumed_tail + data, max_length)
        # A full answer may leave something inside zlib, even when all input was taken.
        self.needs_input = not self._inner.unconsumed_tail and len(given) < max_length
        return given


def _xz() -> _Decompressor:
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)


def _zstd() -> _Decompressor:
    for name in _ZSTD:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        made: _Decompressor = module.ZstdDecompressor()
        return made
    raise ImageRefused(
        "it is compressed with zstd, which this Python cannot read: "
        "install backports.zstd, or decompress it first"
    )


_FORMATS: tuple[tuple[bytes, str, Callable[[], _Decompressor]], ...] = (
    (b"\x1f\x8b", "gzip", _Gzip),
    (b"BZh", "bzip2", bz2.BZ2Decompressor),
    (b"\xfd7zXZ\0", "xz", _xz),
    (b"\x28\xb5\x2f\xfd", "zstd", _zstd),
)


def compression(beginning: bytes) -> str:
    """How a file is compressed that begins so; empty: it is not."""
    return next((name for magic, name, _ in _FORMATS if beginning.startswith(magic)), "")


def decompressed(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """What the chunks hold; such as are not compressed are passed on.

    Whatever they hold, no more than a piece of it is in memory at a time.
    Raises: ImageRefused when they are damaged.
    """
    source = iter(chunks)
    first = next(source, b"")
    for magic, name, make in _FORMATS:
        if first.startswith(magic):
            yield from _decompressed(_chain(first, source), name, make)
            return
    yield from _chain(first, source)


def _chain(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if first:
        yield first
    yield from rest


def _decompressed(
    source: Iterator[bytes], name: str, make: Callable[[], _Decompressor]
) -> Iterator[bytes]:
    inner: _Decompressor | None = make()
    for chunk in source:
        data = chunk
        while data or (inner is not None and not inner.needs_input):
            if inner is None:
                data = data.lstrip(b"\0")  # what tapes are filled up with
                if not data:
                    break
                inner = make()
            given = _one_piece(inner, data, name)
            data = inner.unused_data if inner.eof else b""
            if inner.eof:
                inner = None  # another may follow
            if given:
                yield given
    if inner is not None:
        raise ImageRefused(_ENDS_EARLY)


def _one_piece(inner: _Decompressor, data: bytes, name: str) -> bytes:
    try:
        return inner.decompress(data, PIECE)
    except MemoryError:
        raise
    except Exception as error:  # each format has one of its own, and zstd's module may be missing
        raise ImageRefused(f"it is damaged: {name}: {error}") from error


class _End:
    def __init__(self, error: BaseException | None) -> None:
        self.error = error


@contextmanager
def ahead(chunks: Iterable[bytes]) -> Iterator[Iterator[bytes]]:
    """The same chunks, made by a thread while the caller works on those before.

    Decompressing and hashing leave Python free, so both go on at once. Left early, the thread
    ends before the context does.
    """
    made: queue.Queue[bytes | _End] = queue.Queue(_AHEAD)
    enough = threading.Event()
    ends: list[_End] = []

    def make() -> None:
        end = _End(None)
        try:
            for chunk in chunks:
                made.put(chunk)
                if enough.is_set():
                    break
        except BaseException as error:  # noqa: BLE001  raised in the reader
            end = _End(error)
        made.put(end)

    def take() -> Iterator[bytes]:
        while not ends:
            chunk = made.get()
            if isinstance(chunk, _End):
                ends.append(chunk)
            else:
                yield chunk

    def taken() -> Iterator[bytes]:
        yield from take()
        for end in ends:
            if end.error is not None:
                raise end.error

    thread = threading.Thread(target=make, name="read-ahead")
    thread.start()
    try:
        yield taken()
    finally:
        enough.set()
        for _ in take():
            pass  # makes room, so that the thread comes to its end
        thread.join()
