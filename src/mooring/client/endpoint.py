"""Where an API server is, how to trust it, and who asks."""

from urllib.parse import urlsplit

import msgspec
import yarl

from mooring.client.credentials import NOBODY, Source
from mooring.client.tls import Trust

SCHEMES = ("http", "https")


def find_address(url: str) -> str | None:
    """A URL that can be asked, without a slash at the end; None for what is none."""
    if not url.isprintable() or " " in url:
        return None  # parsers drop such characters, each its own
    try:
        parts = urlsplit(url)
        if parts.scheme not in SCHEMES or not parts.hostname or parts.port == 0:
            return None
        address = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
        parts.hostname.encode("idna" if parts.hostname.isascii() else "utf-8")
        yarl.URL(address, encoded=True)
    except ValueError:  # no host, a port that is none, text that no name can be made of
        return None
    return address


class Endpoint(msgspec.Struct, frozen=True):
    server: str  # its URL, without a slash at the end; it may have a path
    trust: Trust = Trust()
    source: Source = NOBODY
    proxy: str = ""  # URL; empty: none
    namespace: str = "default"  # for what its user says no namespace of
