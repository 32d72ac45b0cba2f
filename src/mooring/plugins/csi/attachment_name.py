"""What a CSI volume is called across the cluster, and the VolumeAttachment of it and a node."""

from hashlib import sha256
from typing import Final

import msgspec

from mooring.model.wellknown import Plugin

SEPARATOR: Final = "^"  # between driver and handle; a driver's name has none
_PREFIX: Final = f"{Plugin.CSI}/"


class CsiName(msgspec.Struct, frozen=True):
    """A volume as its driver knows it."""

    driver: str
    handle: str

    @property
    def unique(self) -> str:
        """Its name in the status of nodes."""
        return f"{_PREFIX}{self.driver}{SEPARATOR}{self.handle}"


def find_csi_name(unique: str) -> CsiName | None:
    """The reverse of `unique`; None when it is no CSI volume's name.

    A handle may hold the separator; Kubernetes could attach such a volume and never detach it.
    """
    driver, separator, handle = unique.removeprefix(_PREFIX).partition(SEPARATOR)
    if not unique.startswith(_PREFIX) or not separator or not driver or not handle:
        return None
    return CsiName(driver, handle)


def attachment_name(handle: str, driver: str, node: str) -> str:
    """Of the VolumeAttachment that attaches the volume to the node."""
    return f"csi-{sha256(f'{handle}{driver}{node}'.encode()).hexdigest()}"
