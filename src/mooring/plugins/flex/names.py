"""What a FlexVolume is called across the cluster, and its attachment to a node. Pure."""

from hashlib import sha256
from typing import Final

import msgspec

from mooring.model.names import dns_subdomain

_IN_TREE: Final = "kubernetes.io/"


class FlexName(msgspec.Struct, frozen=True):
    """A volume as its driver knows it."""

    driver: str
    handle: str  # the name of the persistent volume, or of the volume in its pod

    @property
    def unique(self) -> str:
        """Its name in the status of nodes."""
        return f"{self.driver}/{self.handle}"


def find_flex_name(unique: str) -> FlexName | None:
    """The reverse of `unique`; None for a volume of a plugin that comes with Kubernetes.

    Nodes write such names, and drivers are run with the handle: one that no volume has is none.
    """
    driver, _, handle = unique.rpartition("/")
    if unique.startswith(_IN_TREE) or not driver or any(dns_subdomain(handle)):
        return None
    return FlexName(driver, handle)


def flex_attachment_name(name: FlexName, node: str) -> str:
    """The API has no such object: the name is the controller's own."""
    return f"flex-{sha256(f'{name.unique} {node}'.encode()).hexdigest()}"
