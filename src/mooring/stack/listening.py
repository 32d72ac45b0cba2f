"""Who reaches a server that listens at an address, and by which names. Pure."""

from collections.abc import Sequence
from ipaddress import ip_address

import msgspec

from mooring.apiserver.server import Address
from mooring.stack.config import LOOPBACK

UNSPECIFIED = ("0.0.0.0", "::")  # noqa: S104  compared, not bound


class Reach(msgspec.Struct, frozen=True):
    host: str  # that clients can use
    names: tuple[str, ...] = ()  # that the certificate needs
    warning: str = ""  # about who else may come; empty: nobody


def is_local(host: str) -> bool:
    """Whether only programs of this machine reach it."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def find_reach(host: str, names: Sequence[str], own_addresses: Sequence[str]) -> Reach:
    """`names` were asked for; `own_addresses` are those of this machine."""
    if is_local(host):
        return Reach(host, tuple(names))
    if host in UNSPECIFIED:
        addresses = [one for one in own_addresses if host == "::" or ":" not in one]
        known = (*names, *addresses)
        shown = next(iter(known), LOOPBACK)
        everywhere = "every address of this machine"
    else:
        known, shown, everywhere = (*names, host), host, host
    warning = (
        f"other machines reach it at {everywhere}, whoever has a token may come in; "
        f"--host {LOOPBACK} keeps them out"
    )
    return Reach(shown, tuple(dict.fromkeys(known)), warning)


def reachable(address: Address) -> Address:
    """The same, for clients on this machine."""
    return Address(LOOPBACK if address.host in UNSPECIFIED else address.host, address.port)
