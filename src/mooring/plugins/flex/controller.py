"""What the cluster asks of a driver: to attach, to detach and to grow a volume. Touches no disk."""

from pathlib import Path

from mooring.model.volume_use import VolumeUse
from mooring.plugins.flex.driver import Driver
from mooring.plugins.flex.options import volume_options
from mooring.plugins.flex.paths import device_mount
from mooring.plugins.flex.reply import Call
from mooring.plugins.layout import Layout

_NO_ROOT = Layout(Path())  # which directory a node has is not known here


class FlexControl:
    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def attach(self, use: VolumeUse, node: str) -> str:
        """The device, or "". A driver that need not attach has done so. Raises: VolumeError."""
        options = volume_options(use)
        # The reply is not used, as in Kubernetes; that the driver refuses the volume is.
        await self._driver.ask(Call.GET_VOLUME_NAME, options)
        answer = await self._driver.ask(Call.ATTACH, options, node)
        return "" if answer is None else answer.device

    async def detach(self, volume_name: str, node: str) -> None:
        await self._driver.ask(Call.DETACH, volume_name, node)

    async def is_attached(self, use: VolumeUse, node: str) -> bool | None:
        """None when the driver cannot say."""
        answer = await self._driver.ask(Call.IS_ATTACHED, volume_options(use), node)
        return None if answer is None else answer.attached

    async def grow(self, use: VolumeUse, new_bytes: int, old_bytes: int) -> int:
        """The new size: what the driver says of it is not used, as in Kubernetes."""
        place = str(device_mount(_NO_ROOT, self._driver.name, use.name))
        sizes = (str(new_bytes), str(old_bytes))
        await self._driver.ask(Call.EXPAND_VOLUME, volume_options(use), place, *sizes)
        return new_bytes
