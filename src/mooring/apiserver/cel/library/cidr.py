"""Networks: `cidr('10.0.0.0/8').containsIP('10.1.2.3')`."""

import ipaddress
import re
from dataclasses import dataclass
from typing import Any, ClassVar

from mooring.apiserver.cel import call_cost
from mooring.apiserver.cel.errors import CelError
from mooring.apiserver.cel.functions import Functions, Overload
from mooring.apiserver.cel.library.ip import IP, Address, IpValue, parse_ip
from mooring.apiserver.cel.types import BOOL, INT, STRING, CelType, opaque
from mooring.apiserver.cel.values import Opaque

CIDR = opaque("net.CIDR")
_bits = re.compile(r"0|[1-9][0-9]{0,2}", re.ASCII).fullmatch


@dataclass(frozen=True, slots=True)
class CidrValue(Opaque):
    """An address with a number of bits; the others need not be zero."""

    kind: ClassVar[str] = CIDR.name
    address: Address
    bits: int

    def masked(self) -> "CidrValue":
        size = self.address.max_prefixlen - self.bits
        return CidrValue(type(self.address)(int(self.address) >> size << size), self.bits)

    def contains(self, address: Address) -> bool:
        if address.version != self.address.version:
            return False
        size = self.address.max_prefixlen - self.bits
        return int(address) >> size == int(self.address) >> size

    def __str__(self) -> str:
        return f"{self.address}/{self.bits}"


def parse_cidr(text: str) -> CidrValue:
    failed = "network address parse error during conversion from string: "
    text_of, slash, bits = text.rpartition("/")
    try:
        address = ipaddress.ip_address(text_of if len(text_of) < 64 else "")
    except ValueError:
        what = "no '/'" if not slash else "unable to parse IP"
        raise CelError(f'{failed}{failed}netip.ParsePrefix("{text}"): {what}') from None
    if not _bits(bits):
        raise CelError(
            f'{failed}{failed}netip.ParsePrefix("{text}"): bad bits after slash: "{bits}"'
        )
    if int(bits) > address.max_prefixlen:
        raise CelError(f'{failed}{failed}netip.ParsePrefix("{text}"): prefix length out of range')
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id:
            raise CelError(
                f'{failed}{failed}netip.ParsePrefix("{text}"): '
                "IPv6 zones cannot be present in a prefix"
            )
        if address.ipv4_mapped:
            raise CelError(f'{failed}IPv4-mapped IPv6 address "{text}" is not allowed')
    return CidrValue(address, int(bits))


def _is_cidr(text: str) -> bool:
    try:
        parse_cidr(text)
    except CelError:
        return False
    return True


def _contains_cidr(one: CidrValue, other: CidrValue) -> bool:
    return one.bits <= other.bits and one.contains(other.address)


def _ip_string_cost(_: CidrValue, text: str) -> int:
    return 1 + call_cost.tenth(len(text))


def _cidr_string_cost(_: CidrValue, text: str) -> int:
    return 3 + call_cost.tenth(len(text))


def _member(
    name: str, args: tuple[CelType, ...], result: CelType, run: Any, cost: Any = None
) -> Overload:
    return Overload(name, args, result, run, member=True, cost=cost)


FUNCTIONS: Functions = {
    "cidr": (Overload("string_to_cidr", (STRING,), CIDR, parse_cidr, cost=call_cost.of_first),),
    "isCIDR": (Overload("is_cidr", (STRING,), BOOL, _is_cidr, cost=call_cost.of_first),),
    "containsIP": (
        _member(
            "cidr_contains_ip_string",
            (CIDR, STRING),
            BOOL,
            lambda x, text: x.contains(parse_ip(text).address),
            _ip_string_cost,
        ),
        _member("cidr_contains_ip_ip", (CIDR, IP), BOOL, lambda x, one: x.contains(one.address)),
    ),
    "containsCIDR": (
        _member(
            "cidr_contains_cidr_string",
            (CIDR, STRING),
            BOOL,
            lambda x, text: _contains_cidr(x, parse_cidr(text)),
            _cidr_string_cost,
        ),
        _member("cidr_contains_cidr", (CIDR, CIDR), BOOL, _contains_cidr, call_cost.constant(3)),
    ),
    "ip": (_member("cidr_ip", (CIDR,), IP, lambda x: IpValue(x.address)),),
    "prefixLength": (_member("cidr_prefix_length", (CIDR,), INT, lambda x: x.bits),),
    "masked": (_member("cidr_masked", (CIDR,), CIDR, CidrValue.masked),),
    "string": (Overload("cidr_to_string", (CIDR,), STRING, str),),
}
