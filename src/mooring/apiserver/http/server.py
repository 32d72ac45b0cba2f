"""Listens, owns the connections and their tasks, and stops cleanly."""

import asyncio
import errno
import socket
import ssl
from collections.abc import Callable, Coroutine
from contextlib import suppress
from email.utils import format_datetime
from typing import Any

from mooring import log
from mooring.apiserver.http.connection import Connection
from mooring.apiserver.http.connection_table import ConnectionTable
from mooring.apiserver.http.limits import Allowance, Limits, default_limits
from mooring.apiserver.http.listening import accepted, bind
from mooring.apiserver.http.trim import Departures
from mooring.apiserver.limits.turns import Turns
from mooring.apiserver.request.message import Handler
from mooring.clock import Clock
from mooring.errors import UsageError
from mooring.reconcile.worker import lasting

LOG = log.get("mooring.http")

SLOWEST_HANDSHAKE = 10.0  # seconds a client may take to agree on keys
SLOWEST_READER = 60.0  # and to take the end of an answer that is the last one
SLOWEST_GOODBYE = 1.0  # to agree that a connection without one is over, when the server stops
SWEEP_EVERY = 5.0
GRACE = 5.0  # seconds given to requests under way when the server stops
OUT_OF_FILES = 0.1  # seconds until a connection is tried again for which there was no descriptor

FindCaller = Callable[[str], str]
"""(an Authorization header) -> whose it is; empty when it is no good one."""


def _nobody(_: str) -> str:
    return ""


class Server:
    """An HTTP server: `listen`, then `run`. When `run` returns nothing is left open."""

    def __init__(
        self,
        handler: Handler,
        clock: Clock,
        tls: ssl.SSLContext,
        find_caller: FindCaller = _nobody,
        limits: Limits | None = None,
    ) -> None:
        self.handler = handler
        self.find_caller = find_caller
        self.limits = limits or default_limits()
        self.bodies = Allowance(self.limits.bodies, self.limits.bodies_each)
        self.connections: set[Connection] = set()
        self.draining = False
        self.port = 0
        self.serving = asyncio.Event()
        self.turns = Turns(clock)
        self._connections = ConnectionTable(self.limits)
        self._sockets: list[socket.socket] = []
        self._clock = clock
        self._tls = tls
        self._loop = asyncio.get_running_loop()
        self._departures = Departures(self._loop)
        self._tasks = asyncio.TaskGroup()
        self._emptied = asyncio.Event()
        self._date = ""
        self._date_until = 0.0

    async def listen(self, host: str, port: int) -> None:
        """Take the port; connections are accepted once `run` runs. Raises UsageError."""
        try:
            self._sockets = await bind(host, port)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise UsageError(
                    f"port {port} on {host} is taken by another program; choose another with --port"
                ) from error
            raise UsageError(f"cannot listen on {host}:{port}: {error.strerror}") from error
        self.port = self._sockets[0].getsockname()[1]

    def use(self, tls: ssl.SSLContext) -> None:
        """Use other certificates for new connections."""
        self._tls = tls

    async def run(self) -> None:
        """Serve until cancelled."""
        if not self._sockets:
            raise RuntimeError("run before listen")
        async with self._tasks:
            doors = [self._tasks.create_task(self._accept(door)) for door in self._sockets]
            self._tasks.create_task(lasting("late clients", self._clock, self._sweep))
            self.serving.set()
            try:
                await asyncio.Event().wait()  # until cancelled
            finally:
                for task in doors:
                    task.cancel()
                await asyncio.gather(*doors, return_exceptions=True)  # no longer accepting
                for door in self._sockets:
                    door.close()
                await self._drain()

    async def _accept(self, door: socket.socket) -> None:
        """Let clients in."""
        door.listen(4096)
        in_trouble = False
        while True:
            try:
                client = await accepted(self._loop, door)
            except OSError as error:  # it waits in the kernel, until others have left
                if not in_trouble:
                    LOG.warning("connections cannot be accepted", because=error)
                in_trouble = True
                await self._clock.sleep(OUT_OF_FILES)
                continue
            in_trouble = False
            if not self._connections.has_room(len(self.connections)):
                client.close()
                continue
            connection = Connection(self)
            self._connections.entered(
                connection, self._tasks.create_task(self._shake(client, connection))
            )

    async def _shake(self, client: socket.socket, connection: Connection) -> None:
        """Agree on keys; what comes then is the connection's."""
        try:
            await self._loop.connect_accepted_socket(
                lambda: connection,
                client,
                ssl=self._tls,
                ssl_handshake_timeout=SLOWEST_HANDSHAKE,
                ssl_shutdown_timeout=SLOWEST_READER,
            )
        except OSError:
            pass  # the client's own doing: no key was agreed on
        except Exception:  # a bug met by one client must not end the server for all
            LOG.exception("handshake failed")
        finally:  # a failed step has closed the socket itself
            if connection not in self.connections:  # also when it gave way to a newer one
                self._connections.left(connection)

    async def _drain(self) -> None:
        """Let requests under way finish, end streams, close the rest."""
        self.draining = True
        self._connections.give_up_handshakes()
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
        """Drop clients that began something and never finish it, or do nothing for long."""
        while True:
            await self._clock.sleep(SWEEP_EVERY)
            now = self.seconds()
            for connection in list(self.connections):
                if connection.is_overdue(now):
                    connection.abort()

    # what a connection asks of its owner

    def joined(self, connection: Connection) -> None:
        self.connections.add(connection)
        self._connections.arrived(connection)

    def left(self, connection: Connection) -> None:
        self.connections.discard(connection)
        self._connections.left(connection)
        self._departures.one_left()
        if self.draining and not self.connections:
            self._emptied.set()

    def recognized(self, connection: Connection) -> bool:
        return self._connections.recognized(connection)

    def may_stay_large(self, connection: Connection) -> bool:
        return self._connections.may_stay_large(connection)

    def seen(self, connection: Connection) -> None:
        self._connections.seen(connection)

    def held_up(self, connection: Connection, unsent: int) -> None:
        for worst in self._connections.held_up(connection, unsent):
            LOG.warning("an answer that nobody reads was given up", user=worst.caller or "-")
            worst.abort()

    def drained(self, connection: Connection) -> None:
        self._connections.drained(connection)

    def seconds(self) -> float:
        return self._loop.time()

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.create_task(work)

    def date(self) -> str:
        now = self._loop.time()
        if now >= self._date_until:
            self._date = format_datetime(self._clock.now(), usegmt=True)
            self._date_until = now + 1.0
        return self._date
