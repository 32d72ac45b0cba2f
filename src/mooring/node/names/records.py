"""Which records a name has, by what the API says of services. Pure.

    <service>.<namespace>.svc.<domain>             A, AAAA: whoever is ready behind it
    <hostname>.<service>.<namespace>.svc.<domain>  A, AAAA: one of them; the hostname of its pod, or
                                                   its address with dashes
    _<port>._<protocol>.<service>...               SRV: where each of them serves the port
    the address in in-addr.arpa, ip6.arpa          PTR: the names of those with a hostname

There are no cluster IPs that a proxy would serve, so every service is answered as a headless one.
The exception is one that nobody's selector looks after and that has an address: `kubernetes`.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from ipaddress import ip_address
from typing import Protocol

import msgspec

from mooring.model.endpoint_slice import EndpointSlice, SlicePort
from mooring.model.keys import Key
from mooring.model.service import Service

_FAMILIES = ("IPv4", "IPv6")
_NIBBLES = 32  # of an address of version 6


class Catalog(Protocol):
    """What is known of services."""

    def service(self, key: Key) -> Service | None: ...

    def has_services(self, namespace: str) -> bool: ...

    def slices(self, service: Key) -> Sequence[EndpointSlice]: ...

    def slices_at(self, ip: str) -> Sequence[EndpointSlice]:
        """Those with an endpoint at this address."""
        ...


class RecordType(StrEnum):
    A = "A"
    AAAA = "AAAA"
    SRV = "SRV"
    PTR = "PTR"
    CNAME = "CNAME"


class Record(msgspec.Struct, frozen=True):
    name: str  # without a dot at its end
    type: RecordType
    data: str  # as in a zone file; names end in a dot


class Answer(msgspec.Struct, frozen=True):
    """The name is there; without records: none of this type."""

    records: tuple[Record, ...] = ()
    extra: tuple[Record, ...] = ()  # addresses of what the records name


class Absent(msgspec.Struct, frozen=True):
    """There is no such name in the cluster."""


class NotOurs(msgspec.Struct, frozen=True):
    """A name outside of the cluster."""


class _Member(msgspec.Struct, frozen=True):
    """One of those behind a service."""

    label: str
    ip: str
    ports: tuple[SlicePort, ...]
    is_named: bool  # its pod has a hostname in the service's subdomain


Verdict = Answer | Absent | NotOurs


def may_be_ours(domain: str, name: str) -> bool:
    """Whether the catalog has to be looked at."""
    name = name.lower()
    return name == domain or name.endswith(f".{domain}") or _reverse(name) is not None


def find_records(catalog: Catalog, domain: str, name: str, kind: str) -> Verdict:
    """`name` has no dot at its end; `kind` is the type of record that is asked for, or ANY."""
    name = name.lower()
    if (ip := _reverse(name)) is not None:
        return _pointers(catalog, domain, name, ip, kind)
    if name == domain:
        return Answer()
    if not name.endswith(f".{domain}"):
        return NotOurs()
    match name.removesuffix(f".{domain}").split("."):
        case ["svc"]:
            return Answer()
        case [namespace, "svc"]:
            return Answer() if catalog.has_services(namespace) else Absent()
        case [service, namespace, "svc"]:
            return _of_service(catalog, domain, Key(namespace, service), kind)
        case [member, service, namespace, "svc"]:
            return _of_member(catalog, domain, Key(namespace, service), member, kind)
        case [port, protocol, service, namespace, "svc"] if port[:1] == protocol[:1] == "_":
            wanted = port[1:], protocol[1:].upper()
            return _of_port(catalog, domain, Key(namespace, service), wanted, kind)
        case _:
            return Absent()


def _of_service(catalog: Catalog, domain: str, key: Key, kind: str) -> Verdict:
    service = catalog.service(key)
    if service is None:
        return Absent()
    name = _name(key, domain)
    if service.is_external:
        target = service.spec.external_name.rstrip(".").lower()
        return Answer((Record(name, RecordType.CNAME, f"{target}."),)) if target else Answer()
    ips = _addresses(catalog, service)
    if not ips:
        return Absent()
    if kind == RecordType.SRV:
        return _services(catalog, domain, service, name)
    return Answer(tuple(_of_type(name, ips, kind)))


def _of_member(catalog: Catalog, domain: str, key: Key, label: str, kind: str) -> Verdict:
    service = catalog.service(key)
    if service is None or service.is_external:
        return Absent()
    ips = [each.ip for each in _members(catalog, key) if label in (each.label, _dashed(each.ip))]
    if not ips:
        return Absent()
    return Answer(tuple(_of_type(f"{label}.{_name(key, domain)}", ips, kind)))


def _of_port(
    catalog: Catalog, domain: str, key: Key, wanted: tuple[str, str], kind: str
) -> Verdict:
    service = catalog.service(key)
    if service is None or service.is_external:
        return Absent()
    port, protocol = wanted
    name = f"_{port}._{protocol.lower()}.{_name(key, domain)}"
    found = _services(catalog, domain, service, name, wanted)
    if not found.records:
        return Absent()
    return found if kind in (RecordType.SRV, "ANY") else Answer()


def _services(
    catalog: Catalog,
    domain: str,
    service: Service,
    name: str,
    wanted: tuple[str, str] | None = None,
) -> Answer:
    """SRV records of one port or of all of them, and the addresses of their targets."""
    base = _name(service.key, domain)
    targets: list[tuple[str, str, int]] = []
    if _is_by_address(catalog, service):
        ip = service.spec.cluster_ip
        for port in service.spec.ports:
            if wanted in (None, (port.name, port.protocol)):
                targets.append((base, ip, port.port))
    for member in _members(catalog, service.key):
        for shown in member.ports:
            if shown.port is not None and wanted in (None, (shown.name, shown.protocol)):
                targets.append((f"{member.label}.{base}", member.ip, shown.port))
    records = (Record(name, RecordType.SRV, f"0 100 {port} {to}.") for to, _, port in targets)
    extra = (each for to, ip, _ in targets for each in _of_type(to, [ip], "ANY"))
    return Answer(tuple(dict.fromkeys(records)), tuple(dict.fromkeys(extra)))


def _pointers(catalog: Catalog, domain: str, name: str, ip: str, kind: str) -> Verdict:
    targets: dict[str, None] = {}
    for each in catalog.slices_at(ip):
        key = Key(each.namespace, each.service_name)
        service = catalog.service(key)
        if service is None or service.is_external:
            continue
        for member in _of_slice(each):
            if member.is_named and member.ip == ip:
                targets[f"{member.label}.{_name(key, domain)}."] = None
    if not targets:
        return NotOurs()
    if kind not in (RecordType.PTR, "ANY"):
        return Answer()
    return Answer(tuple(Record(name, RecordType.PTR, target) for target in targets))


def _addresses(catalog: Catalog, service: Service) -> list[str]:
    if _is_by_address(catalog, service):
        return [service.spec.cluster_ip]
    return [member.ip for member in _members(catalog, service.key)]


def _is_by_address(catalog: Catalog, service: Service) -> bool:
    """Nobody says who is behind it, and it has an address."""
    has_address = _parsed(service.spec.cluster_ip) is not None
    return has_address and not service.spec.selector and not catalog.slices(service.key)


def _members(catalog: Catalog, key: Key) -> Iterator[_Member]:
    for each in catalog.slices(key):
        yield from _of_slice(each)


def _of_slice(each: EndpointSlice) -> Iterator[_Member]:
    if each.address_type not in _FAMILIES:
        return
    for endpoint in each.endpoints or ():
        ip = _parsed(next(iter(endpoint.addresses), ""))
        if endpoint.is_ready and ip is not None:
            label = (endpoint.hostname or _dashed(ip)).lower()
            yield _Member(label, ip, each.ports or (), bool(endpoint.hostname))


def _of_type(name: str, ips: Sequence[str], kind: str) -> Iterator[Record]:
    for ip in dict.fromkeys(ips):
        found = RecordType.AAAA if ":" in ip else RecordType.A
        if kind in (found, "ANY"):
            yield Record(name, found, ip)


def _name(key: Key, domain: str) -> str:
    return f"{key.name}.{key.namespace}.svc.{domain}"


def _dashed(ip: str) -> str:
    return ip.replace(".", "-").replace(":", "-")


def _parsed(text: str) -> str | None:
    try:
        return str(ip_address(text))
    except ValueError:
        return None


def _reverse(name: str) -> str | None:
    """The address whose name this is, if it is one's."""
    if name.endswith(".in-addr.arpa"):
        return _parsed(".".join(reversed(name.removesuffix(".in-addr.arpa").split("."))))
    if name.endswith(".ip6.arpa"):
        digits = "".join(reversed(name.removesuffix(".ip6.arpa").split(".")))
        if len(digits) == _NIBBLES:
            return _parsed(":".join(digits[start : start + 4] for start in range(0, _NIBBLES, 4)))
    return None
