"""An API server's address, its TLS trust and the client's credentials."""

from urllib.parse import urlsplit

import msgspec
import yarl

from mooring.client.credentials import NOBODY, Source
from mooring.client.tls import Trust

SCHEMES = ("http", "https")
_HERE = frozenset({"127.0.0.1", "::1", "localhost"})


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
    told_by: str = ""  # the kubeconfig that names the server; empty: none does

    @property
    def remedy(self) -> str:
        """What a user may look at when nothing answers there; empty: nothing is known."""
        if not self.told_by:
            return ""
        if urlsplit(self.server).hostname in _HERE:
            return f"is `mooring up` running? {self.told_by} names this server"
        return f"{self.told_by} names this server"
