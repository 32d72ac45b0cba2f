"""NetworkPolicy: stored, so that manifests that bring one install; nobody enforces it."""

import ipaddress
from collections.abc import Iterable
from typing import Any

from mooring.apiserver.kinds.cells import age_of, name_of
from mooring.apiserver.kinds.contract import AGE, NAME, Column, Kind
from mooring.apiserver.kinds.label_selector import validate_label_selector
from mooring.apiserver.kinds.workload import selector_cell
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, forbidden, invalid, not_supported, required

_TYPES = ("Egress", "Ingress")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_MOST_PORT = 65535
_RULES = (("ingress", "from"), ("egress", "to"))


def _defaults(doc: Doc) -> None:
    spec = doc.setdefault("spec", {})
    spec.setdefault("podSelector", {})
    for field, _ in _RULES:
        for rule in spec.get(field) or ():
            for port in rule.get("ports") or ():
                port.setdefault("protocol", "TCP")
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def _validate(doc: Doc) -> Iterable[FieldError]:
    spec = doc["spec"]
    yield from validate_label_selector(spec.get("podSelector") or {}, "spec.podSelector")
    for field, peers in _RULES:
        for index, rule in enumerate(spec.get(field) or ()):
            path = f"spec.{field}[{index}]"
            for number, port in enumerate(rule.get("ports") or ()):
                yield from _validate_port(port, f"{path}.ports[{number}]")
            for number, peer in enumerate(rule.get(peers) or ()):
                yield from _validate_peer(peer, f"{path}.{peers}[{number}]")
    for index, kind in enumerate(spec.get("policyTypes") or ()):
        if kind not in _TYPES:
            yield not_supported(f"spec.policyTypes[{index}]", kind, _TYPES)


def _validate_port(port: Doc, path: str) -> Iterable[FieldError]:
    if port.get("protocol") not in _PROTOCOLS:
        yield not_supported(f"{path}.protocol", port.get("protocol"), _PROTOCOLS)
    number = port.get("port")
    if isinstance(number, int) and not 0 < number <= _MOST_PORT:
        yield invalid(f"{path}.port", number, "must be between 1 and 65535, inclusive")
    end = port.get("endPort")
    if end is not None and isinstance(number, int) and end < number:
        yield invalid(f"{path}.endPort", end, "must be greater than or equal to `port`")


def _validate_peer(peer: Doc, path: str) -> Iterable[FieldError]:
    selectors = [f for f in ("podSelector", "namespaceSelector") if peer.get(f) is not None]
    for field in selectors:
        yield from validate_label_selector(peer[field], f"{path}.{field}")
    block = peer.get("ipBlock")
    if block is None and not selectors:
        yield required(path, "must specify a peer")
    if block is None:
        return
    if selectors:
        yield forbidden(path, "may not specify both ipBlock and another peer")
    for field, text in (("cidr", block.get("cidr", "")),):
        try:
            ipaddress.ip_network(text)
        except ValueError:
            why = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
            yield invalid(f"{path}.ipBlock.{field}", text, why)


def _warnings(_: Doc) -> Iterable[str]:
    yield "Mooring stores network policies and enforces none: pods share the network of their node"


def _row(doc: Doc, now: str) -> list[Any]:
    return [name_of(doc), selector_cell(doc["spec"].get("podSelector")), age_of(doc, now)]


NETWORK_POLICY = Kind(
    group="networking.k8s.io",
    version="v1",
    kind="NetworkPolicy",
    plural="networkpolicies",
    message="networking.v1.NetworkPolicy",
    namespaced=True,
    short_names=("netpol",),
    columns=(NAME, Column("Pod-Selector"), AGE),
    row=_row,
    defaults=_defaults,
    validate=_validate,
    warnings=_warnings,
    generation=True,
    deleted_as_status=True,
)
