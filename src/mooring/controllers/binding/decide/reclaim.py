"""What becomes of a volume that its claim has left."""

import msgspec
from msgspec.structs import replace

from mooring.controllers.binding.decide.bind import with_phase
from mooring.controllers.binding.plan import (
    Delete,
    Reason,
    Recycle,
    SaveVolume,
    Step,
    Write,
    save_volume,
)
from mooring.controllers.binding.view import Plugins
from mooring.model.claim import Claim
from mooring.model.event import EventType
from mooring.model.steps import Emit
from mooring.model.storage_terms import ReclaimPolicy
from mooring.model.volume import Volume, VolumePhase
from mooring.model.wellknown import Annotation, Plugin

JUDGED = frozenset((VolumePhase.RELEASED, VolumePhase.FAILED))
"""Phases of a volume that was found to have no claim, once and for all."""

DESTROYING = frozenset((ReclaimPolicy.DELETE, ReclaimPolicy.RECYCLE))
UNKNOWN_POLICY = "Volume has unrecognized PersistentVolumeReclaimPolicy"
NO_PLUGIN = "no volume plugin matched"
PLUGINS_BY_SOURCE = {
    "glusterfs": Plugin.GLUSTERFS,
    "hostPath": Plugin.HOST_PATH,
    "nfs": Plugin.NFS,
    "quobyte": Plugin.QUOBYTE,
    "rbd": Plugin.RBD,
}


class InTree(msgspec.Struct, frozen=True):
    """A plugin of this process does it."""

    plugin: str


class External(msgspec.Struct, frozen=True):
    """An external provisioner sees that the volume is released, and deletes it."""


class Nobody(msgspec.Struct, frozen=True):
    """No plugin can delete it, for this reason."""

    message: str


Deleter = InTree | External | Nobody


def release(seen: Volume, volume: Volume, plugins: Plugins) -> tuple[Step, ...]:
    """Mark it as left by its claim, then do what its policy says. Failed stays Failed."""
    if volume.status.phase not in JUDGED:
        volume = with_phase(volume, VolumePhase.RELEASED)
    if volume.migrated_to:
        return save_volume(seen, volume)  # its CSI driver's provisioner acts on Released
    match volume.spec.reclaim_policy:
        case ReclaimPolicy.RETAIN:
            return save_volume(seen, volume)
        case ReclaimPolicy.DELETE:
            is_external = isinstance(find_deleter(volume, plugins), External)
            return (*save_volume(seen, volume), Delete(volume.name, volume.uid, is_external))
        case ReclaimPolicy.RECYCLE:
            return (*save_volume(seen, volume), Recycle(volume.name, volume.uid))
        case _:
            return fail(seen, volume, Reason.UNKNOWN_RECLAIM_POLICY, UNKNOWN_POLICY)


def fail(seen: Volume, volume: Volume, reason: Reason, message: str) -> tuple[Write, ...]:
    """Show people what is wrong. The event is recorded once; a new text replaces the old one."""
    if volume.status.phase is VolumePhase.FAILED:
        status = replace(volume.status, message=message)
        return save_volume(seen, replace(volume, status=status))
    wanted = with_phase(volume, VolumePhase.FAILED, message)
    return SaveVolume(seen, wanted), Emit(wanted, EventType.WARNING, reason, message)


def is_released(volume: Volume, claim: Claim | None) -> bool:
    """Whether its claim has left it; `claim` is the one that has that name now."""
    reference = volume.spec.claim_ref
    if reference is None or not reference.uid:
        return False
    if claim is None or claim.uid != reference.uid:
        return True
    return claim.spec.volume_name not in {"", volume.name}


def find_holder(volume: Volume, named_by: Claim | None) -> Claim | None:
    """The claim that stands between a volume and a policy that destroys data.

    The claim is bound to the volume, though the volume's claimRef names another: the claimRef was
    overwritten. Only a claim in the namespace of the claimRef counts: claims of other namespaces
    cannot keep a volume from being reclaimed.
    """
    reference = volume.spec.claim_ref
    if reference is None or named_by is None or named_by.namespace != reference.namespace:
        return None
    return named_by if volume.spec.reclaim_policy in DESTROYING else None


def find_deleter(volume: Volume, plugins: Plugins) -> Deleter:
    """The plugin or external provisioner that deletes the volume."""
    if provisioner := volume.provisioned_by:
        return _deleter_by_name(provisioner, plugins)
    if Annotation.MIGRATED_TO in volume.metadata.annotations or volume.spec.csi is not None:
        return External()
    plugin = find_plugin(volume)
    if plugin in plugins.delete:
        return InTree(plugin)
    why = "no deletable volume plugin matched" if plugin in plugins.known else NO_PLUGIN
    return Nobody(f'error getting deleter volume plugin for volume "{volume.name}": {why}')


def find_recycler(volume: Volume, plugins: Plugins) -> str | None:
    plugin = find_plugin(volume)
    return plugin if plugin in plugins.recycle else None


def find_plugin(volume: Volume) -> str:
    """The plugin of the volume's source, or nothing that any plugin is called."""
    source = volume.spec.find_source()
    return PLUGINS_BY_SOURCE.get(source[0], "") if source is not None else ""


def _deleter_by_name(provisioner: str, plugins: Plugins) -> Deleter:
    if provisioner in plugins.delete:
        return InTree(provisioner)
    if not provisioner.startswith(Plugin.PREFIX):
        return External()
    if provisioner in plugins.known:
        return Nobody("no deletable volume plugin matched")
    return Nobody(f"{NO_PLUGIN} name: {provisioner}")
