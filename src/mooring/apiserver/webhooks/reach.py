"""Where a webhook answers: at a URL, or at a ready pod behind its Service.

There is no network of services here: a Service is resolved to the address of a pod, and its
certificate is checked for the Service's name.
"""

import random
from collections.abc import Iterator
from urllib.parse import urlsplit

import msgspec

from mooring.apiserver.admission.contract import Objects
from mooring.errors import MooringError
from mooring.model.document import Doc

HTTPS = 443


class CallFailed(MooringError):
    """There is no answer; the text is as Go's HTTP client words it."""


class Unreachable(MooringError):
    """There is nobody to connect to."""


class Target(msgspec.Struct, frozen=True):
    """A connection to make, and the URL that it is made for."""

    shown: str  # as messages show it
    host: str
    port: int
    server_name: str
    path: str


def shown_url(client: Doc) -> str:
    """What a webhook is called by in messages, without its time limit."""
    if url := client.get("url"):
        return str(url)
    service = client["service"]
    name = f"{service['name']}.{service['namespace']}.svc"
    return f"https://{name}:{service.get('port', HTTPS)}{service.get('path') or ''}"


def target_of(client: Doc, objects: Objects, rng: random.Random) -> Target:
    """Raises: Unreachable."""
    shown = shown_url(client)
    parts = urlsplit(shown)
    host = parts.hostname or ""
    if client.get("url"):
        return Target(shown, host, parts.port or HTTPS, host, parts.path or "/")
    service = client["service"]
    ends = list(endpoints(service, objects))
    if not ends:
        raise Unreachable(f'no endpoints available for service "{service["name"]}"')
    address, port = rng.choice(ends)
    return Target(shown, address, port, host, parts.path or "/")


def endpoints(reference: Doc, objects: Objects) -> Iterator[tuple[str, int]]:
    """Address and port of each ready pod behind a port of a Service. Raises: Unreachable."""
    namespace, name = reference["namespace"], reference["name"]
    service = objects.find("services", namespace, name)
    if service is None:
        raise Unreachable(f'service "{name}" not found')
    spec = service["spec"]
    wanted = reference.get("port", HTTPS)
    ports = [port for port in spec.get("ports", ()) if port["port"] == wanted]
    if spec.get("type") == "ExternalName":
        yield spec["externalName"], wanted
        return
    if not ports:
        raise Unreachable(f'no service port {wanted} found for service "{name}"')
    known = list(_listed(objects.find("endpoints", namespace, name), ports[0]))
    selector = spec.get("selector")
    if known or not selector:
        yield from known
        return
    # Nobody keeps its Endpoints, or its pods have addresses that may not stand there.
    for pod in objects.all("pods", namespace):
        labels = pod["metadata"].get("labels") or {}
        if selector.items() <= labels.items() and _is_ready(pod):
            port = _port_of(pod, ports[0].get("targetPort", wanted))
            if port:
                yield pod["status"]["podIP"], port


def _listed(endpoints: Doc | None, port: Doc) -> Iterator[tuple[str, int]]:
    for subset in (endpoints or {}).get("subsets") or ():
        for offered in subset.get("ports") or ():
            if offered.get("name", "") == port.get("name", ""):
                for address in subset.get("addresses") or ():
                    yield address["ip"], offered["port"]


def _is_ready(pod: Doc) -> bool:
    status = pod.get("status") or {}
    is_ready = any(
        each["type"] == "Ready" and each["status"] == "True"
        for each in status.get("conditions") or ()
    )
    return is_ready and bool(status.get("podIP")) and "deletionTimestamp" not in pod["metadata"]


def _port_of(pod: Doc, target: int | str) -> int:
    if isinstance(target, int):
        return target
    for container in pod["spec"].get("containers") or ():
        for port in container.get("ports") or ():
            if port.get("name") == target:
                return int(port["containerPort"])
    return 0
