"""Listens, owns the connections and their tasks, and stops cleanly."""

import asyncio
import errno
import ssl
from collections.abc import Callable, Coroutine
from contextlib import suppress
from email.utils import format_datetime
from typing import Any

from mooring import log
from mooring.apiserver.http.connection import Connection
from mooring.apiserver.http.message import Handler
from mooring.clock import Clock
from mooring.errors import UsageError
from mooring.reconcile.worker import lasting

LOG = log.get("mooring.http")

SLOWEST_HANDSHAKE = 10.0  # seconds a client may take to agree on keys
SLOWEST_READER = 60.0  # and to take the end of an answer that is the last one
SLOWEST_GOODBYE = 1.0  # to agree that a connection without one is over, when the server stops
SLOWEST_REQUEST = 60.0  # seconds a client may take to send one request
SWEEP_EVERY = 10.0
GRACE = 5.0  # seconds given to requests under way when the server stops


class Server:
    """An HTTP server: `listen`, then `run`. When `run` returns nothing is left open."""

    def __init__(self, handler: Handler, clock: Clock, tls: ssl.SSLContext) -> None:
        self.handler = handler
        self.connections: set[Connection] = set()
        self.draining = False
        self.port = 0
        self.serving = asyncio.Event()
        self._listener: asyncio.Server | None = None
        self._clock = clock
        self._tls = tls
        self._loop = asyncio.get_running_loop()
        self.seconds: Callable[[], float] = self._loop.time
        self._tasks = asyncio.TaskGroup()
        self._emptied = asyncio.Event()
        self._date = ""
        self._date_until = 0.0

    async def listen(self, host: str, port: int) -> None:
        """Take the port; connections are accepted once `run` runs. Raises UsageError."""
        try:
            self._listener = await self._loop.create_server(
                lambda: Connection(self),
                host,
                port,
                ssl=self._tls,
                ssl_handshake_timeout=SLOWEST_HANDSHAKE,
                ssl_shutdown_timeout=SLOWEST_READER,
                backlog=4096,
                start_serving=False,
            )
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise UsageError(
                    f"port {port} on {host} is taken by another program; choose another with --port"
                ) from error
            raise UsageError(f"cannot listen on {host}:{port}: {error.strerror}") from error
        self.port = self._listener.sockets[0].getsockname()[1]

    async def run(self) -> None:
        """Serve until cancelled."""
        if self._listener is None:
            raise RuntimeError("run before listen")
        async with self._tasks:
            self._tasks.create_task(lasting("late clients", self._clock, self._sweep))
            await self._listener.start_serving()
            self.serving.set()
            try:
                await asyncio.Event().wait()  # until cancelled
            finally:
                self._listener.close()
                await self._drain()

    async def _drain(self) -> None:
        """Let requests under way finish, end streams, close the rest."""
        self.draining = True
        for connection in list(self.connections):
            connection.finish()
        await self._emptied_within(SLOWEST_GOODBYE)
        for connection in list(self.connections):
            if connection.has_nothing_to_say:  # a client that is idle does not even hear goodbyes
                connection.abort()
        await self._emptied_within(GRACE - SLOWEST_GOODBYE)
        for connection in list(self.connections):
            connection.abort()

    async def _emptied_within(self, seconds: float) -> None:
        if self.connections:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._emptied.wait()

    async def _sweep(self) -> None:
        """Drop clients that began a request and never finish it."""
        while True:
            await self._clock.sleep(SWEEP_EVERY)
            late = self._loop.time() - SLOWEST_REQUEST
            for connection in list(self.connections):
                if connection.idle and connection.began is not None and connection.began < late:
                    connection.abort()

    # what a connection asks of its owner

    def joined(self, connection: Connection) -> None:
        self.connections.add(connection)

    def left(self, connection: Connection) -> None:
        self.connections.discard(connection)
        if self.draining and not self.connections:
            self._emptied.set()

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.create_task(work)

    def date(self) -> str:
        now = self._loop.time()
        if now >= self._date_until:
            self._date = format_datetime(self._clock.now(), usegmt=True)
            self._date_until = now + 1.0
        return self._date
