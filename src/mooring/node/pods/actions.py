"""What probes and hooks do: run a program in a container, ask for a page, knock at a port."""

import asyncio
import errno
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import aiohttp
import msgspec
import yarl

from mooring.clock import Clock
from mooring.errors import MooringError
from mooring.model.container import Container, GrpcAction, HttpGetAction, TcpAction
from mooring.node.pods.health_rpc import check_health
from mooring.oci.contract import Containers, ExecOptions
from mooring.reconcile.deadline import within

MOST_OUTPUT = 10 * 1024  # bytes
MOST_REDIRECTS = 10
_FIRST_REDIRECT, _FIRST_FAILURE = 300, 400
_OK = 200

Headers = list[tuple[str, str]]


class Unclear(MooringError):
    """The result of a probe or hook is unknown; the text says why."""


class Result(msgspec.Struct, frozen=True):
    is_ok: bool
    output: str = ""
    is_warning: bool = False  # it went well, but
    is_answered: bool = True  # the server answered; without meaning for exec


class Actions:
    def __init__(self, containers: Containers, clock: Clock, address: str) -> None:
        self._containers = containers
        self._clock = clock
        self._address = address  # of every pod here

    async def run_program(self, id: str, command: tuple[str, ...], seconds: float | None) -> Result:
        """Raises: RuntimeRefused when it cannot even be tried."""
        session = await self._containers.exec(id, ExecOptions(command))
        output = bytearray()
        try:
            async with _limited(self._clock, seconds):
                async for _, data in session.output():
                    output += data[: MOST_OUTPUT - len(output)]
                code = await session.wait()
        except TimeoutError:
            line = " ".join(command)
            text = f'command timed out: "{line}" timed out after {seconds:g}s'
            return Result(is_ok=False, output=text)
        finally:
            await session.close()
        return Result(code == 0, output.decode(errors="replace"))

    async def get_page(
        self, action: HttpGetAction, container: Container, seconds: float, purpose: str
    ) -> Result:
        """Raises: Unclear when the address is unknown."""
        port = resolve_port(action.port, container)
        scheme = (action.scheme or "HTTP").lower()
        path = action.path if action.path.startswith("/") else f"/{action.path}"
        url = f"{scheme}://{_authority(action.host or self._address, port)}{path}"
        try:
            async with within(self._clock, seconds), _session() as session:
                return await _ask(session, url, _headers(action, purpose))
        except TimeoutError:
            text = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
            return _silent(f'Get "{url}": {text}')
        except aiohttp.ClientConnectorError as error:
            why = _why(error.os_error)
            at = _authority(error.host, error.port or port)
            return _silent(f'Get "{url}": dial tcp {at}: {why}')
        except aiohttp.ServerDisconnectedError:
            return _silent(f'Get "{url}": EOF')
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return _silent(f'Get "{url}": {error}')

    async def knock(self, action: TcpAction, container: Container, seconds: float) -> Result:
        """Raises: Unclear."""
        port = resolve_port(action.port, container)
        host = action.host or self._address
        at = _authority(host, port)
        try:
            async with within(self._clock, seconds):
                await _connect(host, port)
        except TimeoutError:
            return Result(is_ok=False, output=f"dial tcp {at}: i/o timeout")
        except OSError as error:
            return Result(is_ok=False, output=f"dial tcp {at}: {_why(error)}")
        return Result(is_ok=True)

    async def ask_health(self, action: GrpcAction, seconds: float) -> Result:
        target = _authority(self._address, action.port)
        try:
            async with within(self._clock, seconds):
                problem = await check_health(target, action.service or "")
        except TimeoutError:
            problem = f"timeout: health rpc did not complete within {seconds:g}s"
        return Result(not problem, problem)


def resolve_port(port: int | str, container: Container) -> int:
    """A number, or the name of one of the container's ports. Raises: Unclear."""
    if isinstance(port, str):
        named = next((each for each in container.ports if each.name == port), None)
        if named is not None:
            port = named.container_port
        elif port.isdecimal():
            port = int(port)
        else:
            raise Unclear(f'strconv.Atoi: parsing "{port}": invalid syntax')
    if 0 < port < 65536:
        return port
    raise Unclear(f"invalid port number: {port}")


def _silent(why: str) -> Result:
    return Result(is_ok=False, output=why, is_answered=False)


def _authority(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _headers(action: HttpGetAction, purpose: str) -> Headers:
    given = [(each.name, each.value) for each in action.http_headers]
    names = {name.lower() for name, _ in given}
    usual = (("User-Agent", f"kube-{purpose}/1.35"), ("Accept", "*/*"))
    return [*given, *(each for each in usual if each[0].lower() not in names)]


def _session() -> aiohttp.ClientSession:
    """Certificates are not verified: a probe checks that the server lives, not its identity."""
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=False, force_close=True))


async def _ask(session: aiohttp.ClientSession, url: str, headers: Headers) -> Result:
    """Follows redirects, but not to another host."""
    host = urlsplit(url).hostname
    for _ in range(MOST_REDIRECTS):
        target = yarl.URL(url, encoded=True)
        async with session.get(target, headers=headers, allow_redirects=False) as answer:
            status, onward = answer.status, answer.headers.get("Location", "")
            if _FIRST_REDIRECT <= status < _FIRST_FAILURE and onward:
                url = str(target.join(yarl.URL(onward)))
                if urlsplit(url).hostname == host:
                    continue
            if _OK <= status < _FIRST_REDIRECT:
                return Result(is_ok=True)
            if _FIRST_REDIRECT <= status < _FIRST_FAILURE:
                body = (await answer.content.read(MOST_OUTPUT)).decode(errors="replace")
                text = f"Probe terminated redirects, Response body: {body}"
                return Result(is_ok=True, output=text, is_warning=True)
            return Result(is_ok=False, output=f"HTTP probe failed with statuscode: {status}")
    return Result(is_ok=False, output=f'Get "{url}": stopped after {MOST_REDIRECTS} redirects')


async def _connect(host: str, port: int) -> None:
    _, writer = await asyncio.open_connection(host, port)
    writer.close()


def _why(error: OSError) -> str:
    """As Go words it."""
    if error.errno is None:
        return str(error)
    text = os.strerror(error.errno).lower()
    return f"connect: {text}" if error.errno in errno.errorcode else str(error)


@asynccontextmanager
async def _limited(clock: Clock, seconds: float | None) -> AsyncIterator[None]:
    if seconds is None:
        yield
        return
    async with within(clock, seconds):
        yield
