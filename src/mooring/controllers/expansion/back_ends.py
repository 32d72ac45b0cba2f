"""Who grows volumes that no resizer outside grows: FlexVolume drivers, and plugins of ours."""

from collections.abc import Mapping

import msgspec

from mooring.controllers.expansion.view import find_local_expander
from mooring.host.blocking import within_volume
from mooring.model.volume import Volume
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import Expandable
from mooring.plugins.flex.controller import FlexControl
from mooring.plugins.flex.driver import Driver
from mooring.plugins.flex.drivers import Drivers
from mooring.plugins.flex.source import find_driver_name


class BackEnds(msgspec.Struct, frozen=True):
    """`flex` is None where FlexVolume is not served at all."""

    flex: Drivers | None = None
    in_tree: Mapping[str, Expandable] = msgspec.field(default_factory=dict)  # by plugin

    async def known(self) -> None:
        """Returns when the drivers that are there have been loaded; else one is passed over."""
        if self.flex is not None:
            await self.flex.looked.wait()

    def leave_file_system(self, volume: Volume) -> bool:
        """Whether a node has to grow the file system, once the back end has grown."""
        if (plugin := self._find_plugin(volume)) is not None:
            return plugin.needs_node_growth(VolumeUse(volume=volume))
        driver = self._find_driver(volume)
        return driver is None or driver.capabilities.requires_fs_resize

    async def grow(self, volume: Volume, size: int, before: int) -> None:
        """Without its driver here there is nothing to do: a driver on the node may do all.

        Repeated: what has grown to the same size is left alone. Raises: VolumeError.
        """
        use = VolumeUse(volume=volume)
        if (plugin := self._find_plugin(volume)) is not None:
            await plugin.grow(use, size, before)
        elif (driver := self._find_driver(volume)) is not None:
            with within_volume(f"{driver.name}/{volume.name}"):
                await FlexControl(driver).grow(use, size, before)

    def _find_plugin(self, volume: Volume) -> Expandable | None:
        return self.in_tree.get(find_local_expander(volume) or "")

    def _find_driver(self, volume: Volume) -> Driver | None:
        name = find_driver_name(VolumeUse(volume=volume))
        return None if self.flex is None or not name else self.flex.find(name)
