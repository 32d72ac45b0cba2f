"""Connections to one API server: opened when needed, through a proxy if there is one, and kept."""

import asyncio
import base64
import socket
import ssl
from collections import deque
from typing import Any, Final
from urllib.parse import SplitResult, unquote, urlsplit

import msgspec
from aiohappyeyeballs import start_connection

from mooring.client.connection import BrokenOff, Connection
from mooring.client.endpoint import Endpoint

CONNECT_SECONDS: Final = 10.0  # until a connection is open, TLS and proxy included
KEPT_SECONDS: Final = 15.0  # that an idle connection is kept: less than servers keep it
NEXT_ADDRESS_SECONDS: Final = 0.25  # until the next address of a host is tried beside the first

QUIET = 30  # seconds without traffic before the first TCP keepalive probe
ASK_EVERY, MOST_ASKS = 10, 3


class Unreachable(OSError):
    """There is no connection."""

    def __init__(self, cause: OSError) -> None:
        super().__init__(str(cause))
        self.cause = cause


def kept_alive(address: tuple[Any, ...]) -> socket.socket:
    """A socket with TCP keepalive, which notices a server that vanished without closing it."""
    family, kind, protocol, *_ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if family in (socket.AF_INET, socket.AF_INET6):
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, QUIET)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, ASK_EVERY)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, MOST_ASKS)
    return made


class _Place(msgspec.Struct, frozen=True):
    """Where a URL leads to."""

    host: str
    port: int
    is_tls: bool
    login: str  # the header for the name and password in the URL, if there are any

    @property
    def netloc(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


class _Idle(msgspec.Struct, frozen=True):
    connection: Connection
    since: float  # of the loop's clock


class Connections:
    def __init__(self, endpoint: Endpoint) -> None:
        parts = urlsplit(endpoint.server)
        self._server = _place(parts, "Authorization")
        self._proxy = _place(urlsplit(endpoint.proxy), "Proxy-Authorization")
        if not endpoint.proxy:
            self._proxy = self._server
        self._is_tunnelled = bool(endpoint.proxy) and self._server.is_tls
        self._server_name = endpoint.trust.server_name or self._server.host
        self._idle: deque[_Idle] = deque()  # the last used at the end
        self._open: dict[Connection, ssl.SSLContext | None] = {}
        self._all_left = asyncio.Event()
        self._sweep: asyncio.TimerHandle | None = None
        is_relayed = bool(endpoint.proxy) and not self._is_tunnelled
        self.prefix = f"http://{self._server.netloc}{parts.path}" if is_relayed else parts.path
        """What the target of a request begins with."""
        self.headers = f"Host: {self._server.netloc}\r\n{self._server.login}" + (
            self._proxy.login if is_relayed else ""
        )
        """What the head of each request has to say of the way to the server."""

    async def take(self, context: ssl.SSLContext | None) -> tuple[Connection, bool]:
        """A free connection for this TLS context, and whether it is new.

        Raises: Unreachable, BrokenOff, TimeoutError, ssl.SSLCertVerificationError, ValueError.
        """
        while self._idle:
            connection = self._idle.pop().connection
            if connection.is_free and self._open.get(connection) is context:
                return connection, False
            connection.abort()
        async with asyncio.timeout(CONNECT_SECONDS):
            connection = await self._connect(context)
        if not connection.is_free:  # it will not be told of its end, which came before
            connection.abort()
            raise BrokenOff("it was closed as soon as it was open")
        self._open[connection] = context
        return connection, True

    async def close(self) -> None:
        """Close all of them, in use or not."""
        if self._sweep is not None:
            self._sweep.cancel()
        self._idle.clear()
        for connection in self._open:
            connection.abort()
        while self._open:
            self._all_left.clear()
            await self._all_left.wait()

    def _close_idle(self) -> None:
        loop, self._sweep = asyncio.get_running_loop(), None
        while self._idle and self._idle[0].since + KEPT_SECONDS <= loop.time():
            self._idle.popleft().connection.abort()
        if self._idle:
            when = self._idle[0].since + KEPT_SECONDS
            self._sweep = loop.call_at(when, self._close_idle)

    async def _connect(self, context: ssl.SSLContext | None) -> Connection:
        try:
            if self._is_tunnelled:
                return await self._tunnel(context)
            connection = self._new()
            await self._dial(connection, self._proxy, context, self._server_name)
            return connection
        except (BrokenOff, TimeoutError, ssl.SSLCertVerificationError):
            raise
        except OSError as error:
            raise Unreachable(error) from error

    async def _dial(
        self,
        connection: Connection,
        place: _Place,
        context: ssl.SSLContext | None,
        server_name: str,
    ) -> None:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)
        connected = await start_connection(
            found, happy_eyeballs_delay=NEXT_ADDRESS_SECONDS, socket_factory=kept_alive
        )
        if not place.is_tls:
            await loop.create_connection(lambda: connection, sock=connected)
        else:
            await loop.create_connection(
                lambda: connection, sock=connected, ssl=context, server_hostname=server_name
            )

    async def _tunnel(self, context: ssl.SSLContext | None) -> Connection:
        """Through the proxy, which sees nothing of it but its ends."""
        outer = Connection(None, self._left)
        await self._dial(outer, self._proxy, context, self._proxy.host)
        to = self._server.netloc
        try:
            answer = outer.ask(
                f"CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n{self._proxy.login}\r\n".encode(),
                is_stream=True,
            )
            await answer.ready()
            if answer.status != 200:
                raise ConnectionRefusedError(f"the proxy answered {answer.status}")
            if outer.transport.is_closing():
                raise BrokenOff("the proxy closed it")
            connection = self._new()
            secured = await asyncio.get_running_loop().start_tls(
                outer.transport,
                connection,
                context,  # type: ignore[arg-type]  # a tunnel leads to TLS, which has one
                server_hostname=self._server_name,
            )
        except BaseException:
            outer.abort()
            raise
        connection.connection_made(secured)  # type: ignore[arg-type]  # None: closed meanwhile
        return connection

    def _new(self) -> Connection:
        return Connection(self._freed, self._left)

    def _freed(self, connection: Connection) -> None:
        loop = asyncio.get_running_loop()
        self._idle.append(_Idle(connection, loop.time()))
        if self._sweep is None:
            self._sweep = loop.call_later(KEPT_SECONDS, self._close_idle)

    def _left(self, connection: Connection) -> None:
        self._open.pop(connection, None)
        if not self._open:
            self._all_left.set()


def _place(parts: SplitResult, header: str) -> _Place:
    host = (parts.hostname or "").encode("idna").decode()
    is_tls = parts.scheme == "https"
    port = parts.port or (443 if is_tls else 80)
    login = ""
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        login = f"{header}: Basic {base64.b64encode(pair.encode()).decode()}\r\n"
    return _Place(host, port, is_tls, login)
