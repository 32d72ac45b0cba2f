"""What a CSI volume is called across the cluster, and the VolumeAttachment of it and a node."""

from hashlib import sha256
from typing import Final

import msgspec

from mooring.model.wellknown import Plugin

SEPARATOR: Final = "^"  # between driver and handle; a driver's name has none
_PREFIX: Final = f"{Plugin.CSI}/"
IN_TREE: Final = (Plugin.ISCSI, Plugin.FC, Plugin.RBD)
"""Plugins whose volumes are attached by putting them on the node's list: the node does the rest."""


class CsiName(msgspec.Struct, frozen=True):
    """A volume as its driver knows it; of an in-tree volume the driver is its plugin."""

    driver: str
    handle: str

    @property
    def is_in_tree(self) -> bool:
        return self.driver in IN_TREE

    @property
    def unique(self) -> str:
        """Its name in the status of nodes."""
        if self.is_in_tree:
            return f"{self.driver}/{self.handle}"
        return f"{_PREFIX}{self.driver}{SEPARATOR}{self.handle}"


def find_csi_name(unique: str) -> CsiName | None:
    """The reverse of `unique`; None when it is no name of a volume that is attached.

    A handle may hold the separator; Kubernetes could attach such a volume and never detach it.
    """
    for plugin in IN_TREE:
        if unique.startswith(f"{plugin}/"):
            return CsiName(plugin, unique.removeprefix(f"{plugin}/"))
    driver, separator, handle = unique.removeprefix(_PREFIX).partition(SEPARATOR)
    if not unique.startswith(_PREFIX) or not separator or not driver or not handle:
        return None
    return CsiName(driver, handle)


def attachment_name(handle: str, driver: str, node: str) -> str:
    """Of the VolumeAttachment that attaches the volume to the node."""
    return f"csi-{sha256(f'{handle}{driver}{node}'.encode()).hexdigest()}"
