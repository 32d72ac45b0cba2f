"""What the controller looks at: a service, the pods it selects, and what is written of them."""

import msgspec

from mooring.model.endpoint_slice import EndpointSlice
from mooring.model.endpoints import Endpoints
from mooring.model.pod import Pod
from mooring.model.service import Service


class ServiceView(msgspec.Struct, frozen=True):
    service: Service | None  # None: it is gone
    pods: tuple[Pod, ...] = ()  # that it selects
    slices: tuple[EndpointSlice, ...] = ()  # that this controller manages for it
    endpoints: Endpoints | None = None  # the object of its name
