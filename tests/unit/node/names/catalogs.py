"""Services and slices for tests of names."""

from collections.abc import Iterable, Sequence
from typing import Any

from mooring.model.endpoint_slice import EndpointSlice
from mooring.model.keys import Key
from mooring.model.service import Service
from mooring.model.wire import read_document

DOMAIN = "cluster.local"


class FakeCatalog:
    """`Catalog` of what it is given."""

    def __init__(
        self, services: Iterable[Service] = (), slices: Iterable[EndpointSlice] = ()
    ) -> None:
        self.services = {service.key: service for service in services}
        self.all_slices = list(slices)

    def service(self, key: Key) -> Service | None:
        return self.services.get(key)

    def has_services(self, namespace: str) -> bool:
        return any(key.namespace == namespace for key in self.services)

    def slices(self, service: Key) -> Sequence[EndpointSlice]:
        return [
            each
            for each in self.all_slices
            if (each.namespace, each.service_name) == (service.namespace, service.name)
        ]

    def slices_at(self, ip: str) -> Sequence[EndpointSlice]:
        return [
            each
            for each in self.all_slices
            if any(endpoint.addresses[:1] == (ip,) for endpoint in each.endpoints or ())
        ]


def a_service(name: str = "db", namespace: str = "ns", **spec: Any) -> Service:
    given = {"selector": {"app": name}, "clusterIP": "None", **spec}
    return read_document(
        {"metadata": {"name": name, "namespace": namespace}, "spec": given}, Service
    )


def a_slice(
    *endpoints: dict[str, Any], service: str = "db", namespace: str = "ns", **fields: Any
) -> EndpointSlice:
    metadata = {
        "name": f"{service}-1",
        "namespace": namespace,
        "labels": {"kubernetes.io/service-name": service},
    }
    body = {
        "addressType": "IPv4",
        "endpoints": list(endpoints),
        "ports": [{"name": "sql", "port": 5432}],
        **fields,
    }
    return read_document({"metadata": metadata, **body}, EndpointSlice)


def at(ip: str, hostname: str | None = None, **conditions: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"addresses": [ip], "conditions": conditions}
    return found if hostname is None else {**found, "hostname": hostname}


KUBERNETES = a_service(
    "kubernetes",
    "default",
    selector={},
    clusterIP="192.0.2.1",
    ports=[{"name": "https", "port": 6443}],
)
OUTSIDE = a_service("mail", type="ExternalName", selector={}, externalName="mx.Example.com")
CATALOG = FakeCatalog(
    [a_service(), KUBERNETES, OUTSIDE, a_service("empty"), a_service("six")],
    [
        a_slice(at("10.0.0.1", "db-0", ready=True), at("10.0.0.2", "db-1", ready=False)),
        a_slice(at("10.0.0.1", "db-2"), at("10.0.0.3")),
        a_slice(at("fd00::1", "six-0"), service="six", addressType="IPv6"),
    ],
)
