"""The volumes that can be attached, by their names in the status of nodes: pure."""

from typing import TypeAlias

from mooring.plugins.csi.attachment_name import CsiName, attachment_name, find_csi_name
from mooring.plugins.flex.names import FlexName, find_flex_name, flex_attachment_name

VolumeName: TypeAlias = CsiName | FlexName


def find_volume_name(unique: str) -> VolumeName | None:
    """None when nothing here attaches such a volume."""
    return find_csi_name(unique) or find_flex_name(unique)


def name_of_attachment(volume: VolumeName, node: str) -> str:
    if isinstance(volume, FlexName):
        return flex_attachment_name(volume, node)
    return attachment_name(volume.handle, volume.driver, node)
