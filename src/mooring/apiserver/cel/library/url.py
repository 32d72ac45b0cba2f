"""URLs: `url('https://example.com:80/path?k=v').getHost()`."""

import re
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import parse_qs, quote

from mooring.apiserver.cel import call_cost
from mooring.apiserver.cel.errors import CelError
from mooring.apiserver.cel.functions import Functions, Overload
from mooring.apiserver.cel.types import BOOL, STRING, CelType, list_of, map_of, opaque
from mooring.apiserver.cel.values import Opaque

URL = opaque("kubernetes.URL")
_scheme = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)
_escapes = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}", re.DOTALL)
_port = re.compile(r":[0-9]*", re.ASCII).fullmatch
_host = re.compile(r"[^\x00-\x20\"<>\\^`{|}\x7f]*").fullmatch
_KEPT = "/:@!$&'()*+,;=~%-._"


@dataclass(frozen=True, slots=True)
class UrlValue(Opaque):
    kind: ClassVar[str] = URL.name
    scheme: str
    host: str  # with the port
    path: str
    query: str
    fragment: str

    def hostname(self) -> str:
        if self.host.startswith("["):
            return self.host[1:].partition("]")[0]
        return self.host.partition(":")[0]

    def port(self) -> str:
        rest = self.host.rpartition("]")[2]
        return rest.partition(":")[2]


def parse_url(text: str) -> UrlValue:
    """An absolute URL, or an absolute path, as Go's ParseRequestURI takes it."""
    match = _scheme.fullmatch(text)
    scheme, rest = (match.group(1).lower(), match.group(2)) if match else ("", text)
    if not text:
        raise _wrong(text, "empty url")
    if any(ord(char) < 0x20 or ord(char) == 0x7F for char in text):
        raise _wrong(text, "net/url: invalid control character in URL")
    if not match and text.startswith(":"):
        raise _wrong(text, "missing protocol scheme")
    if not rest.startswith("/"):
        if not scheme:
            raise _wrong(text, "invalid URI for request")
        return UrlValue(scheme, "", "", rest.partition("#")[0].partition("?")[2], "")
    rest, _, fragment = rest.partition("#")
    rest, _, query = rest.partition("?")
    host = ""
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        host, slash, path = rest[2:].partition("/")
        host, rest = _checked_host(text, host), slash + path
    if wrong := _escapes.search(rest):
        raise _wrong(text, f'invalid URL escape "{wrong.group()}"')
    return UrlValue(scheme, host, rest, query, fragment)


def _checked_host(text: str, host: str) -> str:
    host = host.rpartition("@")[2]
    if host.startswith("["):
        inside, closed, port = host[1:].partition("]")
        if not closed:
            raise _wrong(text, "missing ']' in host")
    else:
        inside, colon, port = host.partition(":")
        port = colon + port
    if port and not _port(port):
        raise _wrong(text, f'invalid port "{port}" after host')
    if not _host(inside):
        found = next(char for char in inside if not _host(char))
        raise _wrong(text, f'invalid character "{found}" in host name')
    return host


def _wrong(text: str, why: str) -> CelError:
    return CelError(f'parse "{text}": {why}')


def _url(text: str) -> UrlValue:
    try:
        return parse_url(text)
    except CelError as error:
        raise CelError(f"URL parse error during conversion from string: {error}") from None


def is_url(text: str) -> bool:
    try:
        parse_url(text)
    except CelError:
        return False
    return True


def _query(url: UrlValue) -> dict[str, list[str]]:
    try:
        return parse_qs(url.query, keep_blank_values=True, errors="replace")
    except ValueError:
        return {}


def _member(name: str, result: CelType, run: Any) -> tuple[Overload, ...]:
    return (Overload(name, (URL,), result, run, member=True),)


FUNCTIONS: Functions = {
    "url": (Overload("string_to_url", (STRING,), URL, _url, cost=call_cost.of_first),),
    "isURL": (Overload("is_url_string", (STRING,), BOOL, is_url),),
    "getScheme": _member("url_get_scheme", STRING, lambda x: x.scheme),
    "getHost": _member("url_get_host", STRING, lambda x: x.host),
    "getHostname": _member("url_get_hostname", STRING, UrlValue.hostname),
    "getPort": _member("url_get_port", STRING, UrlValue.port),
    "getEscapedPath": _member("url_get_escaped_path", STRING, lambda x: quote(x.path, safe=_KEPT)),
    "getQuery": _member("url_get_query", map_of(STRING, list_of(STRING)), _query),
}
