"""Unmounting the device mount, shared by all pods, after the last of them.

Failures are only logged: no pod is left for an event.
"""

from pathlib import Path

from mooring import log
from mooring.host import block_device
from mooring.host.blocking import in_thread
from mooring.host.contract import MountOps
from mooring.host.mountinfo import canonical
from mooring.node.actual import NOWHERE, ActualVolume
from mooring.node.context import NodeContext
from mooring.plugins.block_mapping import check_unused, remove_map
from mooring.plugins.contract import DeviceMounter, Uncertain, VolumeError
from mooring.plugins.layout import Layout

_log = log.get("mooring.node.effects")


async def unmount_device(context: NodeContext, here: ActualVolume) -> None:
    """Raises: MooringError; the device stays uncertain unless it certainly is unmounted."""
    mountable = context.registry.find_device_mountable_by_name(here.plugin)
    if mountable is None:
        raise VolumeError(f"no device mountable volume plugin matched name: {here.plugin}")
    target = await _find_target(mountable.device_mounter(), here)
    await in_thread(_check_references, context.host.mounts, context.host.layout, target)
    context.actual.device_fading(here.name)
    await mountable.device_unmounter().unmount_device(target)
    await _check_free(here.device_path)
    context.actual.device_unmounted(here.name)
    _log.info("device unmounted", volume=here.name)


async def unmap_device(context: NodeContext, here: ActualVolume) -> None:
    """Raises: MooringError; the device stays uncertain unless it certainly is let go."""
    block = context.registry.find_block_by_name(here.plugin)
    if block is None:
        raise VolumeError(f"no block volume plugin matched name: {here.plugin}")
    unmapper = block.block_unmapper(here.use.name, "")
    directory = unmapper.global_map_path(here.use)
    await check_unused(context.host.mounts, directory)
    context.actual.device_fading(here.name)
    await unmapper.tear_down_device(directory, here.device_path)
    await remove_map(directory)
    await _check_free(here.device_path)
    context.actual.device_unmounted(here.name)
    _log.info("device unmapped", volume=here.name)


async def _find_target(mounter: DeviceMounter, here: ActualVolume) -> Path:
    """The device mount path, or the recorded one if the plugin can no longer say.

    Raises: VolumeError when it is unknown.
    """
    try:
        target = await in_thread(mounter.device_mount_path, here.use)
    except VolumeError as error:
        if here.device_mount_path == NOWHERE:
            raise
        _log.warning("device mount path not found out anew", volume=here.name, error=error)
        return here.device_mount_path
    return here.device_mount_path if target == NOWHERE else target


def _check_references(mounts: MountOps, layout: Layout, target: Path) -> None:
    """Raises: VolumeError when the device mount is bound elsewhere, so it is still in use.

    Binds outside the node's directory are not ours, and are ignored.
    """
    if not target.is_relative_to(layout.plugins):
        return
    table, place = mounts.table(), canonical(target)
    if table.find(place) is None:
        return
    own = str(canonical(layout.plugins))
    tail = str(target.relative_to(layout.root))
    others = [
        path
        for path in map(str, table.references(place))
        if not path.startswith(f"{own}/") and not path.endswith(f"/{tail}")
    ]
    if others:
        raise VolumeError(
            f'the device mount path "{target}" is still mounted by other references '
            f"[{' '.join(others)}]"
        )


async def _check_free(device: str) -> None:
    """Raises: Uncertain when the device is still in use, according to the kernel."""
    path = Path(device)
    if not device or not await in_thread(block_device.is_block_device, path):
        return
    if await in_thread(block_device.is_busy, path):
        raise Uncertain("the device is in use when it was no longer expected to be in use")
