"""Mounting a volume for a pod. The order of the steps is a promise to plugins and drivers."""

from functools import partial

from mooring.host.blocking import in_thread
from mooring.node.actual import DeviceState, PodMount, PodState
from mooring.node.context import NodeContext
from mooring.node.desired import WantedBy, WantedVolume
from mooring.node.effects.attach import wait_for_device
from mooring.node.effects.checks import check_alone, check_node_affinity
from mooring.node.effects.events import FAILED_MOUNT, mismatch_recorded
from mooring.node.effects.expand import grow_while_mounting
from mooring.node.effects.mount_attempt import MountAttempt
from mooring.node.effects.requests import mount_request
from mooring.node.effects.uncertain import revert_record
from mooring.node.metrics import plugin_label
from mooring.plugins.contract import DeviceRequest, Mounter, VolumeError


async def mount(context: NodeContext, wanted: WantedVolume, by: WantedBy) -> None:
    """Mount the volume for the pod; if it is mounted, update its content.

    Before: the volume is in the actual picture.
    Raises: MooringError, after an event; the actual picture has what is left of the attempt.
    """
    attempt = MountAttempt.of(context, wanted, by)
    mounter = await _prepare(attempt)
    device = await wait_for_device(attempt, FAILED_MOUNT, "MountVolume.WaitForAttach failed")
    await _mount_device(attempt, device)
    known = attempt.find_mount()
    if known is not None and known.state is PodState.MOUNTED:
        await _set_up_again(attempt, mounter)
    else:
        await _set_up(attempt, mounter, known)
        await grow_while_mounting(attempt, mounter)
        seconds = context.clock.monotonic() - by.since
        context.metrics.mounted(plugin_label(wanted.plugin, by.use), seconds)
    attempt.finish(mounter)


async def _prepare(attempt: MountAttempt) -> Mounter:
    """Everything that can be refused before anything is touched."""
    context, by = attempt.context, attempt.by
    with attempt.recorded(FAILED_MOUNT, "MountVolume.FindPluginBySpec failed"):
        plugin = context.registry.find(by.use)
    with attempt.recorded(FAILED_MOUNT, "MountVolume.NodeAffinity check failed"):
        check_node_affinity(by.use, context.own_node)
    with attempt.recorded(FAILED_MOUNT, "MountVolume.NewMounter initialization failed"):
        mounter = await in_thread(plugin.mounter, by.use, by.pod)
    with attempt.recorded(FAILED_MOUNT, "MountVolume.MountOptionSupport check failed"):
        if by.use.mount_options and not plugin.takes_mount_options:
            raise VolumeError("mount options are not supported for this volume type")
    with attempt.recorded(FAILED_MOUNT, "MountVolume.SetUp failed"):
        check_alone(context.actual.find(attempt.name), by)
    return mounter


async def _mount_device(attempt: MountAttempt, device: str) -> None:
    """Once for all pods; the second finds it mounted."""
    actual, wanted, use = attempt.context.actual, attempt.wanted, attempt.use
    here = attempt.get_here()
    with attempt.recorded(FAILED_MOUNT, "MountVolume.GetDeviceMountPath failed"):
        mountable = attempt.context.registry.find_device_mountable(use)
        if mountable is None or here.device is DeviceState.MOUNTED:
            return
        mounter = mountable.device_mounter()
        target = await in_thread(mounter.device_mount_path, use)
    request = DeviceRequest(attempt.by.pod.spec.security_context.fs_group, wanted.selinux_label)
    actual.device_uncertain(wanted.name)
    with (
        attempt.recorded(FAILED_MOUNT, "MountVolume.MountDevice failed"),
        mismatch_recorded(attempt.context.recorder, use),
        revert_record(
            partial(actual.device_unmounted, wanted.name),
            if_nothing_began=here.device is DeviceState.NOT_MOUNTED,
            if_it_failed=not here.device_needs_tear_down,
            given_up=partial(actual.device_fading, wanted.name),
        ),
    ):
        await mounter.mount_device(use, device, target, request)
    actual.device_mounted(wanted.name, device, target, wanted.selinux_label)


async def _set_up(attempt: MountAttempt, mounter: Mounter, known: PodMount | None) -> None:
    attempt.begin(mounter, known)
    with (
        attempt.recorded(FAILED_MOUNT, "MountVolume.SetUp failed"),
        mismatch_recorded(attempt.context.recorder, attempt.use),
        attempt.may_revert(mounter, known),
    ):
        await mounter.set_up(mount_request(attempt.by, attempt.wanted, attempt.record))
    attempt.succeed(mounter)


async def _set_up_again(attempt: MountAttempt, mounter: Mounter) -> None:
    """For news in it. Whatever comes of that, the pod has the volume, and goes on with it."""
    with attempt.recorded(FAILED_MOUNT, "MountVolume.SetUp failed"):
        await mounter.set_up(mount_request(attempt.by, attempt.wanted, attempt.record))
