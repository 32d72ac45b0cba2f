"""Service: a name for something that pods serve."""

from collections.abc import Mapping
from typing import ClassVar

import msgspec

from mooring.model.meta import ApiObject, Resource
from mooring.model.wire import Wire

NO_ADDRESS = "None"
EXTERNAL_NAME = "ExternalName"


class ServicePort(Wire, frozen=True):
    name: str = ""
    protocol: str = "TCP"
    port: int = 0
    target_port: int | str = 0
    app_protocol: str | None = None


class ServiceSpec(Wire, frozen=True):
    type: str = "ClusterIP"
    ports: tuple[ServicePort, ...] = ()
    selector: Mapping[str, str] = msgspec.field(default_factory=dict)
    cluster_ip: str = msgspec.field(name="clusterIP", default="")
    external_name: str = ""
    publish_not_ready_addresses: bool = False


class Service(ApiObject, frozen=True):
    resource: ClassVar = Resource("", "v1", "Service", "services", namespaced=True)

    spec: ServiceSpec = ServiceSpec()

    @property
    def is_external(self) -> bool:
        """It stands for a name elsewhere, and has no endpoints."""
        return self.spec.type == EXTERNAL_NAME

    @property
    def has_address(self) -> bool:
        return self.spec.cluster_ip not in ("", NO_ADDRESS)

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Whether the selector matches; an empty one matches nothing."""
        wanted = self.spec.selector
        return bool(wanted) and wanted.items() <= labels.items()
