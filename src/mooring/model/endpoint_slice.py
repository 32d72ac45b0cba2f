"""EndpointSlice: some of the addresses behind a service."""

from typing import ClassVar

from mooring.model.meta import ApiObject, Resource
from mooring.model.reference import ObjectReference
from mooring.model.wellknown import Label
from mooring.model.wire import Wire


class EndpointConditions(Wire, frozen=True):
    ready: bool | None = None
    serving: bool | None = None
    terminating: bool | None = None


class Endpoint(Wire, frozen=True):
    addresses: tuple[str, ...] = ()
    conditions: EndpointConditions = EndpointConditions()
    hostname: str | None = None
    target_ref: ObjectReference | None = None
    node_name: str | None = None
    zone: str | None = None

    @property
    def is_ready(self) -> bool:
        """What does not say takes connections."""
        return self.conditions.ready is not False


class SlicePort(Wire, frozen=True):
    name: str = ""
    protocol: str = "TCP"
    port: int | None = None
    app_protocol: str | None = None


class EndpointSlice(ApiObject, frozen=True):
    resource: ClassVar = Resource(
        "discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", namespaced=True
    )

    address_type: str = ""
    # Kubernetes writes null for empty ones
    endpoints: tuple[Endpoint, ...] | None = None
    ports: tuple[SlicePort, ...] | None = None

    @property
    def service_name(self) -> str:
        """Of its service; empty when it belongs to none."""
        return self.metadata.labels.get(Label.SERVICE_NAME, "")
