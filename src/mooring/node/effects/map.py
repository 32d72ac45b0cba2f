"""Giving a pod the device of a block volume."""

from functools import partial
from pathlib import Path

from mooring.errors import HostError
from mooring.host.blocking import in_thread
from mooring.model.event import EventType
from mooring.node.actual import DeviceState, PodMount, PodState
from mooring.node.context import NodeContext
from mooring.node.desired import WantedBy, WantedVolume
from mooring.node.effects.attach import wait_for_device
from mooring.node.effects.checks import check_alone, check_node_affinity
from mooring.node.effects.events import FAILED_MAP, FAILED_MOUNT
from mooring.node.effects.expand import grow_while_mounting
from mooring.node.effects.mount_attempt import MountAttempt
from mooring.node.effects.uncertain import revert_record
from mooring.plugins.block_mapping import DeviceMap, map_device
from mooring.plugins.contract import BlockMapper, VolumeError

SUCCESSFUL = "SuccessfulMountVolume"


async def map_volume(context: NodeContext, wanted: WantedVolume, by: WantedBy) -> None:
    """Map the volume as a block device for the pod. Before: it is in the actual picture.

    Raises: MooringError, after an event; the actual picture has what is left of the attempt.
    """
    attempt = MountAttempt.of(context, wanted, by)
    mapper = _prepare(attempt)
    device = await wait_for_device(attempt, FAILED_MAP, "MapVolume.WaitForAttach failed")
    await _set_up_device(attempt, mapper, device)
    known = attempt.find_mount()
    if known is not None and known.state is PodState.MOUNTED:
        await _map_again(attempt, mapper)
    else:
        device = await _map_pod_device(attempt, mapper, known) or device
        await _show(attempt, mapper, device)
        await grow_while_mounting(attempt, mapper)
    attempt.finish(mapper)


def _prepare(attempt: MountAttempt) -> BlockMapper:
    """Everything that can be refused before anything is touched."""
    context, by = attempt.context, attempt.by
    with attempt.recorded(FAILED_MAP, "MapVolume.FindMapperPluginBySpec failed"):
        block = context.registry.find_block(by.use)
        if block is None:
            raise VolumeError("no block volume plugin matched")
    with attempt.recorded(FAILED_MOUNT, "MapVolume.NodeAffinity check failed"):
        check_node_affinity(by.use, context.own_node)
    with attempt.recorded(FAILED_MAP, "MapVolume.NewBlockVolumeMapper initialization failed"):
        mapper = block.block_mapper(by.use, by.pod)
    with attempt.recorded(FAILED_MAP, "MapVolume.SetUpDevice failed"):
        check_alone(context.actual.find(attempt.name), by)
    return mapper


async def _set_up_device(attempt: MountAttempt, mapper: BlockMapper, device: str) -> None:
    """Once for all pods. The device is on record before any pod has it."""
    actual, here = attempt.context.actual, attempt.get_here()
    if here.device is DeviceState.MOUNTED:
        return
    actual.device_uncertain(attempt.name)
    with (
        attempt.recorded(FAILED_MAP, "MapVolume.SetUpDevice failed"),
        revert_record(
            partial(actual.device_unmounted, attempt.name),
            if_nothing_began=here.device is DeviceState.NOT_MOUNTED,
            if_it_failed=not here.device_needs_tear_down,
            given_up=partial(actual.device_fading, attempt.name),
        ),
    ):
        await mapper.set_up_device()
    actual.device_mounted(attempt.name, device, mapper.global_map_path(), "")


async def _map_pod_device(
    attempt: MountAttempt, mapper: BlockMapper, known: PodMount | None
) -> str:
    attempt.begin(mapper, known)
    with (
        attempt.recorded(FAILED_MAP, "MapVolume.MapPodDevice failed"),
        attempt.may_revert(mapper, known),
    ):
        device = await mapper.map_pod_device()
    attempt.succeed(mapper)
    return device


async def _map_again(attempt: MountAttempt, mapper: BlockMapper) -> None:
    """Republish, for a driver with `requiresRepublish`. A failure leaves the pod its device."""
    with attempt.recorded(FAILED_MAP, "MapVolume.MapPodDevice failed"):
        await mapper.map_pod_device()


async def _show(attempt: MountAttempt, mapper: BlockMapper, device: str) -> None:
    """Bind and link the device, and hold it; a failure here leaves the pod's entry uncertain."""
    context = attempt.context
    with attempt.recorded(FAILED_MAP, "MapVolume failed"):
        if not device:
            raise VolumeError("device path of the volume is empty")
    with attempt.recorded(FAILED_MAP, "MapVolume.EvalHostSymlinks failed"):
        real = await in_thread(_resolved, device)
    directory, link = mapper.global_map_path(), mapper.pod_device_link()
    context.actual.device_mounted(attempt.name, str(real), directory, "")
    with attempt.recorded(FAILED_MAP, "MapVolume.MapBlockVolume failed"):
        place = DeviceMap(directory, link, attempt.pod_uid)
        await map_device(context.host.mounts, real, place, context.device_locks)
    for name, path in (("globalMapPath", directory), ("volumeMapPath", link.parent)):
        text = f'MapVolume.MapPodDevice succeeded for volume "{attempt.use.name}" {name} "{path}"'
        attempt.record(EventType.NORMAL, SUCCESSFUL, text)


def _resolved(device: str) -> Path:
    try:
        return Path(device).resolve(strict=True)
    except OSError as error:
        raise HostError(f"cannot evaluate device path {device}: {error.strerror}") from error
