"""Reconstruction: the mounts from before a restart, found on the disk.

Everything found is uncertain: a volume that a pod wants is mounted again, which changes nothing if
it is mounted; others are unmounted once both pictures are complete. Volumes that cannot be
reconstructed are left to `orphans.py`.
"""

import asyncio
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from mooring import log
from mooring.errors import ApiError, ConnectionLost, MooringError, StillRunning
from mooring.host.blocking import in_thread, taking, within_volume
from mooring.model.backoff import Backoff
from mooring.model.node import Node
from mooring.node.actual import (
    NOWHERE,
    ActualVolume,
    Attachability,
    DeviceState,
    PodMount,
    PodState,
)
from mooring.node.context import NodeContext
from mooring.node.disk_scan import Trace, TraceKind, scan
from mooring.plugins.contract import Attachable, DeviceMountable, Plugin, VolumeError
from mooring.plugins.registry import Registry
from mooring.plugins.unique_name import unique_name

LOOK_SECONDS = 5.0  # to examine a volume on disk; pods wait meanwhile
AT_START = "found on disk"
ASK_AGAIN = Backoff(first=0.1, cap=5.0, jitter=0.5)

_log = log.get("mooring.node.reconstruct")


class NotReconstructed(msgspec.Struct, frozen=True):
    """A volume of a pod that cannot be reconstructed from the disk."""

    trace: Trace
    because: str


class Reconstructed(msgspec.Struct, frozen=True):
    volumes: frozenset[str]  # unique names
    not_reconstructed: tuple[NotReconstructed, ...]


class _Found(msgspec.Struct, frozen=True):
    trace: Trace
    volume: ActualVolume


async def reconstruct(context: NodeContext) -> Reconstructed:
    """Put into the actual picture what is on disk.

    Before: nothing else has touched the pictures, nor the disk since the start.
    """
    told = await _look(context)
    for one in told:
        if isinstance(one, _Found):
            _believe(context, one)
        else:
            _log.warning(
                "a volume on disk makes no sense",
                pod=one.trace.pod_uid,
                plugin=one.trace.plugin,
                volume=one.trace.name,
                because=one.because,
            )
        if one.trace.pod_uid and one.trace.kind is not TraceKind.PARTS:
            context.metrics.reconstructed(ok=isinstance(one, _Found))
    return Reconstructed(
        frozenset(one.volume.name for one in told if isinstance(one, _Found)),
        tuple(one for one in told if isinstance(one, NotReconstructed) and one.trace.pod_uid),
    )


async def confirm(context: NodeContext, reconstructed: Reconstructed) -> None:
    """Ask the node's status which of the volumes are attached, and by which device.

    One counts as attached if the same answer has it in `volumesInUse`: else it may be detached at
    any moment, and is verified before it is mounted. Of one that is not listed at all only its
    plugin can say that it need not be attached: nothing else on disk is given away.
    Returns once the API server has answered; nothing may be unmounted before.
    A node that attaches volumes itself finds out by attaching.
    """
    if context.attaches_itself or not any(
        here.attachability is Attachability.UNCERTAIN for here in _known(context, reconstructed)
    ):
        return
    node = await _ask(context)
    attached = {one.name: one.device_path for one in node.status.volumes_attached}
    for here in _known(context, reconstructed):
        sure = Attachability.UNCERTAIN
        if here.name in attached and here.name in node.status.volumes_in_use:
            sure = Attachability.YES
        elif here.name not in attached and needs_no_attaching(context.registry, here):
            sure = Attachability.NO
        context.actual.attachability_known(here.name, sure, attached.get(here.name, ""))


def needs_no_attaching(registry: Registry, here: ActualVolume) -> bool:
    """Certainly so: False while its driver is unknown."""
    try:
        plugin = registry.find_attachable_by_name(here.plugin)
        return plugin is None or not plugin.can_attach(here.use)
    except VolumeError:
        return False


async def _ask(context: NodeContext) -> Node:
    failures = 0
    while True:
        try:
            return await context.own_node.read()
        except (ApiError, ConnectionLost) as error:
            failures += 1
            _log.warning("the node's status cannot be read", error=error)
        luck = context.host.rng.random()
        await context.clock.sleep(ASK_AGAIN.delay(failures, luck))


def _known(context: NodeContext, reconstructed: Reconstructed) -> list[ActualVolume]:
    found = (context.actual.find(name) for name in reconstructed.volumes)
    return [here for here in found if here is not None]


async def _look(context: NodeContext) -> tuple[_Found | NotReconstructed, ...]:
    traces = await in_thread(scan, context.host.layout)
    named = {(trace.pod_uid, trace.name) for trace in traces if trace.kind is TraceKind.FILES}
    of_pods = [
        trace
        for trace in traces
        if trace.pod_uid
        and (trace.kind is not TraceKind.PARTS or (trace.pod_uid, trace.name) not in named)
    ]
    told = await _reconstruct_all(context, of_pods)
    found = {replace(one.trace, pod_uid="") for one in told if isinstance(one, _Found)}
    shared = [trace for trace in traces if not trace.pod_uid and trace not in found]
    return (*told, *await _reconstruct_all(context, shared))


async def _reconstruct_all(
    context: NodeContext, traces: Sequence[Trace]
) -> list[_Found | NotReconstructed]:
    """Reconstruct all volumes in one thread; if that hangs, each in a thread of its own."""
    try:
        with within_volume(AT_START), taking(LOOK_SECONDS):
            return await in_thread(lambda: [_sense_of(context.registry, one) for one in traces])
    except StillRunning:
        pass
    async with asyncio.TaskGroup() as tasks:
        looks = [tasks.create_task(_reconstruct_one(context, trace)) for trace in traces]
    return [look.result() for look in looks]


async def _reconstruct_one(context: NodeContext, trace: Trace) -> _Found | NotReconstructed:
    try:
        with (
            within_volume(f"{trace.plugin}/{trace.pod_uid}/{trace.name}"),
            taking(LOOK_SECONDS),
        ):
            return await in_thread(_sense_of, context.registry, trace)
    except StillRunning as error:
        return NotReconstructed(trace, str(error))


def _sense_of(registry: Registry, trace: Trace) -> _Found | NotReconstructed:
    try:
        return _Found(trace, _find(registry, trace))
    except (MooringError, OSError) as error:
        return NotReconstructed(trace, str(error))


def _find(registry: Registry, trace: Trace) -> ActualVolume:
    match trace.kind:
        case TraceKind.FILES:
            return _files(registry, trace)
        case TraceKind.BLOCK:
            return _block(registry, trace)
        case TraceKind.PARTS:
            raise VolumeError("only parts of it are there")


def _files(registry: Registry, trace: Trace) -> ActualVolume:
    plugin = registry.find_by_name(trace.plugin)
    use = plugin.rebuild(trace.name, trace.pod_uid)
    volume = ActualVolume(
        unique_name(plugin, use, trace.pod_uid), plugin.name, use, attachability=_attached(plugin)
    )
    if not isinstance(plugin, DeviceMountable) or not plugin.can_mount_device(use):
        if not trace.pod_uid:
            raise VolumeError(f"no device mountable volume plugin matched name: {plugin.name}")
        return volume
    place = plugin.device_mounter().device_mount_path(use)
    if place == NOWHERE:
        if not trace.pod_uid:
            raise VolumeError("where its files are is not known any more")
        return volume  # a directory: nothing is mounted for all pods
    return replace(volume, device=DeviceState.UNCERTAIN, device_mount_path=place)


def _block(registry: Registry, trace: Trace) -> ActualVolume:
    plugin, block = registry.find_by_name(trace.plugin), registry.find_block_by_name(trace.plugin)
    if block is None:
        raise VolumeError(f"no block volume plugin matched name: {trace.plugin}")
    use = block.rebuild_block(trace.name, trace.pod_uid)
    return ActualVolume(
        unique_name(plugin, use, trace.pod_uid),
        plugin.name,
        use,
        attachability=_attached(plugin),
        device=DeviceState.UNCERTAIN,
        device_mount_path=block.block_unmapper(trace.name, trace.pod_uid).global_map_path(use),
    )


def _attached(plugin: Plugin) -> Attachability:
    """Whether its volumes need attaching, by the plugin: a CSI driver may not be registered yet."""
    return Attachability.UNCERTAIN if isinstance(plugin, Attachable) else Attachability.NO


def _believe(context: NodeContext, found: _Found) -> None:
    uid, use = found.trace.pod_uid, found.volume.use
    if uid:
        mount = PodMount(uid, use, PodState.UNCERTAIN)
        context.actual.reconstructed(found.volume, mount)
    else:
        context.actual.device_reconstructed(found.volume)
