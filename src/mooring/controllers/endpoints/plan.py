"""The steps that a plan for a service may hold."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from mooring.model import steps
from mooring.model.endpoint_slice import Endpoint, EndpointSlice, SlicePort
from mooring.model.endpoints import Endpoints, EndpointSubset
from mooring.model.service import Service
from mooring.model.wellknown import Annotation
from mooring.model.wire import Wire

Labels = Mapping[str, str]
TRUNCATED: Final = "truncated"


class CreateSlice(msgspec.Struct, frozen=True):
    """A new slice, owned by the service; the API makes up its name."""

    service: Service
    address_type: str
    ports: tuple[SlicePort, ...]
    endpoints: tuple[Endpoint, ...]
    labels: Labels

    def document(self) -> dict[str, Any]:
        service = self.service
        return {
            "kind": EndpointSlice.resource.kind,
            "apiVersion": EndpointSlice.resource.api_version,
            "metadata": {
                "generateName": f"{service.name}-",
                "namespace": service.namespace,
                "labels": dict(self.labels),
                "ownerReferences": [
                    {
                        "apiVersion": service.resource.api_version,
                        "kind": service.resource.kind,
                        "name": service.name,
                        "uid": service.uid,
                        "controller": True,
                        "blockOwnerDeletion": True,
                    }
                ],
            },
            "addressType": self.address_type,
            "endpoints": _list(self.endpoints),
            "ports": _list(self.ports),
        }


class UpdateSlice(msgspec.Struct, frozen=True):
    seen: EndpointSlice
    ports: tuple[SlicePort, ...]
    endpoints: tuple[Endpoint, ...]
    labels: Labels

    def change(self) -> dict[str, Any]:
        return {
            "metadata": {"labels": _changed(self.seen.metadata.labels, self.labels)},
            "endpoints": _list(self.endpoints),
            "ports": _list(self.ports),
        }


class DeleteSlice(msgspec.Struct, frozen=True):
    seen: EndpointSlice


class CreateEndpoints(msgspec.Struct, frozen=True):
    service: Service
    subsets: tuple[EndpointSubset, ...]
    labels: Labels
    annotations: Labels

    def document(self) -> dict[str, Any]:
        return {
            "kind": Endpoints.resource.kind,
            "apiVersion": Endpoints.resource.api_version,
            "metadata": {
                "name": self.service.name,
                "namespace": self.service.namespace,
                "labels": dict(self.labels),
                "annotations": dict(self.annotations),
            },
            "subsets": _list(self.subsets),
        }


class UpdateEndpoints(msgspec.Struct, frozen=True):
    seen: Endpoints
    subsets: tuple[EndpointSubset, ...]
    labels: Labels
    annotations: Labels

    def change(self) -> dict[str, Any]:
        """Annotations of others stay."""
        said: dict[str, str | None] = {Annotation.OVER_CAPACITY: None, **self.annotations}
        labels = _changed(self.seen.metadata.labels, self.labels)
        return {
            "metadata": {"labels": labels, "annotations": said},
            "subsets": _list(self.subsets),
        }


class DeleteEndpoints(msgspec.Struct, frozen=True):
    seen: Endpoints


Step = CreateSlice | UpdateSlice | DeleteSlice | CreateEndpoints | UpdateEndpoints | DeleteEndpoints
Plan: TypeAlias = steps.Plan[Step]


def _changed(before: Labels, wanted: Labels) -> dict[str, str | None]:
    """As a merge says it: null takes a label away."""
    return {**dict.fromkeys(before), **wanted}


def _list(found: Iterable[Wire]) -> list[Any]:
    """As JSON has it."""
    return [msgspec.json.decode(msgspec.json.encode(each)) for each in found]
