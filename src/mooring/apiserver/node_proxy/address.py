"""Where a node serves, and how to know that it is the node: pure reading of Node documents."""

import re
from collections.abc import Iterable

import msgspec

from mooring.errors import ServerError, Unavailable
from mooring.model.document import Doc
from mooring.model.wellknown import Annotation

DEFAULT_PORT = 10250

_PREFERRED = ("InternalIP", "ExternalIP", "InternalDNS", "Hostname", "ExternalDNS")
_FINGERPRINT = re.compile(r"[0-9a-f]{64}")


class NodeAddress(msgspec.Struct, frozen=True):
    name: str
    host: str
    port: int
    fingerprint: str  # sha256 of its certificate, in hex

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def address_of(node: Doc) -> NodeAddress:
    """Raises: ServerError, Unavailable when the Node object has no address."""
    name = node["metadata"]["name"]
    status = node.get("status", {})
    addresses = status.get("addresses", ())
    endpoint = status.get("daemonEndpoints", {}).get("kubeletEndpoint", {})
    annotations = node["metadata"].get("annotations", {})
    host = annotations.get(Annotation.SERVING_ADDRESS) or _preferred(addresses)
    if not host:
        known = " ".join(f"{{{a.get('type', '')} {a.get('address', '')}}}" for a in addresses)
        raise ServerError(f"no preferred addresses found; known addresses: [{known}]")
    told = annotations.get(Annotation.SERVING_CERTIFICATE, "")
    fingerprint = told.strip().lower().replace(":", "")
    if not _FINGERPRINT.fullmatch(fingerprint):
        raise Unavailable(
            f"node {name} lets nobody look into its containers: it runs none, or does not say "
            f"which certificate it serves with (annotation {Annotation.SERVING_CERTIFICATE})"
        )
    return NodeAddress(name, host, endpoint.get("Port") or DEFAULT_PORT, fingerprint)


def _preferred(addresses: Iterable[Doc]) -> str:
    by_type = {a.get("type", ""): a.get("address", "") for a in reversed(list(addresses))}
    return next((by_type[kind] for kind in _PREFERRED if by_type.get(kind)), "")
