"""What is written of a service: its slices, and the Endpoints object of its name.

Always true of a plan:

- A service without a selector, or that stands for a name elsewhere, is left alone: what is written
  for it is somebody else's.
- Nothing is deleted that this controller does not manage.
- Carried out, the slices hold each pod that the service selects once, at most 100 in a slice; a
  service without pods has one empty slice.
- An address stays in its slice, and slices are written before others are deleted: a plan that is
  cut off has lost no address that is still wanted.
"""

from collections.abc import Mapping

from mooring.controllers.endpoints.decide.endpoints import decide_endpoints
from mooring.controllers.endpoints.decide.slices import decide_slices
from mooring.controllers.endpoints.plan import DeleteEndpoints, Plan, Step
from mooring.controllers.endpoints.view import ServiceView
from mooring.model.service import Service
from mooring.model.steps import plan
from mooring.model.wellknown import Label

SLICES_BY = "endpointslice-controller.k8s.io"
ENDPOINTS_BY = "endpoint-controller"
_RESERVED = (
    *(Label.SERVICE_NAME, Label.SLICE_MANAGED_BY),
    *(Label.ENDPOINTS_MANAGED_BY, Label.HEADLESS_SERVICE),
)


def decide(view: ServiceView) -> Plan:
    service, endpoints = view.service, view.endpoints
    if service is None:
        gone: list[Step] = []
        if endpoints is not None and is_managed(endpoints.metadata.labels):
            gone.append(DeleteEndpoints(endpoints))
        return plan("the service is gone; its slices are collected as garbage", *gone)
    if service.is_deleting:
        return plan("the service is on its way out")
    if service.is_external or not service.spec.selector:
        return plan("it has no selector, so others say who is behind it")
    said = _labels(service)
    named = {Label.SERVICE_NAME: service.name, Label.SLICE_MANAGED_BY: SLICES_BY}
    steps: list[Step] = [
        *decide_slices(service, view.pods, view.slices, {**said, **named}),
        *decide_endpoints(
            service, view.pods, endpoints, {**said, Label.ENDPOINTS_MANAGED_BY: ENDPOINTS_BY}
        ),
    ]
    return plan("pods have changed" if steps else "all of it is written", *steps)


def is_managed(labels: Mapping[str, str]) -> bool:
    """Whether an Endpoints object was made by this controller."""
    return labels.get(Label.ENDPOINTS_MANAGED_BY) == ENDPOINTS_BY


def _labels(service: Service) -> dict[str, str]:
    """Those of the service go along."""
    said = {key: value for key, value in service.metadata.labels.items() if key not in _RESERVED}
    return said if service.has_address else {**said, Label.HEADLESS_SERVICE: ""}
