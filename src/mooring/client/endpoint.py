"""An API server's address, its TLS trust and the client's credentials."""

from urllib.parse import urlsplit

import msgspec
import yarl

from mooring.client.credentials import NOBODY, Source
from mooring.client.tls import Trust

SCHEMES = ("http", "https")


def find_address(url: str) -> str | None:
    """The URL without a slash at the end; None when it is not a usable http(s) URL."""
    if not url.isprintable() or " " in url:
        return None  # URL parsers drop such characters, and differ in which
    try:
        parts = urlsplit(url)
        if parts.scheme not in SCHEMES or not parts.hostname or parts.port == 0:
            return None
        address = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
        parts.hostname.encode("idna" if parts.hostname.isascii() else "utf-8")
        yarl.URL(address, encoded=True)
    except ValueError:  # no host, an invalid port, an invalid name
        return None
    return address


class Endpoint(msgspec.Struct, frozen=True):
    server: str  # its URL, without a slash at the end; it may have a path
    trust: Trust = Trust()
    source: Source = NOBODY
    proxy: str = ""  # URL; empty: none
    namespace: str = "default"  # for commands without an explicit namespace
