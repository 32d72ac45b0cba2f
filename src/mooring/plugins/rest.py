"""Calling the management API of a storage system: in bounded time, with bounded answers.

Whatever the server says: nothing is sent to another address than the one that was asked, and a
text that people see holds neither passwords nor what the server wrote.

aiohttp takes a moment to import: it is imported when something is first asked.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

import msgspec

from mooring.plugins.contract import PluginError
from mooring.plugins.turns import Turns

if TYPE_CHECKING:
    import aiohttp

SECONDS = 30.0
MOST_BYTES = 1024 * 1024
_PORTS = {"http": 80, "https": 443}


class Request(msgspec.Struct, frozen=True):
    method: str
    url: str
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    body: bytes = b""


class Answer(msgspec.Struct, frozen=True):
    status: int
    headers: Mapping[str, str]  # by their names in small letters
    content: bytes


class Ask(Protocol):
    async def __call__(self, request: Request) -> Answer:
        """The answer, whatever its status. Raises: PluginError."""
        ...


def origin_of(field: str, url: str) -> tuple[str, str, int]:
    """Scheme, host and port. Raises: PluginError."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise PluginError(f"{field} is no URL: {error}") from error
    if parts.scheme not in _PORTS or not parts.hostname or not url.isprintable() or " " in url:
        raise PluginError(f"{field} must be http://host:port or https://host:port")
    if parts.username is not None or parts.password is not None:
        raise PluginError(f"{field} must not hold a user or a password: they belong in a secret")
    return parts.scheme, parts.hostname, port or _PORTS[parts.scheme]


def few_at_once(ask: Ask) -> Ask:
    """The same; of each server no more is asked at once than it may leave unanswered."""
    turns = Turns()

    async def asked(request: Request) -> Answer:
        async with turns.of(origin_of("the URL", request.url)):
            return await ask(request)

    return asked


async def ask(request: Request) -> Answer:
    """Redirects are answers like others; proxies of the environment are not used."""
    import aiohttp

    host = "{1}:{2}".format(*origin_of("the URL", request.url))
    timeout = aiohttp.ClientTimeout(total=SECONDS)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, auto_decompress=False) as session,
            session.request(
                request.method,
                request.url,
                headers=request.headers,
                data=request.body or None,
                allow_redirects=False,
            ) as answer,
        ):
            content = await _read(answer, host)
            headers = {name.lower(): value for name, value in answer.headers.items()}
            return Answer(answer.status, headers, content)
    except TimeoutError as error:
        raise PluginError(f"{host} did not answer within {SECONDS:g} s") from error
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise PluginError(f"{host} cannot be asked: {type(error).__name__}: {error}") from error


async def _read(answer: "aiohttp.ClientResponse", host: str) -> bytes:
    content = b""
    while not answer.content.at_eof():
        content += await answer.content.read(MOST_BYTES + 1 - len(content))
        if len(content) > MOST_BYTES:
            raise PluginError(f"{host} answered with more than {MOST_BYTES} bytes")
    return content
