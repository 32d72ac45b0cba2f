"""One question to a webhook over HTTPS, within its time.

aiohttp takes a moment to import: nothing imports this module before a webhook is asked.
"""

import asyncio
import base64
import ssl

import aiohttp
import yarl

from mooring.apiserver.webhooks.reach import CallFailed, Target
from mooring.host.blocking import in_thread

MOST_ANSWER = 8 << 20  # bytes
MOST_PER_HOST = 32  # questions at once; others wait, within their time
SHOWN = 2048  # characters of an answer that refuses
MOST_CONTEXTS = 64  # of TLS, one per caBundle


class Caller:
    """Connections are kept for the next question. Each host has its own: one that hangs stops
    no other."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None
        self._contexts: dict[str, ssl.SSLContext] = {}

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def post(self, target: Target, authorities: str, body: bytes, seconds: float) -> bytes:
        """What was answered with 200. `authorities` is a caBundle. Raises: CallFailed."""
        url = f"{target.shown}?timeout={seconds:g}s"
        try:
            async with asyncio.timeout(seconds):
                return await self._post(target, authorities, body, seconds)
        except TimeoutError:
            raise CallFailed(f'Post "{url}": context deadline exceeded') from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise CallFailed(f'Post "{url}": {_in_words(error, target)}') from error

    async def _post(self, target: Target, authorities: str, body: bytes, seconds: float) -> bytes:
        host = f"[{target.host}]" if ":" in target.host else target.host
        url = yarl.URL(
            f"https://{host}:{target.port}{target.path}?timeout={seconds:g}s", encoded=True
        )
        headers = {
            "Host": target.shown.removeprefix("https://").partition("/")[0],
            "Content-Type": "application/json",
            "Accept": "application/json, */*",
            "User-Agent": "mooring-admission",
        }
        async with self._sessions().post(
            url,
            data=body,
            headers=headers,
            ssl=await self._trusting(authorities),
            server_hostname=target.server_name,
            allow_redirects=False,
        ) as answer:
            content = await answer.content.read(MOST_ANSWER + 1)
            while len(content) <= MOST_ANSWER and not answer.content.at_eof():
                content += await answer.content.read(MOST_ANSWER + 1 - len(content))
            if len(content) > MOST_ANSWER:
                raise ValueError(f"the answer has more than {MOST_ANSWER} bytes")
            if not 200 <= answer.status < 300:
                raise CallFailed(_refused(answer.status, content))
            return content

    async def _trusting(self, authorities: str) -> ssl.SSLContext:
        """Certificates are read from disk, and parsed: not on the event loop."""
        known = self._contexts.get(authorities)
        if known is None:
            known = await in_thread(_context, authorities)
            if len(self._contexts) >= MOST_CONTEXTS:
                self._contexts.clear()
            self._contexts[authorities] = known
        return known

    def _sessions(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=0, limit_per_host=MOST_PER_HOST)
            self._session = aiohttp.ClientSession(
                connector=connector,
                timeout=aiohttp.ClientTimeout(total=None),
                auto_decompress=False,
                trust_env=False,
            )
        return self._session


def _context(authorities: str) -> ssl.SSLContext:
    """Those of the machine without a bundle. Raises: ValueError when it holds no certificate."""
    if not authorities:
        return ssl.create_default_context()
    try:
        return ssl.create_default_context(cadata=base64.b64decode(authorities).decode())
    except (ssl.SSLError, ValueError) as error:
        raise ValueError(
            "unable to load root certificates: unable to parse bytes as PEM block"
        ) from error


def _refused(status: int, content: bytes) -> str:
    text = content[:SHOWN].decode("utf-8", "replace").strip()
    if status == 404:
        return "the server could not find the requested resource"
    if status >= 500:
        return f'an error on the server ("{text}") has prevented the request from succeeding'
    return f"the server rejected our request for an unknown reason (status {status})"


def _in_words(error: Exception, target: Target) -> str:
    cause: BaseException = error
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        cause = error.certificate_error
    elif isinstance(error, aiohttp.ClientConnectorError):
        cause = error.os_error
    at = f"{target.host}:{target.port}"
    match cause:
        case ssl.SSLCertVerificationError():
            return f"tls: failed to verify certificate: x509: {_x509(cause, target)}"
        case ssl.SSLError():
            return f"remote error: tls: {(cause.reason or 'handshake failure').lower()}"
        case aiohttp.ClientConnectorDNSError():
            return f"dial tcp: lookup {target.host}: no such host"
        case ConnectionRefusedError():
            return f"dial tcp {at}: connect: connection refused"
        case aiohttp.ServerDisconnectedError():
            return "EOF"
        case OSError() if cause.strerror:
            return f"dial tcp {at}: {cause.strerror.lower()}"
    return str(cause) or type(cause).__name__


def _x509(error: ssl.SSLCertVerificationError, target: Target) -> str:
    if "ostname" in error.verify_message or "IP address" in error.verify_message:
        return f"certificate is not valid for any names, but wanted to match {target.server_name}"
    if "expired" in error.verify_message:
        return "certificate has expired or is not yet valid"
    return "certificate signed by unknown authority"
