"""Registries on this machine, which alone may be asked without TLS."""

import ipaddress
import re
from urllib.parse import SplitResult, urljoin, urlsplit

_UNSENDABLE = re.compile(r"[^!-~]")  # what would have to be quoted in a request


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def may_be_asked(url: SplitResult) -> bool:
    """Plain HTTP is for loopback only."""
    return url.scheme == "https" or (url.scheme == "http" and is_loopback(url.hostname or ""))


def find_askable(url: str, base: str = "") -> SplitResult | None:
    """A URL, from wherever it comes, if it may be asked; `base` is what it may be relative to."""
    if _UNSENDABLE.search(url):
        return None
    try:
        found = urlsplit(urljoin(base, url))
        return found if found.hostname and may_be_asked(found) else None
    except ValueError:
        return None
