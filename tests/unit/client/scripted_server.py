"""An HTTP server that answers as it was told to, and remembers what it was asked."""

import asyncio
import json
import ssl
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from aiohttp import web

from mooring.client.connect import connect_to
from mooring.client.credentials import NOBODY, Source
from mooring.client.endpoint import Endpoint
from mooring.client.http import HttpClient
from mooring.clock import Clock
from tests.fakes.clock import VirtualClock
from tests.unit.client.certificates import Authority
from tests.unit.client.kubeconfigs import written

Doc = dict[str, Any]
Reply = Callable[[web.Request], Awaitable[web.StreamResponse]]


def a_stored(name: str = "data", version: str = "5", **body: Any) -> Doc:
    metadata = {"name": name, "namespace": "default", "uid": "u1", "resourceVersion": version}
    return {"metadata": metadata, **body}


def a_page(*names: str, version: str = "9", more: str = "") -> Doc:
    metadata = {"resourceVersion": version} | ({"continue": more} if more else {})
    return {
        "kind": "PersistentVolumeClaimList",
        "metadata": metadata,
        "items": [*map(a_stored, names)],
    }


class Asked:
    """One request, as it arrived."""

    def __init__(self, request: web.Request, body: bytes) -> None:
        self.method = request.method
        self.path = request.path
        self.query = dict(request.query)
        self.headers = dict(request.headers)
        self.body = body
        self._certificate = request.get_extra_info("peercert")

    @property
    def peer(self) -> str:
        """The name in the certificate that the client showed."""
        return str(dict(*self._certificate["subject"])["commonName"])

    @property
    def doc(self) -> Doc:
        return dict(json.loads(self.body))


class Script:
    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.url = ""
        self.hung_up = asyncio.Event()  # a client left a stream that was not over
        self._replies: deque[Reply] = deque()

    # what to answer, in order

    def answer(self, doc: Doc, code: int = 200, **headers: str) -> None:
        self.answer_text(json.dumps(doc), code, "application/json", **headers)

    def answer_text(
        self, text: str, code: int = 200, media: str = "text/plain", **headers: str
    ) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}

        async def reply(_: web.Request) -> web.StreamResponse:
            return web.Response(status=code, text=text, content_type=media, headers=named)

        self._replies.append(reply)

    def refuse(self, code: int, reason: str, message: str = "no", **headers: str) -> None:
        status = {"kind": "Status", "status": "Failure", "message": message, "reason": reason}
        self.answer({**status, "code": code}, code, **headers)

    def stream(self, *pieces: bytes, is_open: bool = False, is_cut: bool = False) -> None:
        """A body in pieces that ends, stays open, or is cut off."""

        async def reply(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse()
            response.enable_chunked_encoding()
            await response.prepare(request)
            for piece in pieces:
                await response.write(piece)
            if is_cut and request.transport is not None:
                request.transport.abort()
            if is_open:
                try:
                    await asyncio.Event().wait()
                finally:
                    self.hung_up.set()
            return response

        self._replies.append(reply)

    def say_nothing(self) -> None:
        """Not even the head of an answer."""

        async def reply(_: web.Request) -> web.StreamResponse:
            await asyncio.Event().wait()
            return web.Response()

        self._replies.append(reply)

    def close_watch(self) -> None:
        """No answer at all."""

        async def reply(request: web.Request) -> web.StreamResponse:
            assert request.transport is not None
            request.transport.abort()
            return web.Response()

        self._replies.append(reply)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(Asked(request, await request.read()))
        assert self._replies, f"{request.method} {request.path_qs} is not in the script"
        return await self._replies.popleft()(request)


@asynccontextmanager
async def scripted(context: ssl.SSLContext | None = None) -> AsyncIterator[Script]:
    script = Script()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", script.handle)
    runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    host, port = runner.addresses[0][:2]
    script.url = f"{'https' if context else 'http'}://{host}:{port}"
    try:
        yield script
    finally:
        await runner.cleanup()


@asynccontextmanager
async def talking_to(
    script: Script, source: Source = NOBODY, clock: Clock | None = None
) -> AsyncIterator[HttpClient]:
    async with connect_to(Endpoint(script.url, source=source), clock or VirtualClock()) as client:
        yield client


class Serving(NamedTuple):
    script: Script
    authority: Authority


@asynccontextmanager
async def a_tls_server(directory: Path, *hosts: str) -> AsyncIterator[Serving]:
    """A server for these names; it asks its clients for certificates of its own authority."""
    authority = Authority()
    own = authority.certificate("server", *hosts)
    written(directory / "server.crt", own.pem.decode())
    written(directory / "server.key", own.key.decode())
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=authority.pem.decode())
    context.verify_mode = ssl.CERT_OPTIONAL
    context.load_cert_chain(directory / "server.crt", directory / "server.key")
    async with scripted(context) as script:
        yield Serving(script, authority)
