"""Growing the file system of a volume on the node."""

from pathlib import Path

from mooring.host.blocking import in_thread, taking
from mooring.host.bulkhead import LONG_SECONDS
from mooring.host.resize import resize
from mooring.model.storage_terms import VolumeMode
from mooring.plugins.contract import GrowthRequest, NotSupported
from mooring.plugins.flex.driver import Driver
from mooring.plugins.flex.options import volume_options
from mooring.plugins.flex.paths import device_mount
from mooring.plugins.flex.reply import Call
from mooring.plugins.layout import Layout


async def grow(driver: Driver, layout: Layout, request: GrowthRequest) -> bool:
    """By the driver, or by the node if the driver leaves it that. Raises: VolumeError."""
    use = request.use
    if use.volume is None:
        raise NotSupported("only persistent volumes grow")
    place = device_mount(layout, driver.name, use.name)
    sizes = (str(request.new_bytes), str(request.old_bytes))
    options = volume_options(use)
    if await driver.ask(Call.EXPAND_FS, options, request.device, str(place), *sizes) is not None:
        return True
    if use.mode is VolumeMode.BLOCK:
        return True
    if not request.device:
        raise NotSupported(f"{driver.name} does not grow file systems, and no device is known")
    with taking(LONG_SECONDS):
        await in_thread(resize, Path(request.device), place)
    return True
