"""The Service `kubernetes` in `default`: where clients inside the cluster find the API server."""

from ipaddress import ip_address

from mooring.apiserver.verbs.backend import Backend
from mooring.apiserver.verbs.in_process_writer import InProcessWriter
from mooring.errors import AlreadyExists
from mooring.model.document import Doc

_LOOPBACK = "127.0.0.1"


def own_service(host: str, port: int) -> Doc:
    """Pods share the network of their node, so the address is the server's own."""
    address = reachable_address(host)
    return {
        "metadata": {
            "name": "kubernetes",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "clusterIP": address,
            "clusterIPs": [address],
            "type": "ClusterIP",
            "ports": [{"name": "https", "protocol": "TCP", "port": port, "targetPort": port}],
        },
    }


def reachable_address(host: str) -> str:
    """An address of the server; its own machine's when it listens on all, or under a name."""
    try:
        address = ip_address(host)
    except ValueError:
        return _LOOPBACK
    return _LOOPBACK if address.is_unspecified else host


async def announce(backend: Backend, writer: InProcessWriter, host: str, port: int) -> None:
    """Create the service, or update its address."""
    kind = backend.kinds.find("", "v1", "services")
    if kind is None:
        raise LookupError("no kind services")
    wanted = own_service(host, port)

    def moved(doc: Doc) -> Doc:
        return {**doc, "spec": {**doc["spec"], **wanted["spec"]}}

    try:
        await writer.create(kind, "default", own_service(host, port))
    except AlreadyExists:
        await writer.replace(kind, "default", "kubernetes", moved)
