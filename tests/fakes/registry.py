"""A registry on loopback, as good or as hostile as a test wants it."""

import asyncio
import base64
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from aiohttp import web

from tests.fakes.image_archives import digest

INDEX = "application/vnd.oci.image.index.v1+json"
SMALL = 1000  # bytes: a configuration, which comes whole
MANIFEST = "application/vnd.oci.image.manifest.v1+json"


class Seen(msgspec.Struct, frozen=True):
    """A request."""

    method: str
    path: str
    headers: Mapping[str, str]
    query: Mapping[str, str]


class FakeRegistry:
    """Holds images; the attributes below make it fail."""

    def __init__(self) -> None:
        self.manifests: dict[tuple[str, str], tuple[bytes, str]] = {}
        self.blobs: dict[str, bytes] = {}
        self.seen: list[Seen] = []
        self.url = ""
        self.host = ""
        self.auth = ""  # "basic", "bearer", or "forever": 401 whatever is shown
        self.login = ("bob", "s3cret")
        self.token = "a-token"
        self.identity_token = "an-identity"
        self.forms: list[dict[str, str]] = []  # posted to get a token
        self.cuts: list[int] = []  # after so many bytes each answer with a layer is cut
        self.ignores_ranges = False
        self.redirects: dict[str, str] = {}  # by path of a blob
        self.stalls = False  # begins a layer, and sends no more of it
        self.drips = False  # a byte now and then
        self.silent = False  # takes a request, and never answers
        self.extra = b""  # after each layer
        self.statuses: list[int] = []  # of the next answers, instead of what was asked for
        self.under_way = 0
        self.most_at_once = 0
        self.released = asyncio.Event()  # what waits may go on, so that a test can end

    # what it has

    def push(self, repository: str, tag: str, files: Mapping[str, bytes]) -> str:
        """An image of an OCI layout; the digest of its manifest."""
        found: str = json.loads(files["index.json"])["manifests"][0]["digest"]
        for path, data in files.items():
            if path.startswith("blobs/"):
                self.blobs[digest(data)] = data
        document = self.blobs[found]
        self.put(repository, tag, document)
        return found

    def put(self, repository: str, tag: str, document: bytes, media: str = MANIFEST) -> str:
        self.manifests[repository, tag] = (document, media)
        self.manifests[repository, digest(document)] = (document, media)
        return digest(document)

    def asked(self, beginning: str) -> list[Seen]:
        return [one for one in self.seen if beginning in one.path]

    # how it answers

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.seen.append(
            Seen(request.method, request.path, dict(request.headers), dict(request.query))
        )
        if self.silent:
            await self.released.wait()
        if request.path == "/token":
            return await self._give_token(request)
        refused = self._refuse(request)
        if refused is not None:
            return refused
        if self.statuses:
            return web.Response(status=self.statuses.pop(0))
        before, _, name = request.path.rpartition("/")
        repository, _, kind = before.removeprefix("/v2/").rpartition("/")
        if kind == "manifests":
            found = self.manifests.get((repository, name))
            if found is None:
                return _error(404, "MANIFEST_UNKNOWN", "manifest unknown")
            return web.Response(body=found[0], content_type=found[1])
        if name in self.redirects:
            return web.Response(status=307, headers={"Location": self.redirects[name]})
        if name not in self.blobs:
            return _error(404, "BLOB_UNKNOWN", "blob unknown")
        return await self._send(request, self.blobs[name])

    async def _send(self, request: web.Request, blob: bytes) -> web.StreamResponse:
        self.under_way += 1
        self.most_at_once = max(self.most_at_once, self.under_way)
        try:
            return await self._send_blob(request, blob + self.extra)
        finally:
            self.under_way -= 1

    async def _send_blob(self, request: web.Request, blob: bytes) -> web.StreamResponse:
        start, status, headers = 0, 200, {}
        asked = request.headers.get("Range", "")
        if asked and not self.ignores_ranges:
            start, status = int(asked.removeprefix("bytes=").rstrip("-")), 206
            headers["Content-Range"] = f"bytes {start}-{len(blob) - 1}/{len(blob)}"
        body = blob[start:]
        response = web.StreamResponse(status=status, headers=headers)
        response.content_length = len(body)
        await response.prepare(request)
        if (self.stalls or self.drips) and len(body) > SMALL:
            await self._dawdle(response, body)
        elif self.cuts and self.cuts[0] < len(body) and len(body) > SMALL:
            await response.write(body[: self.cuts.pop(0)])
            if request.transport is not None:
                request.transport.close()  # what was written is still sent
        else:
            await response.write(body)
        return response

    async def _dawdle(self, response: web.StreamResponse, body: bytes) -> None:
        await response.write(body[:10])
        at = 10
        while self.drips and not self.released.is_set():
            await response.write(body[at : at + 1])
            at += 1
            try:
                async with asyncio.timeout(0.05):
                    await self.released.wait()
            except TimeoutError:
                continue
        await self.released.wait()

    def _refuse(self, request: web.Request) -> web.Response | None:
        shown = request.headers.get("Authorization", "")
        if self.auth == "basic" and shown != self.basic:
            return _unauthorized('Basic realm="here"')
        if self.auth == "bearer" and shown != f"Bearer {self.token}":
            return _unauthorized(f'Bearer realm="{self.url}/token",service="fake",scope="s:x:pull"')
        if self.auth == "forever":
            return _unauthorized(f'Bearer realm="{self.url}/token",service="fake"')
        return None

    @property
    def basic(self) -> str:
        return f"Basic {base64.b64encode(':'.join(self.login).encode()).decode()}"

    async def _give_token(self, request: web.Request) -> web.Response:
        if request.method == "POST":
            form = await request.post()
            self.forms.append({key: str(value) for key, value in form.items()})
            if form.get("refresh_token") == self.identity_token:
                return web.json_response({"access_token": self.token})
        if self.auth == "bearer" and request.headers.get("Authorization") != self.basic:
            return _error(401, "UNAUTHORIZED", "who are you?")
        return web.json_response({"token": self.token})


@asynccontextmanager
async def fake_registry(tls: ssl.SSLContext | None = None) -> AsyncIterator[FakeRegistry]:
    made = FakeRegistry()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", made.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    port = runner.addresses[0][1]
    made.host = f"127.0.0.1:{port}"
    made.url = f"{'https' if tls else 'http'}://{made.host}"
    try:
        yield made
    finally:
        made.released.set()
        await runner.cleanup()


def _unauthorized(challenge: str) -> web.Response:
    response = _error(401, "UNAUTHORIZED", "authentication required")
    response.headers["WWW-Authenticate"] = challenge
    return response


def _error(status: int, code: str, message: str) -> web.Response:
    body: dict[str, Any] = {"errors": [{"code": code, "message": message}]}
    return web.json_response(body, status=status)
