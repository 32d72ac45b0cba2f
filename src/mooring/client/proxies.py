"""Which proxy to use for a server, by the rules of kubectl."""

import ipaddress
from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit

from mooring.client.endpoint import find_address
from mooring.errors import UsageError


def find_proxy(given: str, server: str, environment: Mapping[str, str]) -> str:
    """The URL of the proxy given for the cluster, else of the environment's; empty for none.

    Raises: UsageError for a URL that cannot be used.
    """
    proxy = given or _from_environment(urlsplit(server), environment)
    if proxy and find_address(proxy) is None:
        # The URL is not shown: it may hold a password.
        raise UsageError("the proxy must be the URL of an http or https proxy")
    return proxy


def _from_environment(server: SplitResult, environment: Mapping[str, str]) -> str:
    name = f"{server.scheme}_proxy"
    proxy = environment.get(name.upper()) or environment.get(name, "")
    if not proxy:
        return ""
    spared = environment.get("NO_PROXY") or environment.get("no_proxy", "")
    if _is_spared(server.hostname or "", server.port, spared):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _is_spared(host: str, port: int | None, spared: str) -> bool:
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    return any(_covers(entry.strip(), host, port, address) for entry in spared.split(","))


Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def _covers(entry: str, host: str, port: int | None, address: Address | None) -> bool:
    if entry == "*":
        return True
    if address is not None and "/" in entry:
        try:
            return address in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    name, colon, its_port = entry.partition(":")
    if colon and ":" not in its_port:
        if its_port != str(port):
            return False
        entry = name
    if entry.startswith("."):
        return host.endswith(entry)
    return bool(entry) and (host == entry or host.endswith(f".{entry}"))


def _address(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
