"""Endpoints: the addresses of a service's servers."""

from collections.abc import Iterator
from typing import ClassVar

from mooring.model.meta import ApiObject, Resource
from mooring.model.reference import ObjectReference
from mooring.model.wire import Wire


class EndpointAddress(Wire, frozen=True):
    ip: str = ""
    hostname: str = ""
    node_name: str | None = None
    target_ref: ObjectReference | None = None


class EndpointPort(Wire, frozen=True):
    name: str = ""
    port: int = 0
    protocol: str = "TCP"
    app_protocol: str | None = None


class EndpointSubset(Wire, frozen=True):
    addresses: tuple[EndpointAddress, ...] = ()
    not_ready_addresses: tuple[EndpointAddress, ...] = ()
    ports: tuple[EndpointPort, ...] = ()


class Endpoints(ApiObject, frozen=True):
    resource: ClassVar = Resource("", "v1", "Endpoints", "endpoints", namespaced=True)

    subsets: tuple[EndpointSubset, ...] = ()

    def ips(self) -> Iterator[str]:
        """Of what is ready, in their order, each once."""
        found = (address.ip for subset in self.subsets for address in subset.addresses)
        return iter(dict.fromkeys(ip for ip in found if ip))
