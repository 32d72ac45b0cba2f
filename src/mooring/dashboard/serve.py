"""The dashboard on a port of its own, for this machine's users alone."""

import asyncio
import socket
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from mooring.dashboard.app import Dashboard
from mooring.dashboard.message import SECURITY, DashboardAnswer, DashboardRequest, refusal
from mooring.errors import UsageError

LOOPBACK = "127.0.0.1"
GRACE = 2.0  # seconds that streams have to end
MOST_BODY = 1 << 16


@asynccontextmanager
async def serving(dashboard: Dashboard, port: int) -> AsyncIterator[int]:
    """Serve while the context is entered; the port. Raises: UsageError."""
    try:
        listening = socket.create_server((LOOPBACK, port))
    except OSError as error:
        raise UsageError(
            f"port {port} of {LOOPBACK} cannot be had ({error.strerror}): give another --port"
        ) from error
    port = listening.getsockname()[1]
    app = web.Application(client_max_size=MOST_BODY)
    carrier = _Carrier(dashboard, port)
    app.router.add_route("*", "/{path:.*}", carrier.carry)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=GRACE)
    await runner.setup()
    try:
        await web.SockSite(runner, listening).start()
        yield port
    finally:
        carrier.end_streams()
        await runner.cleanup()


class _Carrier:
    def __init__(self, dashboard: Dashboard, port: int) -> None:
        self._dashboard = dashboard
        # Another name is a page elsewhere whose name was pointed at this machine (DNS rebinding).
        self._hosts = {f"{LOOPBACK}:{port}", f"localhost:{port}"}
        self._streams: set[asyncio.Task[object]] = set()

    def end_streams(self) -> None:
        for task in self._streams:
            task.cancel()

    async def carry(self, request: web.Request) -> web.StreamResponse:
        if request.host not in self._hosts:
            return _whole(refusal(421, "this server has another name"))
        if request.path == "/":
            return web.Response(status=302, headers={"Location": "/ui/", **dict(SECURITY)})
        answer = await self._dashboard.handle(await _read(request))
        if isinstance(answer.body, bytes):
            return _whole(answer)
        return await self._stream(request, answer, answer.body)

    async def _stream(
        self, request: web.Request, answer: DashboardAnswer, body: AsyncGenerator[bytes, None]
    ) -> web.StreamResponse:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  a handler is run by one
        self._streams.add(task)
        response = web.StreamResponse(status=answer.status, headers=dict(answer.headers))
        response.content_type = answer.content_type
        try:
            await response.prepare(request)
            async for chunk in body:
                await response.write(chunk)
        except ConnectionError:
            pass  # the page was closed
        finally:
            self._streams.discard(task)
            await body.aclose()
        return response


async def _read(request: web.Request) -> DashboardRequest:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return DashboardRequest(
        method=request.method,
        path=request.raw_path.partition("?")[0],
        query=dict(request.query),
        bearer=token.strip() if scheme.lower() == "bearer" else "",
        body=await request.read(),
        known_etag=request.headers.get("If-None-Match", ""),
    )


def _whole(answer: DashboardAnswer) -> web.Response:
    body = answer.body
    assert isinstance(body, bytes)  # noqa: S101  streams are carried elsewhere
    headers = {**dict(answer.headers), "Content-Type": answer.content_type}
    return web.Response(status=answer.status, body=body, headers=headers)
