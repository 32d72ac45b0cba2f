"""Taking a volume away from a pod. What fails is told to the pod, which cannot end before."""

from contextlib import AbstractContextManager
from functools import partial

from mooring import log
from mooring.host import subpath
from mooring.host.blocking import in_thread
from mooring.node.actual import ActualVolume, PodMount
from mooring.node.effects.telling import FAILED_UNMOUNT, failures_told, teller
from mooring.node.machine import Machine
from mooring.plugins.block_mapping import DeviceMap, unmap_device
from mooring.plugins.contract import VolumeError

_log = log.get("mooring.node.effects")


async def unmount(machine: Machine, here: ActualVolume, mount: PodMount) -> None:
    """Undo a mount that was made, or may have been; uncertain until it is certainly gone.

    Binds of its parts go first: below them it would be busy.
    Raises: MooringError.
    """
    told = partial(_told, machine, here, mount)
    with told("UnmountVolume.FindPluginByName failed"):
        plugin = machine.registry.find_by_name(here.plugin)
    with told("UnmountVolume.NewUnmounter failed"):
        unmounter = plugin.unmounter(mount.use.name, mount.pod_uid)
    with told("error cleaning subPath mounts"):
        pod = machine.host.layout.pod(mount.pod_uid)
        await in_thread(subpath.clean, pod, mount.use.name, machine.host.mounts)
    machine.actual.mount_fading(here.name, mount)
    with told("UnmountVolume.TearDown failed"):
        await unmounter.tear_down()
    machine.actual.unmounted(here.name, mount.pod_uid)
    _log.info("volume unmounted", volume=here.name, pod=mount.pod_uid)


async def unmap(machine: Machine, here: ActualVolume, mount: PodMount) -> None:
    """Undo a mapping of a device. Raises: MooringError."""
    told = partial(_told, machine, here, mount)
    with told("UnmapVolume.FindMapperPluginByName failed"):
        block = machine.registry.find_block_by_name(here.plugin)
        if block is None:
            raise VolumeError(f"no block volume plugin matched name: {here.plugin}")
    with told("UnmapVolume.NewUnmapper failed"):
        unmapper = block.block_unmapper(mount.use.name, mount.pod_uid)
    with told("UnmapVolume.GetGlobalMapPath failed"):
        directory = unmapper.global_map_path(mount.use)
    machine.actual.mount_fading(here.name, mount)
    with told("UnmapVolume.UnmapBlockVolume failed"):
        place = DeviceMap(directory, unmapper.pod_device_link(), mount.pod_uid)
        await unmap_device(machine.host.mounts, place, machine.device_locks)
    with told("UnmapVolume.UnmapPodDevice failed"):
        await unmapper.unmap_pod_device()
    machine.actual.unmounted(here.name, mount.pod_uid)
    _log.info("volume unmapped", volume=here.name, pod=mount.pod_uid)


def _told(
    machine: Machine, here: ActualVolume, mount: PodMount, what: str
) -> AbstractContextManager[None]:
    tell = teller(machine.recorder, mount.regarding)
    return failures_told(tell, FAILED_UNMOUNT, what, here.name)
