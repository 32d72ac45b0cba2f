"""The volumes on a node that one driver serves."""

from mooring.node.actual import ActualVolume
from mooring.node.context import NodeContext
from mooring.node.desired import WantedVolume
from mooring.plugins.csi.source import find_driver_name


def volumes_of(context: NodeContext, driver: str) -> tuple[str, ...]:
    """The names of those that are wanted or here: what waited for the driver, or for its object."""
    volumes: tuple[WantedVolume | ActualVolume, ...] = (
        *context.desired.volumes(),
        *context.actual.volumes(),
    )
    return tuple(sorted({one.name for one in volumes if find_driver_name(one.use) == driver}))
