"""The controller of endpoints at work: services, their pods and what is written of them wake it."""

from typing import Final

from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.controllers.endpoints.decide.service import SLICES_BY, decide
from mooring.controllers.endpoints.effects import Effects
from mooring.controllers.endpoints.view import ServiceView
from mooring.controllers.options import Options
from mooring.model.condition import is_condition_true
from mooring.model.endpoint_slice import EndpointSlice
from mooring.model.endpoints import Endpoints
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.model.service import Service
from mooring.model.wellknown import Label
from mooring.reconcile.informer import Informer
from mooring.reconcile.loops import Loops
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.worker import Settled, Verdict, work

WORKERS = 8
_PODS = "endpoints: pods by namespace"
_SERVICES = "endpoints: services by namespace"
_OF_SERVICE = "endpoints: slices by service"


def build(loops: Loops, _: Options) -> None:
    """Add the controller of endpoints to the role."""
    services, pods = loops.informer(Service), loops.informer(Pod)
    written = loops.informer(EndpointSlice), loops.informer(Endpoints)
    controller = EndpointsController(loops.client, loops.clock, services, pods, *written)
    loops.add(controller.run, {controller.queue_name: controller.queue})


class EndpointsController:
    """The informers are shared, and run by the role."""

    queue_name: Final = "endpoint_slice"

    def __init__(
        self,
        client: Client,
        clock: Clock,
        services: Informer[Service],
        pods: Informer[Pod],
        slices: Informer[EndpointSlice],
        endpoints: Informer[Endpoints],
    ) -> None:
        self.queue: KeyedQueue[Key] = KeyedQueue(clock)  # of services
        self._services = services
        self._pods = pods
        self._slices = slices
        self._endpoints = endpoints
        self._effects = Effects(client, slices, endpoints)
        services.add_index(_SERVICES, lambda service: [service.namespace])
        pods.add_index(_PODS, lambda pod: [pod.namespace])
        slices.add_index(_OF_SERVICE, _service_of)
        services.on_change(self._on_service)
        pods.on_change(self._on_pod)
        slices.on_change(self._on_slice)
        endpoints.on_change(self._on_endpoints)

    async def run(self) -> None:
        known = (self._services, self._pods, self._slices, self._endpoints)
        await work(known, self.queue, self.reconcile, WORKERS)

    async def reconcile(self, key: Key) -> Verdict:
        await self._effects.perform(decide(self._view(key)))
        return Settled()

    def _view(self, key: Key) -> ServiceView:
        service, endpoints = self._services.get(key), self._endpoints.get(key)
        if service is None:
            return ServiceView(None, endpoints=endpoints)
        pods = self._pods.by_index(_PODS, key.namespace) if service.spec.selector else ()
        slices = self._slices.by_index(_OF_SERVICE, key)
        return ServiceView(
            service,
            tuple(pod for pod in pods if service.selects(pod.metadata.labels)),
            tuple(each for each in slices if each.uid not in self._effects.doomed),
            endpoints,
        )

    # what wakes it

    def _on_service(self, before: Service | None, after: Service | None) -> None:
        changed = after if after is not None else before
        if changed is not None:
            self.queue.add(changed.key)

    def _on_pod(self, before: Pod | None, after: Pod | None) -> None:
        """Services that it leaves have to know, too."""
        if before is not None and after is not None and _standing(before) == _standing(after):
            return
        for pod in (before, after):
            if pod is None:
                continue
            for service in self._services.by_index(_SERVICES, pod.namespace):
                if service.selects(pod.metadata.labels):
                    self.queue.add(service.key)

    def _on_slice(self, before: EndpointSlice | None, after: EndpointSlice | None) -> None:
        if after is None and before is not None:
            self._effects.doomed.discard(before.uid)
        for each in (before, after):
            if each is not None:
                for key in _service_of(each):
                    self.queue.add(key)

    def _on_endpoints(self, before: Endpoints | None, after: Endpoints | None) -> None:
        changed = after if after is not None else before
        if changed is not None:
            self.queue.add(changed.key)


def _service_of(each: EndpointSlice) -> list[Key]:
    """Slices of others are none of this controller's business."""
    if each.metadata.labels.get(Label.SLICE_MANAGED_BY) != SLICES_BY or not each.service_name:
        return []
    return [Key(each.namespace, each.service_name)]


def _standing(pod: Pod) -> tuple[object, ...]:
    """What of a pod its services show; its spec does not change."""
    ready = is_condition_true(pod.status.conditions, "Ready")
    labels = pod.metadata.labels
    return pod.uid, labels, pod.status.pod_ip, ready, pod.is_deleting, pod.is_finished
