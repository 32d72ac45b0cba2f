"""GET requests and nothing else, on a few kept connections: half of the time to an answer would
otherwise be spent on loading an HTTP client that can do all the rest.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlencode, urlsplit

import httptools

from mooring.client.contract import EVERYTHING, Listing, Scope, T
from mooring.client.credentials import Proof
from mooring.client.decoding import reader_of
from mooring.client.endpoint import Endpoint
from mooring.client.paths import path_of
from mooring.client.refusals import refusal
from mooring.client.tls import Tls
from mooring.errors import ConnectionLost, Expired, ServerError
from mooring.model.keys import Key

PAGE = 500
MOST_CONNECTIONS = 4
SECONDS = 60
_CHUNK = 1 << 18
_FAILURES = (OSError, EOFError, TimeoutError, httptools.HttpParserError)


class _Answer:
    """What httptools calls back as it parses."""

    def __init__(self) -> None:
        self.body = bytearray()
        self.is_complete = False
        self.closes = False

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"connection" and value.lower() == b"close":
            self.closes = True

    def on_body(self, data: bytes) -> None:
        self.body += data

    def on_message_complete(self) -> None:
        self.is_complete = True


class _Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def ask(self, head: bytes) -> tuple[int, bytes, bool]:
        """The status, the body, and whether the connection may be used again."""
        self._writer.write(head)
        answer = _Answer()
        parser = httptools.HttpResponseParser(answer)
        while not answer.is_complete:
            data = await self._reader.read(_CHUNK)
            if not data:
                raise EOFError("the server closed the connection")
            parser.feed_data(data)
        return parser.get_status_code(), bytes(answer.body), not answer.closes

    async def close(self) -> None:
        """At once: nothing is left to be sent."""
        self._writer.transport.abort()
        with suppress(OSError):
            await self._writer.wait_closed()


class PlainReads:
    """`Source`, for servers that are reached without a proxy."""

    def __init__(self, endpoint: Endpoint) -> None:
        parts = urlsplit(endpoint.server)
        self._endpoint = endpoint
        self._tls = Tls(endpoint.trust) if parts.scheme == "https" else None
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if self._tls else 80)
        self._prefix = parts.path
        self._netloc = parts.netloc.rpartition("@")[2]
        self._slots = asyncio.Semaphore(MOST_CONNECTIONS)
        self._idle: list[_Connection] = []

    async def get(self, kind: type[T], key: Key) -> T:
        path = path_of(kind.resource, key.namespace, key.name)
        return reader_of(kind).read(await self._ask(path))

    async def list(self, kind: type[T], scope: Scope = EVERYTHING) -> Listing[T]:
        path = path_of(kind.resource, scope.namespace)
        chosen = {"labelSelector": scope.labels, "fieldSelector": scope.fields}
        query = {name: text for name, text in chosen.items() if text} | {"limit": str(PAGE)}
        read = reader_of(kind).read_page
        page = read(await self._ask(f"{path}?{urlencode(query)}"))
        items, unread = list(page.items or ()), list(page.unread)
        version, last = page.metadata.resource_version, ""
        while token := page.metadata.next:
            if token == last:
                raise ServerError("the pages of a list have no end: one leads to itself")
            last = token
            try:
                page = read(await self._ask(f"{path}?{urlencode(query | {'continue': token})}"))
            except Expired:  # it took too long: list without pages
                del query["limit"]
                page = read(await self._ask(f"{path}?{urlencode(query)}"))
                items, unread, version = [], [], page.metadata.resource_version
            items += page.items or ()
            unread += page.unread
        return Listing(items, version, unread)

    async def close(self) -> None:
        while self._idle:
            await self._idle.pop().close()

    async def _ask(self, path: str) -> bytes:
        """Raises: ApiError, ConnectionLost, UsageError."""
        proof = await self._endpoint.source.proof()
        token = "" if proof.token is None else proof.token.reveal().decode()
        login = f"Authorization: Bearer {token}\r\n" if token else ""
        head = (
            f"GET {self._prefix}{path} HTTP/1.1\r\nHost: {self._netloc}\r\n{login}"
            "Accept: application/json\r\nUser-Agent: mooring\r\n\r\n"
        )
        try:
            async with self._slots, asyncio.timeout(SECONDS):
                status, body = await self._send(head.encode(), proof)
        except _FAILURES as error:
            told = str(error) or type(error).__name__
            raise ConnectionLost(f"{self._endpoint.server} cannot be reached: {told}") from error
        if status >= 300:
            raise refusal(status, body, None)
        return body

    async def _send(self, head: bytes, proof: Proof) -> tuple[int, bytes]:
        """A connection that was kept may have been closed meanwhile: then a new one is asked."""
        while self._idle:
            with suppress(*_FAILURES):
                return await self._send_on(self._idle.pop(), head)
        return await self._send_on(await self._connect(proof), head)

    async def _send_on(self, connection: _Connection, head: bytes) -> tuple[int, bytes]:
        is_kept = False
        try:
            status, body, is_kept = await connection.ask(head)
        finally:
            if not is_kept:
                await connection.close()
        if is_kept:
            self._idle.append(connection)
        return status, body

    async def _connect(self, proof: Proof) -> _Connection:
        context: ssl.SSLContext | None = None
        name: str | None = None
        if self._tls is not None:
            context = self._tls.context(proof)
            name = self._endpoint.trust.server_name or self._host
        reader, writer = await asyncio.open_connection(
            self._host, self._port, ssl=context, server_hostname=name, limit=_CHUNK * 2
        )
        return _Connection(reader, writer)


@asynccontextmanager
async def reads_from(endpoint: Endpoint) -> AsyncIterator[PlainReads]:
    reads = PlainReads(endpoint)
    try:
        yield reads
    finally:
        await reads.close()
