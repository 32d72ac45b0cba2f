"""EndpointSlice: some of the addresses behind a service, with their conditions and ports.

Those of a service with a selector are kept by `controllers/endpoints/`; others are written by hand.
"""

from collections.abc import Iterable, Sequence
from ipaddress import ip_address
from typing import Any

from mooring.apiserver.kinds.cells import age_of, name_of
from mooring.apiserver.kinds.contract import AGE, NAME, Column, Context, Kind
from mooring.apiserver.kinds.pod.validation import is_address
from mooring.apiserver.kinds.special_addresses import special_address_errors
from mooring.model.document import Doc
from mooring.model.field_error import (
    FieldError,
    duplicate,
    invalid,
    not_supported,
    required,
    too_many,
)
from mooring.model.names import dns_label, dns_subdomain, qualified_name

_ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_VERSIONS = {"IPv4": 4, "IPv6": 6}
_MOST_ENDPOINTS = 1000
_MOST_ADDRESSES = 100  # of one endpoint
_MOST_PORTS = 100
_SHOWN = 3  # ports and addresses in a table
_UNSET = "<unset>"


def _defaults(doc: Doc) -> None:
    for field in ("endpoints", "ports"):
        doc.setdefault(field, [])
    for port in doc.get("ports") or ():
        port.setdefault("name", "")
        if not port.get("protocol"):
            port["protocol"] = "TCP"


def _prepare_create(doc: Doc, _: Context) -> None:
    """This version of the API has no field for what an older one said of the topology."""
    for endpoint in doc.get("endpoints") or ():
        endpoint.pop("deprecatedTopology", None)


def _prepare_update(new: Doc, old: Doc, context: Context) -> None:
    if new.get("endpoints") != old.get("endpoints"):
        _prepare_create(new, context)


def _validate(doc: Doc) -> Iterable[FieldError]:
    kind = doc.get("addressType", "")
    if not kind:
        yield required("addressType")
    elif kind not in _ADDRESS_TYPES:
        yield not_supported("addressType", kind, _ADDRESS_TYPES)
    endpoints = doc.get("endpoints") or ()
    if len(endpoints) > _MOST_ENDPOINTS:
        yield too_many("endpoints", len(endpoints), _MOST_ENDPOINTS)
    else:
        for index, endpoint in enumerate(endpoints):
            yield from _validate_endpoint(endpoint, f"endpoints[{index}]", kind)
    ports = doc.get("ports") or ()
    if len(ports) > _MOST_PORTS:
        yield too_many("ports", len(ports), _MOST_PORTS)
    else:
        yield from _validate_ports(ports)


def _validate_update(new: Doc, old: Doc) -> Iterable[FieldError]:
    if new.get("addressType") != old.get("addressType"):
        yield invalid("addressType", new.get("addressType", ""), "field is immutable")


def _validate_endpoint(endpoint: Doc, path: str, kind: str) -> Iterable[FieldError]:
    addresses = endpoint.get("addresses") or ()
    if not addresses:
        yield required(f"{path}.addresses", "must contain at least 1 address")
    elif len(addresses) > _MOST_ADDRESSES:
        yield too_many(f"{path}.addresses", len(addresses), _MOST_ADDRESSES)
    for index, address in enumerate(addresses):
        yield from _validate_address(address, f"{path}.addresses[{index}]", kind)
    if (host := endpoint.get("hostname")) is not None:
        for problem in dns_label(host):
            yield invalid(f"{path}.hostname", host, problem)


def _validate_address(address: str, path: str, kind: str) -> Iterable[FieldError]:
    if kind == "FQDN":
        yield from _validate_full_name(address, path)
    elif kind in _VERSIONS:
        if not is_address(address) or ip_address(address).version != _VERSIONS[kind]:
            yield invalid(path, address, f"must be a valid {kind} address")
        else:
            yield from special_address_errors(path, address)


def _validate_full_name(name: str, path: str) -> Iterable[FieldError]:
    bare = name.removesuffix(".")
    if not bare:
        yield required(path)
        return
    problems = list(dns_subdomain(bare))
    for problem in problems:
        yield invalid(path, bare, problem)
    if not problems and "." not in bare:
        yield invalid(path, bare, "should be a domain with at least two segments separated by dots")


def _validate_ports(ports: Sequence[Doc]) -> Iterable[FieldError]:
    seen: set[str] = set()
    for index, port in enumerate(ports):
        path, name, protocol = f"ports[{index}]", port.get("name", ""), port.get("protocol", "")
        if name:
            for problem in dns_label(name):
                yield invalid(f"{path}.name", name, problem)
        if name in seen:
            yield duplicate(f"{path}.name", name)
        seen.add(name)
        if protocol not in _PROTOCOLS:
            yield not_supported(f"{path}.protocol", protocol, _PROTOCOLS)
        if (spoken := port.get("appProtocol")) is not None:
            for problem in qualified_name(spoken):
                yield invalid(f"{path}.appProtocol", spoken, problem)


def _row(doc: Doc, now: str) -> list[Any]:
    ports = [str(port.get("port") or port.get("name") or "*") for port in doc.get("ports") or ()]
    endpoints = doc.get("endpoints") or ()
    addresses = [address for endpoint in endpoints for address in endpoint.get("addresses") or ()]
    return [
        name_of(doc),
        doc["addressType"],
        _shown(ports),
        _shown(addresses),
        age_of(doc, now),
    ]


def _shown(found: Sequence[str]) -> str:
    shown, more = ",".join(found[:_SHOWN]), len(found) - _SHOWN
    return (f"{shown} + {more} more..." if more > 0 else shown) or _UNSET


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
    prepare_create=_prepare_create,
    prepare_update=_prepare_update,
    validate=_validate,
    validate_update=_validate_update,
    generation=True,
    deleted_as_status=True,
)
