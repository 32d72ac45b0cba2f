"""IP addresses: `ip('10.0.0.1').family() == 4`."""

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from mooring.apiserver.cel import call_cost
from mooring.apiserver.cel.errors import CelError
from mooring.apiserver.cel.functions import Functions, Overload
from mooring.apiserver.cel.types import BOOL, INT, STRING, opaque
from mooring.apiserver.cel.values import Opaque

IP = opaque("net.IP")
Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
_MOST_TEXT = 64


@dataclass(frozen=True, slots=True)
class IpValue(Opaque):
    kind: ClassVar[str] = IP.name
    address: Address


def parse_ip(text: str) -> IpValue:
    try:
        if len(text) > _MOST_TEXT:
            raise ValueError("unable to parse IP")
        address = ipaddress.ip_address(text)
    except ValueError:
        raise CelError(
            f'IP Address "{text}" parse error during conversion from string: '
            f'ParseAddr("{text}"): {_why_not(text)}'
        ) from None
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id:
            raise CelError(f'IP address "{text}" with zone value is not allowed')
        if address.ipv4_mapped:
            raise CelError(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return IpValue(address)


def _why_not(text: str) -> str:
    """What Go says of a text that is no address, where that is easily told."""
    fields = text.split(".")
    if ":" in text or len(fields) == 1:
        return "unable to parse IP"
    if not all(field.isascii() and field.isdigit() for field in fields):
        return "unexpected character"
    if len(fields) != 4:
        return "IPv4 address too long" if len(fields) > 4 else "IPv4 address too short"
    if any(len(field) > 1 and field[0] == "0" for field in fields):
        return "IPv4 field has octet with leading zero"
    return "IPv4 field has value >255"


def _is_ip(text: str) -> bool:
    try:
        parse_ip(text)
    except CelError:
        return False
    return True


def _is_canonical(text: str) -> bool:
    return str(parse_ip(text).address) == text


def _is_link_local_multicast(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv4Address):
        return address.packed[:3] == bytes((224, 0, 0))
    return address.packed[0] == 0xFF and address.packed[1] & 0x0F == 0x02


def _is_global_unicast(address: Address) -> bool:
    """As Go has it: private addresses are global."""
    broadcast = isinstance(address, ipaddress.IPv4Address) and int(address) == 2**32 - 1
    return not (
        broadcast
        or address.is_unspecified
        or address.is_loopback
        or address.is_multicast
        or address.is_link_local
    )


def _asks(name: str, test: Callable[[Address], bool]) -> tuple[Overload, ...]:
    return (Overload(name, (IP,), BOOL, lambda x: test(x.address), member=True),)


FUNCTIONS: Functions = {
    "ip": (Overload("string_to_ip", (STRING,), IP, parse_ip, cost=call_cost.of_first),),
    "isIP": (Overload("is_ip", (STRING,), BOOL, _is_ip, cost=call_cost.of_first),),
    "ip.isCanonical": (
        Overload("ip_is_canonical", (STRING,), BOOL, _is_canonical, cost=call_cost.twice_first),
    ),
    "family": (Overload("ip_family", (IP,), INT, lambda x: x.address.version, member=True),),
    "isUnspecified": _asks("ip_is_unspecified", lambda x: x.is_unspecified),
    "isLoopback": _asks("ip_is_loopback", lambda x: x.is_loopback),
    "isLinkLocalMulticast": _asks("ip_is_link_local_multicast", _is_link_local_multicast),
    "isLinkLocalUnicast": _asks("ip_is_link_local_unicast", lambda x: x.is_link_local),
    "isGlobalUnicast": _asks("ip_is_global_unicast", _is_global_unicast),
    "string": (Overload("ip_to_string", (IP,), STRING, lambda x: str(x.address)),),
}
