"""Taking a volume away from a pod. A failure is an event on the pod, which cannot end before."""

from contextlib import AbstractContextManager
from functools import partial

from mooring import log
from mooring.host import subpath
from mooring.host.blocking import in_thread
from mooring.node.actual import ActualVolume, PodMount
from mooring.node.context import NodeContext
from mooring.node.effects.events import (
    FAILED_UNMOUNT,
    claim_and_driver,
    failures_recorded,
    pod_recorder,
)
from mooring.plugins.block_mapping import DeviceMap, unmap_device
from mooring.plugins.contract import VolumeError

_log = log.get("mooring.node.effects")


async def unmount(context: NodeContext, here: ActualVolume, mount: PodMount) -> None:
    """Undo a mount that was made, or may have been; uncertain until it is certainly gone.

    Binds of its parts go first: below them it would be busy.
    Raises: MooringError.
    """
    recorded = partial(_recorded, context, here, mount)
    with recorded("UnmountVolume.FindPluginByName failed"):
        plugin = context.registry.find_by_name(here.plugin)
    with recorded("UnmountVolume.NewUnmounter failed"):
        unmounter = plugin.unmounter(mount.use.name, mount.pod_uid)
    with recorded("error cleaning subPath mounts"):
        pod = context.host.layout.pod(mount.pod_uid)
        await in_thread(subpath.clean, pod, mount.use.name, context.host.mounts)
    context.actual.mount_fading(here.name, mount)
    with recorded("UnmountVolume.TearDown failed"):
        await unmounter.tear_down()
    context.actual.unmounted(here.name, mount.pod_uid)
    _log.info("volume unmounted", volume=here.name, pod=mount.pod_uid)


async def unmap(context: NodeContext, here: ActualVolume, mount: PodMount) -> None:
    """Undo a mapping of a device. Raises: MooringError."""
    recorded = partial(_recorded, context, here, mount)
    with recorded("UnmapVolume.FindMapperPluginByName failed"):
        block = context.registry.find_block_by_name(here.plugin)
        if block is None:
            raise VolumeError(f"no block volume plugin matched name: {here.plugin}")
    with recorded("UnmapVolume.NewUnmapper failed"):
        unmapper = block.block_unmapper(mount.use.name, mount.pod_uid)
    with recorded("UnmapVolume.GetGlobalMapPath failed"):
        directory = unmapper.global_map_path(mount.use)
    context.actual.mount_fading(here.name, mount)
    with recorded("UnmapVolume.UnmapBlockVolume failed"):
        place = DeviceMap(directory, unmapper.pod_device_link(), mount.pod_uid)
        await unmap_device(context.host.mounts, place, context.device_locks)
    with recorded("UnmapVolume.UnmapPodDevice failed"):
        await unmapper.unmap_pod_device()
    context.actual.unmounted(here.name, mount.pod_uid)
    _log.info("volume unmapped", volume=here.name, pod=mount.pod_uid)


def _recorded(
    context: NodeContext, here: ActualVolume, mount: PodMount, what: str
) -> AbstractContextManager[None]:
    record = pod_recorder(context.recorder, mount.regarding)
    pod = mount.regarding.key if mount.regarding is not None else mount.pod_uid
    about = {"pod": pod, **claim_and_driver(mount.use)}
    return failures_recorded(record, FAILED_UNMOUNT, what, here.name, **about)
