"""One layer from a registry into a file: verified while it comes, continued after a cut."""

import asyncio
import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path

import aiohttp

from mooring.clock import Clock
from mooring.host.blocking import in_thread
from mooring.model.backoff import Backoff
from mooring.oci.manifest import Descriptor
from mooring.oci.registry.connection import FAILURES, Connection
from mooring.oci.registry.errors import PullFailed, Unreachable
from mooring.oci.registry.settings import PullSettings

MOST_TRIES = 4  # in a row without a single byte
MOST_CUTS = 100  # of one layer, however far each gets
AGAIN = Backoff(first=0.5, cap=8.0)
_PIECE = 1 << 20
_CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


class _Sink:
    """A file that grows, and the digest of what is in it. Every call blocks."""

    def __init__(self, path: Path, algorithm: str) -> None:
        self._path = path
        self._algorithm = algorithm
        self._file = -1
        self._hash = hashlib.new(algorithm)
        self.size = 0

    def open(self) -> None:
        self._file = os.open(self._path, _CREATE, 0o600)

    def write(self, piece: bytes) -> None:
        self._hash.update(piece)
        left = memoryview(piece)
        while left:
            left = left[os.write(self._file, left) :]
        self.size += len(piece)

    def restart(self) -> None:
        os.ftruncate(self._file, 0)
        os.lseek(self._file, 0, os.SEEK_SET)
        self._hash = hashlib.new(self._algorithm)
        self.size = 0

    @property
    def digest(self) -> str:
        return f"{self._algorithm}:{self._hash.hexdigest()}"

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)


class BlobDownload:
    def __init__(
        self,
        connection: Connection,
        settings: PullSettings,
        clock: Clock,
        came: Callable[[int], None],
    ) -> None:
        """`came` is called with the number of bytes that came, less than 0 if they are void."""
        self._connection = connection
        self._settings = settings
        self._clock = clock
        self._came = came

    async def run(self, blob: Descriptor, path: Path) -> None:
        """After: the file is there, and is what its digest says. Raises: PullFailed, OSError."""
        sink = _Sink(path, blob.digest.partition(":")[0])
        try:
            await in_thread(sink.open)
            await self._fill(blob, sink)
        finally:
            sink.close()
        if sink.digest != blob.digest:
            raise PullFailed(
                f"{self._connection.endpoint.url} has sent a layer that is {sink.digest} instead "
                f"of {blob.digest}"
            )

    async def _fill(self, blob: Descriptor, sink: _Sink) -> None:
        failures = 0
        for _ in range(MOST_CUTS):
            before = sink.size
            try:
                await self._take(blob, sink)
                return
            except Unreachable:
                failures = 1 if sink.size > before else failures + 1
                if failures >= MOST_TRIES:
                    raise
                await self._clock.sleep(AGAIN.delay(failures))
        raise Unreachable(
            f"{self._connection.endpoint.url} breaks off all the time: "
            f"{sink.size} of {blob.size} bytes came in {MOST_CUTS} tries"
        )

    async def _take(self, blob: Descriptor, sink: _Sink) -> None:
        """What is missing. Raises: Unreachable when it breaks off, PullFailed."""
        if sink.size == blob.size and blob.size:
            return
        headers = {"Range": f"bytes={sink.size}-"} if sink.size else {}
        async with self._connection.get(f"blobs/{blob.digest}", headers) as response:
            if sink.size and not _continues(response, sink.size, blob.size):
                self._came(-sink.size)
                await in_thread(sink.restart)
            await self._read(response, blob, sink)
        if sink.size < blob.size:
            url = self._connection.endpoint.url
            raise Unreachable(f"{url} broke off after {sink.size} of {blob.size} bytes of a layer")

    async def _read(self, response: aiohttp.ClientResponse, blob: Descriptor, sink: _Sink) -> None:
        while piece := await self._piece(response):
            if sink.size + len(piece) > blob.size:
                raise PullFailed(
                    f"{self._connection.endpoint.url} sends more than the {blob.size} bytes that a "
                    "layer has"
                )
            await in_thread(sink.write, piece)
            self._came(len(piece))

    async def _piece(self, response: aiohttp.ClientResponse) -> bytes:
        """The next bytes; none only at the end. Raises: Unreachable."""
        gathered = bytearray()
        try:
            async with asyncio.timeout(self._settings.stall_seconds):
                while len(gathered) < self._settings.least_progress:
                    some = await response.content.read(_PIECE)
                    if not some:
                        break
                    gathered += some
        except FAILURES as error:
            if gathered and not isinstance(error, TimeoutError):
                return bytes(gathered)  # then comes the end, or the same error
            raise self._connection.lost(error) from error
        return bytes(gathered)


def _continues(response: aiohttp.ClientResponse, at: int, size: int) -> bool:
    """Whether the answer is the rest that was asked for; else it is all of it again."""
    if response.status != 206:
        return False
    found = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
    if found is None or int(found.group(1)) != at or found.group(3) not in ("*", str(size)):
        raise PullFailed("the registry continues a layer elsewhere than it was asked to")
    return True
