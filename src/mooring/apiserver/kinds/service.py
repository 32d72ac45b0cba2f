"""Service: a name for a network service.

Mooring runs no network: services get no cluster IP, since no proxy would serve it. Pods find those
behind one by its name: see `controllers/endpoints/` and `node/names/`.
"""

from collections.abc import Iterable
from typing import Any

from mooring.apiserver.kinds.cells import NONE, age_of, name_of
from mooring.apiserver.kinds.contract import AGE, NAME, Column, Context, Kind
from mooring.apiserver.kinds.selectable import text_in
from mooring.apiserver.kinds.separation import keep_all_but_status, keep_status
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, duplicate, invalid, not_supported, required
from mooring.model.names import dns_label

_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_NEED_A_NETWORK = ("LoadBalancer", "NodePort")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_NO_ADDRESS = "None"
_MOST_PORT = 65535


def _defaults(doc: Doc) -> None:
    spec = doc.setdefault("spec", {})
    for field, value in (("sessionAffinity", "None"), ("type", "ClusterIP")):
        if not spec.get(field):
            spec[field] = value
    for port in spec.get("ports", ()):
        if not port.get("protocol"):
            port["protocol"] = "TCP"
        if not port.get("targetPort"):
            port["targetPort"] = port.get("port", 0)
    if spec["type"] != "ExternalName":
        spec.setdefault("internalTrafficPolicy", "Cluster")


def _prepare_create(doc: Doc, _: Context) -> None:
    spec = doc["spec"]
    doc["status"] = {"loadBalancer": {}}
    if spec["type"] != "ExternalName":
        address = spec.get("clusterIP") or _NO_ADDRESS
        spec["clusterIP"], spec["clusterIPs"] = address, [address]


def _validate(doc: Doc) -> Iterable[FieldError]:
    spec = doc["spec"]
    if spec["type"] not in _TYPES:
        yield not_supported("spec.type", spec["type"], _TYPES)
    ports = spec.get("ports", ())
    if not ports and spec["type"] != "ExternalName" and spec.get("clusterIP") != _NO_ADDRESS:
        yield required("spec.ports")
    if spec["type"] == "ExternalName" and not spec.get("externalName"):
        yield required("spec.externalName", "")
    seen: set[str] = set()
    for index, port in enumerate(ports):
        yield from _validate_port(port, f"spec.ports[{index}]", seen, alone=len(ports) == 1)


def _validate_port(port: Doc, path: str, seen: set[str], *, alone: bool) -> Iterable[FieldError]:
    name, number = port.get("name", ""), port.get("port", 0)
    if not name:
        if not alone:
            yield required(f"{path}.name")
    else:
        for problem in dns_label(name):
            yield invalid(f"{path}.name", name, problem)
        if name in seen:
            yield duplicate(f"{path}.name", name)
        seen.add(name)
    if not 0 < number <= _MOST_PORT:
        yield invalid(f"{path}.port", number, "must be between 1 and 65535, inclusive")
    if port.get("protocol") not in _PROTOCOLS:
        yield not_supported(f"{path}.protocol", port.get("protocol", ""), _PROTOCOLS)


def _warnings(doc: Doc) -> Iterable[str]:
    if (kind := doc["spec"]["type"]) in _NEED_A_NETWORK:
        yield (
            f"spec.type: {kind} has no effect: Mooring runs no network of services; "
            "pods are reached at the ports of their node"
        )


def _row(doc: Doc, now: str) -> list[Any]:
    spec = doc["spec"]
    selector = ",".join(f"{key}={value}" for key, value in sorted(spec.get("selector", {}).items()))
    ports = ",".join(f"{port['port']}/{port['protocol']}" for port in spec.get("ports", ()))
    return [
        name_of(doc),
        spec["type"],
        next(iter(spec.get("clusterIPs", ())), NONE),
        _outside(spec),
        ports or NONE,
        age_of(doc, now),
        selector or NONE,
    ]


def _outside(spec: Doc) -> str:
    if spec["type"] == "ExternalName":
        return str(spec.get("externalName", ""))
    addresses = ",".join(spec.get("externalIPs", ()))
    return addresses or ("<pending>" if spec["type"] == "LoadBalancer" else NONE)


SERVICE = Kind(
    group="",
    version="v1",
    kind="Service",
    plural="services",
    message="core.v1.Service",
    namespaced=True,
    short_names=("svc",),
    categories=("all",),
    status=True,
    columns=(
        NAME,
        Column("Type"),
        Column("Cluster-IP"),
        Column("External-IP"),
        Column("Port(s)"),
        AGE,
        Column("Selector", wide=True),
    ),
    row=_row,
    defaults=_defaults,
    prepare_create=_prepare_create,
    prepare_update=keep_status,
    prepare_status=keep_all_but_status,
    validate=_validate,
    warnings=_warnings,
    name_rule=dns_label,
    update_creates=True,
    fields={"spec.clusterIP": text_in("spec", "clusterIP"), "spec.type": text_in("spec", "type")},
)
