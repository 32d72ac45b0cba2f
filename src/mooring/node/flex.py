"""FlexVolume on a node: the drivers in its plugin directory, as plugins of its registry."""

from functools import partial
from pathlib import Path

from mooring.node.actual import ActualVolume
from mooring.node.context import NodeContext
from mooring.node.desired import WantedVolume
from mooring.node.reconstruct import Reconstructed, reconstruct
from mooring.node.run import NodeVolumes
from mooring.plugins.flex.drivers import Drivers
from mooring.plugins.flex.prober import FlexProber
from mooring.plugins.flex.source import find_driver_name
from mooring.plugins.volume_host import Host
from mooring.reconcile.loops import Loops
from mooring.reconcile.worker import lasting


class NodeFlex:
    """Added to `loops`, which run it; before that, `serve` says whose volumes wait for drivers."""

    def __init__(self, loops: Loops, host: Host, directory: Path) -> None:
        self.drivers = Drivers(directory, loops.clock)
        self.prober = FlexProber(self.drivers, host)
        loops.add(partial(lasting, "FlexVolume drivers", loops.clock, self.drivers.run))

    def serve(self, volumes: NodeVolumes) -> None:
        """What failed for want of a driver is tried at once when that comes."""

        def changed(driver: str) -> None:
            volumes.attachability_changed()
            volumes.attached_changed(volumes_of(volumes.context, driver))

        self.drivers.on_change(changed)

    async def reconstruct(self, context: NodeContext) -> Reconstructed:
        """Once the drivers are known: without its driver a mount on disk makes no sense."""
        await self.drivers.looked.wait()
        return await reconstruct(context)


def volumes_of(context: NodeContext, driver: str) -> tuple[str, ...]:
    """The names of the volumes, wanted or here, that a driver serves."""
    volumes: tuple[WantedVolume | ActualVolume, ...] = (
        *context.desired.volumes(),
        *context.actual.volumes(),
    )
    return tuple(sorted({one.name for one in volumes if find_driver_name(one.use) == driver}))
