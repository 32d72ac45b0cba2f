"""Where device mounts of FlexVolumes are: the same places as in Kubernetes. Pure."""

from pathlib import Path
from typing import Final

from mooring.plugins.layout import MOUNTS, Layout

HOME: Final = "kubernetes.io/flexvolume"


def device_mount(layout: Layout, driver: str, name: str) -> Path:
    """Where a volume is mounted once, for all pods."""
    return layout.plugin(HOME) / driver / MOUNTS / name
