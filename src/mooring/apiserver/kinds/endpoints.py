"""Endpoints: the addresses of a service's servers.

Those of a service with a selector are kept by `controllers/endpoints/`. Others are written by hand:
glusterfs volumes find their servers in them.
"""

from collections.abc import Iterable
from typing import Any

from mooring.apiserver.kinds.cells import NONE, age_of, name_of
from mooring.apiserver.kinds.contract import AGE, NAME, Column, Kind
from mooring.apiserver.kinds.pod.validation import ADDRESS_TEXT, is_address
from mooring.apiserver.kinds.special_addresses import special_address_errors
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, invalid, not_supported, required
from mooring.model.names import dns_label

_PROTOCOLS = ("SCTP", "TCP", "UDP")
_MOST_PORT = 65535
_SHOWN = 3  # addresses in a table


def _defaults(doc: Doc) -> None:
    for subset in doc.get("subsets") or ():
        for port in subset.get("ports") or ():
            if not port.get("protocol"):
                port["protocol"] = "TCP"


def _validate(doc: Doc) -> Iterable[FieldError]:
    for index, subset in enumerate(doc.get("subsets") or ()):
        path = f"subsets[{index}]"
        ready, others = subset.get("addresses") or (), subset.get("notReadyAddresses") or ()
        if not ready and not others:
            yield required(path, "must specify `addresses` or `notReadyAddresses`")
        for field, addresses in (("addresses", ready), ("notReadyAddresses", others)):
            for number, address in enumerate(addresses):
                yield from _validate_address(address, f"{path}.{field}[{number}]")
        ports = subset.get("ports") or ()
        for number, port in enumerate(ports):
            yield from _validate_port(port, f"{path}.ports[{number}]", alone=len(ports) == 1)


def _validate_address(address: Doc, path: str) -> Iterable[FieldError]:
    given = address.get("ip", "")
    if not is_address(given):
        yield invalid(f"{path}.ip", given, ADDRESS_TEXT)
        return
    if host := address.get("hostname"):
        for problem in dns_label(host):
            yield invalid(f"{path}.hostname", host, problem)
    yield from special_address_errors(f"{path}.ip", given)


def _validate_port(port: Doc, path: str, *, alone: bool) -> Iterable[FieldError]:
    name, number, protocol = port.get("name", ""), port.get("port", 0), port.get("protocol", "")
    if not name and not alone:
        yield required(f"{path}.name")
    elif name:
        for problem in dns_label(name):
            yield invalid(f"{path}.name", name, problem)
    if not 0 < number <= _MOST_PORT:
        yield invalid(f"{path}.port", number, "must be between 1 and 65535, inclusive")
    if protocol not in _PROTOCOLS:
        yield not_supported(f"{path}.protocol", protocol, _PROTOCOLS)


def _row(doc: Doc, now: str) -> list[Any]:
    return [name_of(doc), _shown(tuple(_addresses(doc))), age_of(doc, now)]


def _addresses(doc: Doc) -> Iterable[str]:
    for subset in doc.get("subsets") or ():
        for address in subset.get("addresses") or ():
            ports = subset.get("ports") or ()
            if not ports:
                yield address["ip"]
            ip = f"[{address['ip']}]" if ":" in address["ip"] else address["ip"]
            for port in ports:
                yield f"{ip}:{port['port']}"


def _shown(addresses: tuple[str, ...]) -> str:
    if not addresses:
        return NONE
    shown = ",".join(addresses[:_SHOWN])
    more = len(addresses) - _SHOWN
    return f"{shown} + {more} more..." if more > 0 else shown


ENDPOINTS = Kind(
    group="",
    version="v1",
    kind="Endpoints",
    plural="endpoints",
    message="core.v1.Endpoints",
    namespaced=True,
    short_names=("ep",),
    columns=(NAME, Column("Endpoints"), AGE),
    row=_row,
    defaults=_defaults,
    validate=_validate,
    update_creates=True,
    deleted_as_status=True,
)
