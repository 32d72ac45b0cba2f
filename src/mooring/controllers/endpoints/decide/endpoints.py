"""What the Endpoints object of a service is to say, for those who do not read slices."""

from collections.abc import Iterable, Iterator, Mapping

from mooring.controllers.endpoints.decide.pods import (
    hostname,
    is_endpoint,
    is_ready,
    ports,
    reference,
)
from mooring.controllers.endpoints.plan import (
    TRUNCATED,
    CreateEndpoints,
    Labels,
    Step,
    UpdateEndpoints,
)
from mooring.model.endpoint_slice import SlicePort
from mooring.model.endpoints import EndpointAddress, EndpointPort, Endpoints, EndpointSubset
from mooring.model.pod import Pod
from mooring.model.service import Service
from mooring.model.wellknown import Annotation

MOST_ADDRESSES = 1000

_ByPorts = Mapping[tuple[SlicePort, ...], list[Pod]]


def decide_endpoints(
    service: Service, pods: Iterable[Pod], seen: Endpoints | None, labels: Labels
) -> Iterator[Step]:
    shown = [pod for pod in pods if _is_shown(pod, service)]
    ready = {pod.uid for pod in shown if _counts_as_ready(pod, service)}
    shown.sort(key=lambda pod: (pod.uid not in ready, pod.status.pod_ip, pod.uid))
    kept = shown[:MOST_ADDRESSES]
    subsets = tuple(_subsets(service, _by_ports(kept, service), ready))
    annotations = {Annotation.OVER_CAPACITY: TRUNCATED} if len(kept) < len(shown) else {}
    if seen is None:
        yield CreateEndpoints(service, subsets, labels, annotations)
    elif not seen.is_deleting and not _says(seen, subsets, labels, annotations):
        yield UpdateEndpoints(seen, subsets, labels, annotations)


def _says(
    seen: Endpoints, subsets: tuple[EndpointSubset, ...], labels: Labels, annotations: Labels
) -> bool:
    of_capacity = seen.metadata.annotations.get(Annotation.OVER_CAPACITY)
    return (
        seen.subsets == subsets
        and seen.metadata.labels == labels
        and of_capacity == annotations.get(Annotation.OVER_CAPACITY)
    )


def _is_shown(pod: Pod, service: Service) -> bool:
    """This object has no word for pods that are about to end."""
    if not is_endpoint(pod) or (service.spec.ports and not ports(pod, service)):
        return False
    return not pod.is_deleting or service.spec.publish_not_ready_addresses


def _counts_as_ready(pod: Pod, service: Service) -> bool:
    return service.spec.publish_not_ready_addresses or is_ready(pod)


def _by_ports(pods: Iterable[Pod], service: Service) -> _ByPorts:
    found: dict[tuple[SlicePort, ...], list[Pod]] = {}
    for pod in pods:
        found.setdefault(ports(pod, service), []).append(pod)
    return found


def _subsets(service: Service, pods: _ByPorts, ready: set[str]) -> Iterator[EndpointSubset]:
    for shared in sorted(pods, key=lambda each: [(port.name, port.port or 0) for port in each]):
        of_them = pods[shared]
        yield EndpointSubset(
            tuple(_address(pod, service) for pod in of_them if pod.uid in ready),
            tuple(_address(pod, service) for pod in of_them if pod.uid not in ready),
            tuple(
                EndpointPort(port.name, port.port or 0, port.protocol, port.app_protocol)
                for port in shared
            ),
        )


def _address(pod: Pod, service: Service) -> EndpointAddress:
    return EndpointAddress(
        pod.status.pod_ip,
        hostname(pod, service) or "",
        pod.spec.node_name or None,
        reference(pod),
    )
