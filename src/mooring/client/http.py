"""The transport for any Kubernetes API server: HTTP/1.1 with JSON, over a pool of connections.

There is no rate limit on the client's side: the server sets it (429, Retry-After).
"""

import asyncio
import random
import re
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from urllib.parse import urlencode

import msgspec

from mooring import __version__
from mooring.client.connection import Answer, Connection
from mooring.client.connections import Connections
from mooring.client.contract import (
    EVERYTHING,
    Action,
    Change,
    Listing,
    Part,
    Scope,
    T,
    Unread,
    posted,
)
from mooring.client.credentials import Proof
from mooring.client.decoding import UNREADABLE, Page, reader_of
from mooring.client.endpoint import Endpoint
from mooring.client.fence import check_fence
from mooring.client.guards import listed_version, seen_uid, seen_version
from mooring.client.http_watch import Changes, Lines
from mooring.client.lost import FAILURES, lost
from mooring.client.paths import path_of
from mooring.client.refusals import refusal
from mooring.client.tls import Tls
from mooring.clock import Clock
from mooring.errors import (
    ApiError,
    ConnectionLost,
    Expired,
    ServerError,
    ServerTimeout,
    TooManyRequests,
    Unauthorized,
    UsageError,
)
from mooring.model.document import Doc
from mooring.model.keys import Key
from mooring.model.meta import ApiObject
from mooring.model.secret_value import SecretValue

USER_AGENT = f"mooring/{__version__}"
PAGE = 500  # objects per page of a list
MOST_AT_ONCE = 128  # concurrent requests, watches not counted; others wait for a connection
MOST_TRIES = 5
LONGEST_WAIT = 10  # seconds of Retry-After that are waited; for more, the refusal is raised
SHORTEST_WATCH, LONGEST_WATCH = 300, 600  # seconds; spread, so that watches do not end together
SLACK = 30  # seconds that a server may exceed the timeout of a watch
WATCH_IDLE_SECONDS = 160  # seconds without a byte on a watch; servers send a bookmark every minute
ANSWER_SECONDS = 60  # until the answer is here; of a stream, until it begins

MOST_REFUSAL_BYTES = 4 << 20
_SENDABLE = re.compile(rb"[ -~]+")
_TARGET = re.compile(r"[!-~]+")

_JSON = "application/json"
_MERGE_PATCH = "application/merge-patch+json"
_UNCHECKED = "fieldValidation=Ignore"
"""Spares the server a second, strict decoding, whose warnings no controller reads."""
_HEADERS = (
    f"User-Agent: {USER_AGENT}\r\nAccept: {_JSON}\r\n"
    # No compression: lists are large and servers near, so it costs more than it saves.
    "Accept-Encoding: identity\r\n"
)
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Doc).decode


class _Ask(msgspec.Struct, frozen=True):
    """One request, which may be sent several times."""

    method: str
    path: str
    query: str = ""
    body: bytes | None = None
    media: str = _JSON
    is_stream: bool = False  # its answer is read while it arrives

    def may_try_again(self, error: ApiError) -> bool:
        """True for reads; for a write only if the server said that it changed nothing."""
        if not 0 < error.retry_after <= LONGEST_WAIT:
            return False
        if isinstance(error, TooManyRequests):
            return True
        return self.method == "GET" and isinstance(error, ServerError | ServerTimeout)


class HttpClient:
    """`Client`, over HTTP. Build it with `connect`, which closes it."""

    def __init__(
        self,
        endpoint: Endpoint,
        clock: Clock,
        rng: random.Random,
        most_at_once: int = MOST_AT_ONCE,
    ) -> None:
        self._endpoint = endpoint
        self._connections = Connections(endpoint)
        self._clock = clock
        self._rng = rng
        self._tls = Tls(endpoint.trust) if endpoint.server.startswith("https:") else None
        self._slots = asyncio.Semaphore(most_at_once)

    @property
    def server(self) -> str:
        """The URL of the API server."""
        return self._endpoint.server

    async def check(self) -> None:
        """Check that there are credentials. Raises: UsageError."""
        self._context(await self._endpoint.source.proof())

    async def close(self) -> None:
        """End what is under way."""
        await self._connections.close()

    # Client

    async def get(self, kind: type[T], key: Key) -> T:
        path = path_of(kind.resource, key.namespace, key.name)
        return reader_of(kind).read(await self._ask(_Ask("GET", path)))

    async def list(self, kind: type[T], scope: Scope = EVERYTHING) -> Listing[T]:
        items: list[T] = []
        unread: list[Unread] = []
        version = ""
        try:
            async for page in self.pages(kind, scope):
                items += page.readable
                unread += page.unread
                version = version or page.version
        except Expired:
            if not version:
                raise
            # The continue token expired: list without pages.
            path = path_of(kind.resource, scope.namespace)
            asked = await self._ask(_Ask("GET", path, urlencode(_selectors(scope))))
            return _listing(reader_of(kind).read_page(asked))
        return Listing(items, version, unread)

    async def pages(
        self, kind: type[T], scope: Scope = EVERYTHING
    ) -> AsyncGenerator[Listing[T], None]:
        """A list in parts. Raises: Expired in the midst of it too: then it is begun anew."""
        path = path_of(kind.resource, scope.namespace)
        query = {**_selectors(scope), "limit": str(PAGE)}
        read = reader_of(kind).read_page
        page = read(await self._ask(_Ask("GET", path, urlencode(query))))
        yield _listing(page)
        last = ""
        while token := page.metadata.next:
            if token == last:
                raise ServerError("the pages of a list have no end: one leads to itself")
            last = token
            next_query = urlencode({**query, "continue": token})
            page = read(await self._ask(_Ask("GET", path, next_query)))
            yield _listing(page)

    @asynccontextmanager
    async def watch(
        self, kind: type[T], version: str, scope: Scope = EVERYTHING
    ) -> AsyncIterator[AsyncIterator[Change[T]]]:
        lasts = self._rng.randint(SHORTEST_WATCH, LONGEST_WATCH)
        query = {
            **_selectors(scope),
            "watch": "true",
            "resourceVersion": listed_version(version),
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(lasts),
        }
        path = path_of(kind.resource, scope.namespace)
        async with self._stream(path, urlencode(query)) as answer:
            server = self._endpoint.server
            lines = Lines(answer, server, WATCH_IDLE_SECONDS, lasts + SLACK)
            yield Changes(lines, reader_of(kind), server)

    async def create(self, kind: type[T], doc: Doc) -> T:
        resource = kind.resource
        path = path_of(resource, doc.get("metadata", {}).get("namespace", ""))
        body = _encode({**doc, "kind": resource.kind, "apiVersion": resource.api_version})
        return reader_of(kind).read(await self._ask(_Ask("POST", path, _UNCHECKED, body)))

    async def patch(self, seen: T, change: Doc, part: Part = Part.MAIN) -> T:
        kind = type(seen)
        metadata = {**change.get("metadata", {}), "resourceVersion": seen_version(seen)}
        ask = _Ask(
            "PATCH",
            path_of(kind.resource, seen.namespace, seen.name, part.value),
            _UNCHECKED,
            _encode({**change, "metadata": metadata}),
            media=_MERGE_PATCH,
        )
        return reader_of(kind).read(await self._ask(ask))

    async def patch_both(self, seen: T, main: Doc, status: Doc) -> T:
        if main or not status:
            seen = await self.patch(seen, main)
        return await self.patch(seen, {"status": status}, Part.STATUS) if status else seen

    async def post(self, kind: type[T], key: Key, action: Action, doc: Doc) -> Doc:
        path = path_of(kind.resource, key.namespace, key.name, action.value)
        body = _encode(posted(key, action, doc))
        answer = await self._ask(_Ask("POST", path, body=body))
        try:
            return _decode(answer)
        except UNREADABLE as error:
            raise ServerError(f"the answer to {action.value} cannot be read: {error}") from error

    async def delete(self, seen: ApiObject, *, grace_seconds: int | None = None) -> None:
        options: Doc = {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "preconditions": {"uid": seen_uid(seen)},
        }
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        if seen.resource.orphans_by_default:
            options["propagationPolicy"] = "Background"
        path = path_of(seen.resource, seen.namespace, seen.name)
        await self._ask(_Ask("DELETE", path, body=_encode(options)))

    # pages

    async def read(self, path: str, query: Mapping[str, str]) -> bytes:
        """A page that is no resource. Raises: ApiError, ConnectionLost."""
        return await self._ask(_Ask("GET", path, urlencode(query)))

    @asynccontextmanager
    async def follow(
        self, path: str, query: Mapping[str, str]
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """The lines of a page without an end, as they come. Raises: ApiError, ConnectionLost."""
        async with self._stream(path, urlencode(query)) as answer:
            yield _each(Lines(answer, self._endpoint.server))

    # requests

    async def _ask(self, ask: _Ask) -> bytes:
        """The body of the answer. Raises: ApiError, ConnectionLost."""
        async with self._slots:
            return await (await self._answer(ask)).rest()

    @asynccontextmanager
    async def _stream(self, path: str, query: str) -> AsyncIterator[Answer]:
        """Raises: ApiError, ConnectionLost."""
        answer = await self._answer(_Ask("GET", path, query, is_stream=True))
        try:
            yield answer
        finally:
            answer.close()

    async def _answer(self, ask: _Ask) -> Answer:
        """A good answer: all of it, or the head of a stream."""
        for _ in range(MOST_TRIES - 1):
            try:
                return await self._authenticated(ask)
            except ApiError as error:
                if not ask.may_try_again(error):
                    raise
                await self._clock.sleep(error.retry_after)
        return await self._authenticated(ask)

    async def _authenticated(self, ask: _Ask) -> Answer:
        proof = await self._proof()
        try:
            return await self._send(ask, proof)
        except Unauthorized:
            if not self._endpoint.source.has_better(proof):
                raise
        return await self._send(ask, await self._proof())

    async def _send(self, ask: _Ask, proof: Proof) -> Answer:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                answer = await self._exchange(ask, proof)
                if answer.status < 300:
                    return answer
                body = await _beginning(answer)
        except UsageError as error:  # renewed certificates that cannot be used
            raise ConnectionLost(f"cannot log in to {self._endpoint.server}: {error}") from error
        except FAILURES as error:
            raise lost(self._endpoint.server, error, self._endpoint.remedy) from error
        raise refusal(answer.status, body, answer.retry_after)

    async def _exchange(self, ask: _Ask, proof: Proof) -> Answer:
        """A read is sent again if the server has just closed the connection that was kept."""
        request, context = self._request(ask, proof), self._context(proof)
        while True:
            connection, is_new = await self._connections.take(context)
            is_write = ask.method != "GET"
            if is_write:
                _check_fence_for(connection)
            answer = connection.ask(request, is_stream=ask.is_stream)
            try:
                await answer.ready()
            except OSError:
                if is_new or is_write:
                    raise
            except BaseException:  # cancelled, or out of patience
                answer.close()
                raise
            else:
                return answer

    def _request(self, ask: _Ask, proof: Proof) -> bytes:
        """Raises: UsageError, without the token, for one that is not valid in a header."""
        target = f"{self._connections.prefix}{ask.path}"
        if ask.query:
            target = f"{target}?{ask.query}"
        if not _TARGET.fullmatch(target):
            raise ValueError(f"{target!r} is no target of a request")
        head = f"{ask.method} {target} HTTP/1.1\r\n{self._connections.headers}{_HEADERS}"
        if proof.token is not None:
            head = f"{head}{_authorization(proof.token)}"
        if ask.body is None:
            return f"{head}\r\n".encode()
        sent = f"Content-Type: {ask.media}\r\nContent-Length: {len(ask.body)}\r\n\r\n"
        return f"{head}{sent}".encode() + ask.body

    async def _proof(self) -> Proof:
        """The proof to send. A source that worked before may fail for a while, so its UsageError
        becomes one that the caller retries."""
        try:
            return await self._endpoint.source.proof()
        except UsageError as error:
            raise ConnectionLost(f"cannot log in to {self._endpoint.server}: {error}") from error

    def _context(self, proof: Proof) -> ssl.SSLContext | None:
        return None if self._tls is None else self._tls.context(proof)


async def _each(lines: Lines) -> AsyncIterator[bytes]:
    while some := await lines.more():
        for line in some:
            yield line


def _check_fence_for(connection: Connection) -> None:
    """After the wait for a connection. Raises: what the fence raises."""
    try:
        check_fence()
    except BaseException:
        connection.abort()
        raise


async def _beginning(answer: Answer) -> bytes:
    """The first bytes of a refusal's body, enough for its Status."""
    body = b""
    try:
        while len(body) < MOST_REFUSAL_BYTES and (piece := await answer.some()):
            body += piece
    finally:
        answer.close()
    return body


def _authorization(token: SecretValue) -> str:
    """Raises: UsageError."""
    shown = token.reveal()
    if not _SENDABLE.fullmatch(shown):
        raise UsageError("the token has characters that cannot be sent")
    return f"Authorization: Bearer {shown.decode()}\r\n"


def _listing(page: Page[T]) -> Listing[T]:
    return Listing(page.items or [], page.metadata.resource_version, list(page.unread))


def _selectors(scope: Scope) -> dict[str, str]:
    asked = {"labelSelector": scope.labels, "fieldSelector": scope.fields}
    return {name: text for name, text in asked.items() if text}
