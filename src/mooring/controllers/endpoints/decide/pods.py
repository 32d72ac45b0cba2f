"""A pod as an endpoint: its address, its ports, whether it takes connections."""

from collections.abc import Iterable
from ipaddress import ip_address

from mooring.model.condition import is_condition_true
from mooring.model.container import KEEPS_RUNNING, Container
from mooring.model.endpoint_slice import Endpoint, EndpointConditions, SlicePort
from mooring.model.pod import Pod
from mooring.model.reference import ObjectReference
from mooring.model.service import Service, ServicePort


def is_endpoint(pod: Pod) -> bool:
    """One that has ended, or has no address that others can reach, serves nothing."""
    return not pod.is_finished and _is_reachable(pod.status.pod_ip)


def is_ready(pod: Pod) -> bool:
    return is_condition_true(pod.status.conditions, "Ready")


def address_type(pod: Pod) -> str:
    return "IPv6" if ":" in pod.status.pod_ip else "IPv4"


def hostname(pod: Pod, service: Service) -> str | None:
    """Its name below the service's, if it is in the service's subdomain."""
    return (pod.spec.hostname or None) if pod.spec.subdomain == service.name else None


def reference(pod: Pod) -> ObjectReference:
    return ObjectReference("Pod", pod.namespace, pod.name, pod.uid)


def endpoint(pod: Pod, service: Service) -> Endpoint:
    serving, terminating = is_ready(pod), pod.is_deleting
    ready = service.spec.publish_not_ready_addresses or (serving and not terminating)
    return Endpoint(
        addresses=(pod.status.pod_ip,),
        conditions=EndpointConditions(ready, serving, terminating),
        hostname=hostname(pod, service),
        target_ref=reference(pod),
        node_name=pod.spec.node_name or None,
    )


def ports(pod: Pod, service: Service) -> tuple[SlicePort, ...]:
    """Those of the service, as this pod numbers them; without those that it does not name."""
    found = ((port, _number(pod, port)) for port in service.spec.ports)
    return tuple(
        SlicePort(port.name, port.protocol, number, port.app_protocol)
        for port, number in found
        if number is not None
    )


def _is_reachable(text: str) -> bool:
    """The API takes no others: one such pod would keep the rest of its slice from being written."""
    try:
        address = ip_address(text)
    except ValueError:
        return False
    return not (address.is_unspecified or address.is_loopback or address.is_link_local)


def _number(pod: Pod, port: ServicePort) -> int | None:
    wanted = port.target_port or port.port
    if isinstance(wanted, int):
        return wanted
    for container in _serving(pod):
        for offered in container.ports:
            if offered.name == wanted and (offered.protocol or "TCP") == port.protocol:
                return offered.container_port
    return None


def _serving(pod: Pod) -> Iterable[Container]:
    sidecars = (each for each in pod.spec.init_containers if each.restart_policy == KEEPS_RUNNING)
    return (*pod.spec.containers, *sidecars)
