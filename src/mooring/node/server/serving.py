"""The node's HTTPS server: it listens, lets in, and stops without leaving anything open."""

import asyncio
import errno
import socket
from collections.abc import Awaitable, Callable

import msgspec
from aiohttp import web

from mooring.clock import Clock
from mooring.errors import UsageError
from mooring.node.server.access import Access, Visit
from mooring.node.server.certificate import ServingCertificate, serving_tls
from mooring.node.server.paths import FindPod, Paths, Summarize
from mooring.node.server.refusal import Refusal
from mooring.oci.contract import Containers

GRACE = 5.0  # seconds in which everything under way is ended when the server stops
IDLE = 75.0  # seconds a connection is kept on which nothing is asked
SLOWEST_HANDSHAKE = 10.0
SLOWEST_GOODBYE = 1.0
BACKLOG = 1024

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class ServingOptions(msgspec.Struct, frozen=True):
    """The server's address, its certificate and its trusted CA."""

    host: str
    port: int  # 0: any that is free
    certificate: ServingCertificate
    authority: bytes  # PEM; clients with its certificates are known by them


class NodeServer:
    """`listen`, then `run`. When `run` returns nothing is left open."""

    def __init__(
        self,
        containers: Containers,
        find_pod: FindPod,
        access: Access,
        clock: Clock,
        options: ServingOptions,
    ) -> None:
        self._paths = Paths(containers, find_pod, clock)
        self._access = access
        self._options = options
        self._tls = serving_tls(options.certificate, options.authority)
        self._under_way: set[asyncio.Task[object]] = set()
        self._socket: socket.socket | None = None
        self.port = options.port  # when it was left open: known after `listen`

    @property
    def fingerprint(self) -> str:
        """Of its certificate: sha256, in hex."""
        return self._options.certificate.fingerprint

    def show_summary(self, summarize: Summarize) -> None:
        """Serve `/stats/summary`; without this it is not found."""
        self._paths.summarize = summarize

    def listen(self) -> None:
        """Bind the port; connections are served once `run` runs. Raises: UsageError."""
        host, port = self._options.host, self._options.port
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self._socket = socket.create_server((host, port), family=family, backlog=BACKLOG)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise UsageError(f"port {port} on {host} is taken by another program") from error
            raise UsageError(f"cannot listen on {host}:{port}: {error.strerror}") from error
        self._socket.settimeout(0)
        self.port = self._socket.getsockname()[1]

    async def run(self) -> None:
        """Serve until cancelled; conversations are ended then, and the commands in them killed."""
        if self._socket is None:
            self.listen()
        app = web.Application(middlewares=[self._guard])
        app.add_routes(self._paths.routes())
        runner = web.AppRunner(
            app,
            access_log=None,
            handler_cancellation=True,
            shutdown_timeout=GRACE,
            keepalive_timeout=IDLE,
        )
        await runner.setup()
        try:
            await self._serve(runner)
        finally:
            for task in self._under_way:
                task.cancel()
            await runner.cleanup()

    async def _serve(self, runner: web.AppRunner) -> None:
        assert runner.server is not None  # noqa: S101  it is set up
        assert self._socket is not None  # noqa: S101  it listens
        listener = await asyncio.get_running_loop().create_server(
            runner.server,
            sock=self._socket,
            ssl=self._tls,
            ssl_handshake_timeout=SLOWEST_HANDSHAKE,
            ssl_shutdown_timeout=SLOWEST_GOODBYE,
        )
        self._socket = None  # the listener closes it
        try:
            await asyncio.Event().wait()  # until cancelled
        finally:
            listener.close()

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Authorize every request, also those of unknown paths."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  a handler is run by one
        self._under_way.add(task)
        try:
            await self._access.check(_visit(request))
            return await handler(request)
        except Refusal as refusal:
            return web.Response(status=refusal.code, text=refusal.text)
        finally:
            self._under_way.discard(task)


def _visit(request: web.Request) -> Visit:
    return Visit(
        request.method,
        request.path,
        request.headers.get("Authorization", ""),
        request.get_extra_info("peercert"),
    )
