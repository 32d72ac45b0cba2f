"""Having a volume attached to this node: by asking the attach/detach controller, or by itself."""

from functools import partial

from mooring import log
from mooring.model.claim import Claim
from mooring.model.event import EventType
from mooring.model.keys import Key
from mooring.model.volume_use import VolumeUse
from mooring.node.actual import ActualVolume, Attachability
from mooring.node.context import NodeContext
from mooring.node.desired import WantedVolume
from mooring.node.effects.events import FAILED_ATTACH, failures_recorded, pod_recorder
from mooring.node.effects.mount_attempt import MountAttempt
from mooring.node.effects.uncertain import revert_record
from mooring.plugins.contract import NotStarted, Tell, VolumeError
from mooring.plugins.unique_name import split
from mooring.reconcile.recorder import reference_to

SUCCESSFUL = "SuccessfulAttachVolume"

_log = log.get("mooring.node.effects")


async def verify_attached(context: NodeContext, wanted: WantedVolume) -> None:
    """Record the volume as attached once it is in the node's status. Records no event.

    The node reports the volume in `volumesInUse` before it reads `volumesAttached`; the
    attach/detach controller removes it from `volumesAttached` before it reads `volumesInUse`. So
    one of the two sees the other.
    Raises: NotStarted when it is not attached yet; ApiError, ConnectionLost.
    """
    if not wanted.is_attachable:
        size = await _claimed_size(context, wanted.use)
        context.actual.attached(_here(wanted, Attachability.NO, "", size))
        return
    if not wanted.reported_in_use:
        raise NotStarted(
            "Volume has not been added to the list of VolumesInUse in the node's volume status"
        )
    size = await _claimed_size(context, wanted.use)
    node = await context.own_node.read()
    for attached in node.status.volumes_attached:
        if attached.name == wanted.name:
            here = _here(wanted, Attachability.YES, attached.device_path, size)
            context.actual.attached(here)
            _log.info("volume attached", volume=wanted.name, device=attached.device_path)
            return
    raise NotStarted("Volume not attached according to node status")


async def wait_for_device(attempt: MountAttempt, reason: str, what: str) -> str:
    """The device of an attached volume; "" when it has none.

    Raises: MooringError, after an event.
    """
    here = attempt.get_here()
    with attempt.recorded(reason, what):
        attachable = attempt.context.registry.find_attachable(attempt.use)
        if attachable is None:
            return here.device_path
        attacher = attachable.attacher()
        return await attacher.wait_for_attach(attempt.use, here.device_path, attempt.by.pod)


async def attach(context: NodeContext, wanted: WantedVolume) -> None:
    """Attach it from this node. Raises: MooringError, after an event on all pods that want it."""
    record = _pods_recorder(context, wanted)
    size = await _claimed_size(context, wanted.use)
    is_new = context.actual.find(wanted.name) is None
    with failures_recorded(record, FAILED_ATTACH, "AttachVolume.Attach failed", wanted.use.name):
        attachable = context.registry.find_attachable(wanted.use)
        if attachable is None:
            raise VolumeError("no attachable volume plugin matched")
        context.actual.attachment_uncertain(_here(wanted, Attachability.UNCERTAIN, "", size))
        with revert_record(
            partial(context.actual.gone, wanted.name), if_nothing_began=is_new, if_it_failed=is_new
        ):
            device = await attachable.attacher().attach(wanted.use, context.own_node.name)
    text = f'AttachVolume.Attach succeeded for volume "{wanted.use.name}" '
    record(EventType.NORMAL, SUCCESSFUL, text)
    context.actual.attached(_here(wanted, Attachability.YES, device, size))


async def detach(context: NodeContext, here: ActualVolume) -> None:
    """Detach it from here; uncertain until it certainly is. Raises: MooringError."""
    plugin_name, volume_name = split(here.name)
    attachable = context.registry.find_attachable_by_name(plugin_name)
    if attachable is None:
        raise VolumeError(f"no attachable volume plugin matched name: {plugin_name}")
    context.actual.attachment_uncertain(here)
    await attachable.detacher().detach(volume_name, context.own_node.name)
    context.actual.gone(here.name)
    _log.info("volume detached", volume=here.name)


async def _claimed_size(context: NodeContext, use: VolumeUse) -> int:
    """How large the claim's owner believes the volume to be; 0 when there is no claim."""
    reference = None if use.volume is None else use.volume.spec.claim_ref
    if reference is None:
        return 0
    claim = await context.client.get(Claim, Key(reference.namespace, reference.name))
    return claim.capacity.bytes_ceil()


def _here(wanted: WantedVolume, can: Attachability, device: str, size: int) -> ActualVolume:
    return ActualVolume(
        wanted.name, wanted.plugin, wanted.use, attachability=can, device_path=device, size=size
    )


def _pods_recorder(context: NodeContext, wanted: WantedVolume) -> Tell:
    recorders = [
        pod_recorder(context.recorder, reference_to(by.pod)) for by in wanted.pods.values()
    ]

    def record(kind: EventType, reason: str, message: str) -> None:
        for one in recorders:
            one(kind, reason, message)

    return record
