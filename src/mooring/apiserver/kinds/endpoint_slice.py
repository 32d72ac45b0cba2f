"""EndpointSlice: some of the addresses behind a service. Stored: clients write and read them."""

import ipaddress
from collections.abc import Iterable
from typing import Any

from mooring.apiserver.kinds.cells import age_of, name_of
from mooring.apiserver.kinds.contract import AGE, NAME, Column, Kind
from mooring.apiserver.kinds.immutability import validate_unchanged
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, duplicate, invalid, not_supported, required

_TYPES = ("FQDN", "IPv4", "IPv6")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_VERSIONS = {"IPv4": 4, "IPv6": 6}
_SHOWN = 3
_MOST_ADDRESSES = 100


def _defaults(doc: Doc) -> None:
    for field in ("endpoints", "ports"):
        doc.setdefault(field, [])
    for port in doc.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


def _validate(doc: Doc) -> Iterable[FieldError]:
    kind = doc.get("addressType", "")
    if not kind:
        yield required("addressType")
    elif kind not in _TYPES:
        yield not_supported("addressType", kind, _TYPES)
    for index, endpoint in enumerate(doc.get("endpoints") or ()):
        path = f"endpoints[{index}].addresses"
        addresses = endpoint.get("addresses") or ()
        if not addresses:
            yield required(path, "must contain at least 1 address")
        for number, address in enumerate(addresses[:_MOST_ADDRESSES]):
            yield from _validate_address(address, kind, f"{path}[{number}]")
    seen: set[str] = set()
    for index, port in enumerate(doc.get("ports") or ()):
        name = port.get("name") or ""
        if name in seen:
            yield duplicate(f"ports[{index}].name", name)
        seen.add(name)
        if port.get("protocol") not in _PROTOCOLS:
            yield not_supported(f"ports[{index}].protocol", port.get("protocol"), _PROTOCOLS)


def _validate_address(address: str, kind: str, path: str) -> Iterable[FieldError]:
    if kind not in _VERSIONS:
        return
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        yield invalid(
            path, address, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
        )
        return
    if found.version != _VERSIONS[kind]:
        yield invalid(path, address, f"must be an {kind} address")


def _validate_update(new: Doc, old: Doc) -> Iterable[FieldError]:
    field = "addressType"
    return validate_unchanged(field, new.get(field), old.get(field))


def _row(doc: Doc, now: str) -> list[Any]:
    ports = [str(port.get("port", "*")) for port in doc.get("ports") or ()]
    found = [a for e in doc.get("endpoints") or () for a in e.get("addresses") or ()]
    return [
        name_of(doc),
        doc.get("addressType", ""),
        _listed(ports),
        _listed(found),
        age_of(doc, now),
    ]


def _listed(items: list[str]) -> str:
    if not items:
        return "<unset>"
    shown, rest = ",".join(items[:_SHOWN]), len(items) - _SHOWN
    return f"{shown} + {rest} more..." if rest > 0 else shown


ENDPOINT_SLICE = Kind(
    group="discovery.k8s.io",
    version="v1",
    kind="EndpointSlice",
    plural="endpointslices",
    message="discovery.v1.EndpointSlice",
    namespaced=True,
    columns=(NAME, Column("AddressType"), Column("Ports"), Column("Endpoints"), AGE),
    row=_row,
    defaults=_defaults,
    validate=_validate,
    validate_update=_validate_update,
    generation=True,
    deleted_as_status=True,
)
