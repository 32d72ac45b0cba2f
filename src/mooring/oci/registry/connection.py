"""One registry, spoken to over HTTP: logins, redirects, limits.

- A redirect is followed by hand: `Authorization` goes to the host that it is for and to no other,
  and no redirect leads from TLS to plain HTTP.
- A registry is logged in to once per pull and asked for one token per scope; a second 401 is final.
- No answer is read without a limit, and none is decompressed here.
"""

import asyncio
import base64
import os
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from urllib.parse import urlencode, urlsplit, urlunsplit

import aiohttp
import msgspec
import yarl

from mooring import __version__
from mooring.client.proxies import find_proxy
from mooring.errors import UsageError
from mooring.host.blocking import in_thread
from mooring.model.secret_value import SecretValue
from mooring.oci.refused import shown
from mooring.oci.registry import challenge as challenges
from mooring.oci.registry.challenge import Challenge
from mooring.oci.registry.endpoints import RegistryEndpoint
from mooring.oci.registry.errors import Denied, NotThere, PullFailed, Unreachable
from mooring.oci.registry.logins import Login
from mooring.oci.registry.loopback import find_askable
from mooring.oci.registry.settings import PullSettings

FAILURES = (aiohttp.ClientError, OSError, ValueError, TimeoutError)
_MOST_REDIRECTS = 5
_MOST_TOKEN = 1 << 20  # bytes of the answer that has a token
_MOST_ERROR = 16 << 10  # bytes of a refusal that are looked at
_MOST_TOLD = 300  # characters of it that are passed on
_CLIENT_ID = "mooring"
_NO_NETWORK = (
    "`mooring image import` takes the image from a file, a mirror is named in --image-config"
)


class _Token(msgspec.Struct, frozen=True):
    token: str = ""
    access_token: str = ""


class _RegistryError(msgspec.Struct, frozen=True):
    code: str = ""
    message: str = ""


class _Refusal(msgspec.Struct, frozen=True):
    errors: tuple[_RegistryError, ...] = ()


@asynccontextmanager
async def http_session(layers_at_once: int) -> AsyncIterator[aiohttp.ClientSession]:
    """Of one pull: what hangs in it keeps no connection from any other."""
    connector = aiohttp.TCPConnector(limit=layers_at_once + 2, force_close=False)
    async with aiohttp.ClientSession(
        connector=connector,
        auto_decompress=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"User-Agent": f"mooring/{__version__}", "Accept-Encoding": "identity"},
        max_line_size=16 << 10,
        max_field_size=16 << 10,
        read_bufsize=1 << 20,
    ) as session:
        yield session


class Connection:
    """An endpoint with one login."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        endpoint: RegistryEndpoint,
        login: Login | None,
        settings: PullSettings,
    ) -> None:
        self.endpoint = endpoint
        self._session = session
        self._login = login
        self._settings = settings
        self._authorization: SecretValue | None = None  # header for the registry's own host
        self._ssl: ssl.SSLContext | None = None
        self._logging_in = asyncio.Lock()
        if login is not None and login.registry_token is not None:
            self._authorization = _bearer(login.registry_token.reveal())

    @property
    def _origin(self) -> tuple[str, str]:
        url = urlsplit(self.endpoint.url)
        return url.scheme, url.netloc

    @asynccontextmanager
    async def get(
        self, path: str, headers: Mapping[str, str]
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """A successful answer, whose body is not read yet; `path` is below the repository's.

        Raises: Denied, NotThere, Unreachable, PullFailed.
        """
        response = await self._answer(path, headers)
        try:
            yield response
        finally:
            response.close()

    async def _answer(self, path: str, headers: Mapping[str, str]) -> aiohttp.ClientResponse:
        url = f"{self.endpoint.url}/v2/{self.endpoint.repository}/{path}"
        used = self._authorization
        response = await self._follow(url, headers)
        if response.status == 401:
            found = challenges.parse(response.headers.getall("WWW-Authenticate", ()))
            refused = await _refusal_of(response)
            response.close()
            if not await self._log_in(found, used):
                raise Denied(self._denied(refused))
            response = await self._follow(url, headers)
        if response.status < 300:
            return response
        try:
            raise await self._refused(response)
        finally:
            response.close()

    async def read(self, response: aiohttp.ClientResponse, most: int, what: str) -> bytes:
        """All of a small body. Raises: PullFailed when it is not small, Unreachable."""
        told = response.content_length
        if told is not None and told > most:
            raise PullFailed(f"{what} has {told} bytes, and {most} are the most that is read")
        body = bytearray()
        try:
            async with asyncio.timeout(self._settings.stall_seconds):
                async for piece in response.content.iter_chunked(64 << 10):
                    body += piece
                    if len(body) > most:
                        raise PullFailed(f"{what} has more than {most} bytes")
        except FAILURES as error:
            raise self.lost(error) from error
        return bytes(body)

    # one request

    async def _follow(self, url: str, headers: Mapping[str, str]) -> aiohttp.ClientResponse:
        for _ in range(_MOST_REDIRECTS):
            response = await self._send(url, headers)
            target = response.headers.get("Location")
            if response.status not in (301, 302, 303, 307, 308) or target is None:
                return response
            response.close()
            url = self._redirected(url, target)
        raise PullFailed(f"{self.endpoint.url} redirects without end")

    def _redirected(self, url: str, target: str) -> str:
        joined = find_askable(target, url)
        if joined is None:
            raise PullFailed(f"{self.endpoint.url} redirects to {shown(target)}, which is no https")
        if joined.scheme == "http" and not self.endpoint.may_be_plain:
            raise PullFailed(f"{self.endpoint.url} redirects to this machine's {joined.netloc}")
        return urlunsplit(joined._replace(fragment=""))

    async def _send(self, url: str, headers: Mapping[str, str]) -> aiohttp.ClientResponse:
        sent = dict(headers)
        parts = urlsplit(url)
        if self._authorization is not None and (parts.scheme, parts.netloc) == self._origin:
            sent["Authorization"] = self._authorization.reveal().decode()
        return await self._request("GET", url, sent)

    async def _request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        form: Mapping[str, str] | None = None,
    ) -> aiohttp.ClientResponse:
        try:
            proxy = find_proxy("", url, os.environ)
            context = await self._context() if url.startswith("https:") else True
            async with asyncio.timeout(self._settings.answer_seconds):
                return await self._session.request(
                    method,
                    yarl.URL(url, encoded=True),
                    headers=headers,
                    data=form,
                    ssl=context,
                    proxy=proxy or None,
                    allow_redirects=False,
                    timeout=aiohttp.ClientTimeout(total=None, sock_connect=10),
                )
        except UsageError as error:
            raise PullFailed(str(error)) from error
        except FAILURES as error:
            raise self.lost(error) from error

    async def _context(self) -> ssl.SSLContext:
        if self._ssl is None:
            self._ssl = await in_thread(_tls, self.endpoint.ca_file, self.endpoint.skips_verify)
        return self._ssl

    # logging in

    async def _log_in(self, found: tuple[Challenge, ...], used: SecretValue | None) -> bool:
        """Whether there is something new to show the registry."""
        async with self._logging_in:
            if self._authorization is not used:
                return True  # another request has just done it
            login = self._login
            chosen = challenges.choose(found, has_login=login is not None)
            if chosen is None or (login is not None and login.registry_token is not None):
                return False
            if chosen.scheme == "basic":
                made = None if login is None else _basic(login)
            else:
                made = _bearer((await self._token(chosen)).encode())
            if made is None or made == used:
                return False
            self._authorization = made
            return True

    async def _token(self, chosen: Challenge) -> str:
        """Raises: Denied, Unreachable, PullFailed."""
        realm = chosen.parameters["realm"]
        where = find_askable(realm)
        if where is None or (where.scheme == "http" and not self.endpoint.may_be_plain):
            raise PullFailed(
                f"{self.endpoint.url} wants tokens from {shown(realm)}, which is no https"
            )
        response = await self._ask_for_token(realm, chosen)
        try:
            if response.status in (400, 401, 403):
                raise Denied(self._denied(await _refusal_of(response)))
            if response.status != 200:
                raise Unreachable(
                    f"{where.scheme}://{where.netloc}, where {self.endpoint.url} has its tokens, "
                    f"answers with {response.status}"
                )
            body = await self.read(response, _MOST_TOKEN, "the answer with a token")
        finally:
            response.close()
        try:
            answer = msgspec.json.decode(body, type=_Token)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise PullFailed("the answer that should hold a token cannot be read") from None
        token = answer.token or answer.access_token
        if not token or not token.isascii() or not token.isprintable():
            raise PullFailed("the answer that should hold a token has none")
        return token

    async def _ask_for_token(self, realm: str, chosen: Challenge) -> aiohttp.ClientResponse:
        scope = chosen.parameters.get("scope") or f"repository:{self.endpoint.repository}:pull"
        asked = {"scope": scope}
        if service := chosen.parameters.get("service"):
            asked["service"] = service
        login = self._login
        if login is not None and login.identity_token is not None:
            form = {
                **asked,
                "grant_type": "refresh_token",
                "client_id": _CLIENT_ID,
                "refresh_token": login.identity_token.reveal().decode(),
            }
            return await self._request("POST", realm, {}, form)
        headers: dict[str, str] = {}
        if login is not None:
            headers["Authorization"] = _basic(login).reveal().decode()
        joint = "&" if "?" in realm else "?"
        return await self._request("GET", f"{realm}{joint}{urlencode(asked)}", headers)

    # what went wrong

    async def _refused(self, response: aiohttp.ClientResponse) -> PullFailed:
        said = await _refusal_of(response)
        if response.status in (401, 403):
            return Denied(self._denied(said))
        if response.status in (404, 410):
            return NotThere(f"{self._image}: not found{_because(said)}")
        text = f"{self.endpoint.url} answers with {response.status}{_because(said)}"
        is_passing = response.status in (408, 425, 429) or response.status >= 500
        return Unreachable(text) if is_passing else PullFailed(text)

    @property
    def _image(self) -> str:
        return f"{self.endpoint.host}/{self.endpoint.repository}"

    def _denied(self, said: str) -> str:
        who = "without credentials" if self._login is None else "with the credentials given"
        return (
            f"pull access denied for {self._image} {who}: it does not exist or may require "
            f"authorization{_because(said)}"
        )

    def lost(self, error: Exception) -> PullFailed:
        """What a failure of the connection is called."""
        if isinstance(error, PullFailed):
            return error
        url = self.endpoint.url
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            why = error.certificate_error
            said = getattr(why, "verify_message", "") or str(why)
            text = (
                f"the certificate of {url} cannot be trusted: {said.rstrip('.')}; "
                "caFile in --image-config says which authority can"
            )
        elif isinstance(error, aiohttp.ClientConnectorError):
            text = f"cannot reach {url}: {_reason(error.os_error)}; {_NO_NETWORK}"
        elif isinstance(error, TimeoutError):
            text = f"{url} did not answer in time"
        else:
            text = f"the connection to {url} broke: {shown(str(error)) or type(error).__name__}"
        return Unreachable(" ".join(text.split()))


async def _refusal_of(response: aiohttp.ClientResponse) -> str:
    """What a registry says of why; never needed, and never waited for long."""
    try:
        async with asyncio.timeout(5):
            body = await response.content.read(_MOST_ERROR)
        found = msgspec.json.decode(body, type=_Refusal).errors
    except (*FAILURES, msgspec.DecodeError):
        return ""
    said = "; ".join(one.message or one.code for one in found if one.message or one.code)
    return shown(said[:_MOST_TOLD])


def _because(said: str) -> str:
    return f": {said}" if said else ""


def _reason(error: OSError) -> str:
    if error.errno and error.errno > 0:
        return os.strerror(error.errno)
    return error.strerror or str(error)  # a name that is not known has a number below zero


def _basic(login: Login) -> SecretValue:
    pair = login.username.encode() + b":" + login.password.reveal()
    return SecretValue(b"Basic " + base64.b64encode(pair))


def _bearer(token: bytes) -> SecretValue:
    return SecretValue(b"Bearer " + token)


def _tls(ca_file: str, skips_verify: bool) -> ssl.SSLContext:  # noqa: FBT001  a setting
    """Raises: PullFailed."""
    try:
        context = ssl.create_default_context(cafile=ca_file or None)
    except (OSError, ssl.SSLError) as error:
        raise PullFailed(f"caFile {ca_file} cannot be used: {error}") from error
    # The authorities of many registries lack extensions that newer Python versions require.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if skips_verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
