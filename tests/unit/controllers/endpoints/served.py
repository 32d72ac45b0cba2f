"""Services, their pods and slices, for tests of what is decided of them."""

from collections.abc import Iterable
from typing import Any

import msgspec

from mooring.controllers.endpoints.plan import (
    CreateEndpoints,
    CreateSlice,
    DeleteEndpoints,
    DeleteSlice,
    Step,
    UpdateEndpoints,
    UpdateSlice,
)
from mooring.controllers.endpoints.view import ServiceView
from mooring.model.endpoint_slice import EndpointSlice
from mooring.model.endpoints import Endpoints
from mooring.model.pod import Pod
from mooring.model.service import Service
from mooring.model.wire import read_document

GONE = "2026-01-02T03:04:05Z"


def a_service(**fields: Any) -> Service:
    labels = fields.pop("labels", {"tier": "front"})
    metadata = {"name": "web", "namespace": "ns", "uid": "u-web", "labels": labels}
    spec = {
        "selector": {"app": "web"},
        "clusterIP": "None",
        "ports": [{"name": "http", "port": 80, "targetPort": "http"}],
        **fields.pop("spec", {}),
    }
    return read_document({"metadata": {**metadata, **fields}, "spec": spec}, Service)


def a_pod(
    name: str, ip: str = "10.0.0.1", *, ready: bool = True, going: bool = False, **spec: Any
) -> Pod:
    metadata: dict[str, Any] = {"name": name, "namespace": "ns", "uid": f"u-{name}"}
    if going:
        metadata["deletionTimestamp"] = GONE
    container = {"name": "c", "ports": [{"name": "http", "containerPort": 8080}]}
    status = {
        "phase": "Running",
        "podIP": ip,
        "conditions": [{"type": "Ready", "status": str(ready)}],
    }
    return read_document(
        {
            "metadata": {**metadata, "labels": {"app": "web"}},
            "spec": {"nodeName": "n1", "containers": [container], **spec},
            "status": status,
        },
        Pod,
    )


def carried_out(view: ServiceView, steps: Iterable[Step], tag: str = "") -> ServiceView:
    """What is there after these steps, as an API would keep it."""
    slices = {each.name: each for each in view.slices}
    endpoints = view.endpoints
    for number, step in enumerate(steps):
        match step:
            case CreateSlice():
                name = f"web-{tag}{number}"
                doc = step.document()
                doc["metadata"] |= {"name": name, "uid": f"u-{name}"}
                slices[name] = read_document(doc, EndpointSlice)
            case UpdateSlice(seen):
                metadata = msgspec.structs.replace(seen.metadata, labels=step.labels)
                slices[seen.name] = msgspec.structs.replace(
                    seen, metadata=metadata, endpoints=step.endpoints, ports=step.ports
                )
            case DeleteSlice(seen):
                del slices[seen.name]
            case CreateEndpoints():
                endpoints = read_document(step.document(), Endpoints)
            case UpdateEndpoints(seen):
                metadata = msgspec.structs.replace(
                    seen.metadata, labels=step.labels, annotations=step.annotations
                )
                endpoints = msgspec.structs.replace(seen, metadata=metadata, subsets=step.subsets)
            case DeleteEndpoints():
                endpoints = None
    return ServiceView(view.service, view.pods, tuple(slices.values()), endpoints)
